//! A catalog, Flight servers and an engine in this process, each on its own socket, over fixtures in a
//! folder of their own.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::util::pretty::pretty_format_batches;
use catalog::{CatalogConfig, LogLimits};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use flight_server::{FlightServerConfig, TicketLimits};
use fulmar_planner::{
    EndpointMode, Engine, PlannerConfig, PlannerError, QueryPlan, Session, Statement,
};
use futures::TryStreamExt;
use model::ScanReport;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use wire::TicketKeys;
use wire::serve::Listener;

const KEYS: &str = "test:000102030405060708090a0b0c0d0e0f";

/// Everything that runs for one test; it ends with it.
pub(crate) struct Lake {
    pub(crate) dir: TempDir,
    pub(crate) engine: Engine,
    pub(crate) servers: Vec<(String, CancellationToken)>,
    shutdown: CancellationToken,
}

impl Drop for Lake {
    fn drop(&mut self) {
        self.shutdown.cancel();
        for (_, shutdown) in &self.servers {
            shutdown.cancel();
        }
    }
}

/// The rows of a query and how they came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) plan: QueryPlan,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) reports: Vec<ScanReport>,
}

impl Lake {
    /// Starts the parts with this many Flight servers.
    pub(crate) async fn start(servers: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shutdown = CancellationToken::new();
        let catalog = start_catalog(dir.path(), &shutdown).await;
        let mut running = Vec::new();
        for _ in 0..servers {
            running.push(start_server(&catalog).await);
        }
        let addresses = running.iter().map(|(address, _)| address.clone()).collect();
        let keys = TicketKeys::parse(KEYS).unwrap();
        let mut config = PlannerConfig::new(listener().await, catalog, addresses, keys);
        config.endpoints = EndpointMode::Direct;
        Self {
            engine: Engine::start(&config).unwrap(),
            dir,
            servers: running,
            shutdown,
        }
    }

    /// Makes a table over a folder of the test's own.
    pub(crate) async fn create(&self, table: &str, write: impl FnOnce(&Path)) {
        let folder = self.dir.path().join(table);
        write(&folder);
        let sql = format!(
            "CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION '{}'",
            folder.display()
        );
        self.engine
            .execute_update(&session(), statement(&sql))
            .await
            .unwrap();
    }

    /// Plans a statement and fetches every ticket through the engine.
    pub(crate) async fn query(&self, sql: &str) -> Answer {
        self.query_in(&session(), sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) async fn query_in(
        &self,
        session: &Session,
        sql: &str,
    ) -> Result<Answer, PlannerError> {
        let plan = self.engine.plan(session, statement(sql)).await?;
        self.fetch(plan).await
    }

    /// Fetches every ticket of a plan through the engine.
    pub(crate) async fn fetch(&self, plan: QueryPlan) -> Result<Answer, PlannerError> {
        let (mut batches, mut reports) = (Vec::new(), Vec::new());
        for endpoint in &plan.endpoints {
            let result = self.engine.do_get(&endpoint.ticket).await?;
            assert_eq!(result.schema, plan.schema);
            batches.extend(result.batches.try_collect::<Vec<_>>().await?);
            let report = result.report.bytes();
            reports.push(serde_json::from_slice(&report).unwrap());
        }
        Ok(Answer {
            plan,
            batches,
            reports,
        })
    }

    /// The same statement on plain DataFusion over the same files; `tables` are its folders.
    pub(crate) async fn plain(&self, tables: &[&str], sql: &str) -> String {
        let context = SessionContext::new_with_config(nothing_pruned());
        for table in tables {
            let folder = self.dir.path().join(table);
            let options = ParquetReadOptions::default();
            let folder = folder.to_str().unwrap();
            context
                .register_parquet(*table, folder, options)
                .await
                .unwrap();
        }
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        lines(&batches)
    }
}

impl Answer {
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The rows as text in no particular order.
    pub(crate) fn lines(&self) -> String {
        lines(&self.batches)
    }

    /// A column as text.
    pub(crate) fn column(&self, name: &str) -> Vec<String> {
        let batch = concat_batches(&self.plan.schema, &self.batches).unwrap();
        let column = batch.column_by_name(name).unwrap();
        let text = |row| arrow::util::display::array_value_to_string(column, row).unwrap();
        (0..batch.num_rows()).map(text).collect()
    }
}

pub(crate) fn lines(batches: &[RecordBatch]) -> String {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with('+'))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    lines.sort();
    lines.join("\n")
}

/// DataFusion with everything that prunes switched off.
fn nothing_pruned() -> SessionConfig {
    let config = SessionConfig::new().set_bool("datafusion.execution.collect_statistics", false);
    let options = [
        "pruning",
        "enable_page_index",
        "bloom_filter_on_read",
        "pushdown_filters",
    ];
    options.into_iter().fold(config, |config, option| {
        config.set_bool(&format!("datafusion.execution.parquet.{option}"), false)
    })
}

pub(crate) fn session() -> Session {
    Session {
        id: "test".to_owned(),
        principal: "tester".to_owned(),
        options: BTreeMap::new(),
    }
}

pub(crate) fn statement(sql: &str) -> Statement {
    Statement {
        sql: sql.to_owned(),
        parameters: None,
        together: 1,
    }
}

async fn listener() -> Listener {
    Listener::bind("127.0.0.1:0", false).await.unwrap()
}

async fn start_catalog(dir: &Path, shutdown: &CancellationToken) -> String {
    let listener = listener().await;
    let address = format!("http://{}", listener.address());
    let config = CatalogConfig {
        listener,
        database: dir.join("catalog.sqlite").display().to_string(),
        warehouse: dir.join("warehouse").display().to_string(),
        log: LogLimits::default(),
    };
    tokio::spawn(catalog::serve(config, shutdown.clone()));
    address
}

async fn start_server(catalog: &str) -> (String, CancellationToken) {
    let listener = listener().await;
    let address = format!("http://{}", listener.address());
    let shutdown = CancellationToken::new();
    let config = FlightServerConfig {
        store: store::StoreProfile::BALANCED,
        listener,
        catalog: Some(catalog.to_owned()),
        keys: TicketKeys::parse(KEYS).unwrap(),
        advertise: None,
        tickets: TicketLimits::default(),
        scan: scan::Limits::default(),
    };
    tokio::spawn(flight_server::serve(config, shutdown.clone()));
    (address, shutdown)
}
