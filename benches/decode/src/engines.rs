//! The engines: each makes a plan of a query once, and runs it as often as it is told.

use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::ToDFSchema;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use model::{ColumnMapping, DataFile, Predicate, ScanTask, TableName, TableSchema};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use scan::{Limits, LocalRunner, Recorder, Runner, ScanExec, ScanSpec, Scanner, predicate};
use store::Stores;

const ROOT: &str = "memory://";
const PATH: &str = "orders/part-0.parquet";

/// What is asked of every engine.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) filter: Option<String>,
}

/// A file in memory.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) rows: u64,
    size: u64,
    schema: SchemaRef,
    store: Arc<InMemory>,
}

/// A query that is ready to run; the result is the number of its rows.
pub(crate) type Scan = Box<dyn Fn() -> BoxFuture<'static, Result<usize>> + Send + Sync>;

/// Something that scans.
pub(crate) trait Engine: Sync {
    fn name(&self) -> &'static str;

    /// Plans a query.
    fn prepare<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Scan>>;
}

impl File {
    pub(crate) fn new(bytes: Bytes) -> Result<Self> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone())?;
        let store = Arc::new(InMemory::new());
        let file = Self {
            rows: u64::try_from(reader.metadata().file_metadata().num_rows())?,
            size: bytes.len() as u64,
            schema: Arc::clone(reader.schema()),
            store: Arc::clone(&store),
        };
        let put = store.put(&Path::from(PATH), bytes.into()).now_or_never();
        put.context("memory must not wait")??;
        Ok(file)
    }
}

/// The scan of this workspace.
pub(crate) struct Fulmar {
    scanner: Arc<Scanner>,
    schema: TableSchema,
    task: ScanTask,
}

impl Fulmar {
    pub(crate) fn new(file: &File) -> Result<Self> {
        let store: Arc<dyn ObjectStore> = Arc::<InMemory>::clone(&file.store);
        let stores = Stores::from_env().with_store(ROOT, store)?;
        Ok(Self {
            scanner: Arc::new(Scanner::new(stores, Limits::default())),
            schema: TableSchema::numbered(&file.schema),
            task: ScanTask {
                file: DataFile {
                    path: format!("{ROOT}/{PATH}"),
                    size: file.size,
                    version: None,
                    record_count: Some(file.rows),
                    footer_length: None,
                    page_index: None,
                },
                rows: None,
                partition_values: Vec::new(),
                footer: Vec::new(),
                footer_wanted: false,
            },
        })
    }

    fn spec(&self, query: &Query) -> Result<ScanSpec> {
        let schema = self.schema.without_ids();
        let columns = query.columns.iter();
        let projection = columns.map(|name| schema.index_of(name));
        let mut spec = ScanSpec {
            table: TableName::main("orders"),
            schema: self.schema.clone(),
            mapping: ColumnMapping::ByName,
            projection: projection.collect::<Result<_, _>>()?,
            filter: None,
            predicate: Predicate::Always,
            limit: None,
        };
        if let Some(filter) = &query.filter {
            let schema = schema.to_dfschema()?;
            let session = SessionContext::new();
            let filter = session.parse_sql_expr(filter, &schema)?;
            spec.predicate = predicate(&filter, &self.schema);
            spec.filter = Some(session.create_physical_expr(filter, &schema)?);
        }
        Ok(spec)
    }
}

impl Engine for Fulmar {
    fn name(&self) -> &'static str {
        "Fulmar"
    }

    fn prepare<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Scan>> {
        let ready = self.spec(query).map(|spec| -> Scan {
            let (spec, task) = (Arc::new(spec), self.task.clone());
            let scanner = Arc::clone(&self.scanner);
            Box::new(move || {
                let runner = LocalRunner::new(Arc::clone(&scanner), Recorder::new());
                let config =
                    SessionConfig::new().with_extension(Arc::new(Runner(Arc::new(runner))));
                let context = TaskContext::default().with_session_config(config);
                let plan = ScanExec::new(Arc::clone(&spec), vec![vec![task.clone()]]);
                count(Arc::new(plan), Arc::new(context))
            })
        });
        Box::pin(std::future::ready(ready))
    }
}

/// DataFusion's scan in one of its ways.
pub(crate) struct DataFusion {
    session: SessionContext,
    way: Way,
}

/// How DataFusion scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As it does unless told otherwise: strings are views of pages, and filters are evaluated above the scan.
    Default,
    /// With filters in the scan.
    Pushdown,
    /// With strings of their own, as Flight clients get them.
    PlainStrings,
}

impl DataFusion {
    pub(crate) async fn new(file: &File, way: Way) -> Result<Self> {
        let mut config = SessionConfig::new().with_target_partitions(1);
        let parquet = &mut config.options_mut().execution.parquet;
        parquet.pushdown_filters = way == Way::Pushdown;
        parquet.reorder_filters = way == Way::Pushdown;
        parquet.schema_force_view_types = way != Way::PlainStrings;
        let session = SessionContext::new_with_config(config);
        let url = ListingTableUrl::parse(format!("{ROOT}/"))?;
        let store: Arc<dyn ObjectStore> = Arc::<InMemory>::clone(&file.store);
        session.register_object_store(url.object_store().as_ref(), store);
        let path = format!("{ROOT}/{PATH}");
        session
            .register_parquet("orders", &path, ParquetReadOptions::default())
            .await?;
        Ok(Self { session, way })
    }
}

impl Engine for DataFusion {
    fn name(&self) -> &'static str {
        match self.way {
            Way::Default => "DataFusion",
            Way::Pushdown => "DataFusion, pushdown",
            Way::PlainStrings => "DataFusion, plain strings",
        }
    }

    fn prepare<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Scan>> {
        Box::pin(async move {
            let filter = query.filter.as_ref();
            let filter = filter.map_or(String::new(), |filter| format!(" WHERE {filter}"));
            let sql = format!("SELECT {} FROM orders{filter}", query.columns.join(", "));
            let frame = self.session.sql(&sql).await?;
            let plan = frame.create_physical_plan().await?;
            let context = self.session.task_ctx();
            let scan: Scan = Box::new(move || {
                // A plan keeps state of its run, so each run has its own.
                let plan =
                    datafusion::physical_plan::execution_plan::reset_plan_states(Arc::clone(&plan));
                let context = Arc::clone(&context);
                Box::pin(async move { count(plan?, context).await })
            });
            Ok(scan)
        })
    }
}

/// Runs a plan of one partition to its end.
fn count(
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
) -> BoxFuture<'static, Result<usize>> {
    Box::pin(async move {
        let mut batches = plan.execute(0, context)?;
        let mut rows = 0;
        while let Some(batch) = batches.try_next().await? {
            rows += batch.num_rows();
        }
        Ok(rows)
    })
}
