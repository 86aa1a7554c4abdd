//! The whole service on a real socket, over fixtures on disk.

mod adopting;
mod bad_input;
mod footers;
mod listing;
mod planning;
mod query_log;
mod refreshing;

use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use model::{
    Condition, Datum, FieldId, Interval, Predicate, Reason, ScanTask, TableName, TableSchema,
    ValueSet, interval::End,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::transport::Channel;
use wire::proto;
use wire::proto::catalog_client::CatalogClient;
use wire::proto::plan_files_response::Part;
use wire::serve::Listener;

use crate::{CatalogConfig, CatalogError, LogLimits, serve};

/// A running catalog with a folder for its database and one for tables.
pub(crate) struct Running {
    pub(crate) client: CatalogClient<Channel>,
    pub(crate) folder: TempDir,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), CatalogError>>,
}

/// What PlanFiles answered.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) header: proto::Table,
    pub(crate) files: Vec<proto::PlannedFile>,
    pub(crate) skipped: Vec<proto::SkippedFile>,
    pub(crate) summary: proto::PlanSummary,
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::start_in(TempDir::new().unwrap()).await
    }

    async fn start_in(folder: TempDir) -> Self {
        let listener = Listener::bind("127.0.0.1:0", false).await.unwrap();
        let location = listener.location();
        let shutdown = CancellationToken::new();
        let config = CatalogConfig {
            listener,
            database: folder.path().join("state/catalog.db").display().to_string(),
            warehouse: folder.path().join("warehouse").display().to_string(),
            log: LogLimits::default(),
        };
        let serving = tokio::spawn(serve(config, shutdown.clone()));
        let channel = wire::channel::connect_lazy(&location).unwrap();
        let client = CatalogClient::new(channel);
        let running = Self {
            client,
            folder,
            shutdown,
            serving,
        };
        // The socket accepts before the service answers; a client waits for it.
        running
            .client
            .clone()
            .list_tables(proto::ListTablesRequest { schema: None })
            .await
            .unwrap();
        running
    }

    /// Ends the service properly and starts another on the same database.
    pub(crate) async fn restart(self) -> Self {
        self.shutdown.cancel();
        drop(self.client);
        self.serving.await.unwrap().unwrap();
        Self::start_in(self.folder).await
    }

    /// Breaks the service off, as a crash does, and starts another on the same database.
    pub(crate) async fn crash(self) -> Self {
        self.serving.abort();
        let _ = self.serving.await;
        Self::start_in(self.folder).await
    }

    /// A folder for a table.
    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    pub(crate) async fn create(
        &self,
        table: &str,
        location: &Path,
    ) -> Result<proto::Table, Status> {
        self.create_with(request(table, location)).await
    }

    pub(crate) async fn create_with(
        &self,
        request: proto::CreateTableRequest,
    ) -> Result<proto::Table, Status> {
        let stream = self
            .client
            .clone()
            .create_table(request)
            .await?
            .into_inner();
        last(stream).await.map(|(table, _)| table)
    }

    /// Refreshes a table and answers it with the last message before it.
    pub(crate) async fn refresh(
        &self,
        table: &str,
    ) -> Result<(proto::Table, proto::TableProgress), Status> {
        let request = proto::RefreshTableRequest {
            name: Some(name(table)),
        };
        let stream = self
            .client
            .clone()
            .refresh_table(request)
            .await?
            .into_inner();
        last(stream).await
    }

    pub(crate) async fn get(&self, table: &str) -> Result<proto::Table, Status> {
        let request = proto::GetTableRequest {
            name: Some(name(table)),
            snapshot_id: None,
        };
        self.client
            .clone()
            .get_table(request)
            .await
            .map(tonic::Response::into_inner)
    }

    pub(crate) async fn tables(&self) -> Vec<String> {
        let request = proto::ListTablesRequest { schema: None };
        let tables = self
            .client
            .clone()
            .list_tables(request)
            .await
            .unwrap()
            .into_inner()
            .tables;
        tables
            .into_iter()
            .map(|table| table.name.unwrap().table)
            .collect()
    }

    pub(crate) async fn snapshots(&self, table: &str) -> Vec<proto::Snapshot> {
        let request = proto::ListSnapshotsRequest {
            name: Some(name(table)),
        };
        self.client
            .clone()
            .list_snapshots(request)
            .await
            .unwrap()
            .into_inner()
            .snapshots
    }

    pub(crate) async fn plan(&self, table: &str, predicate: &Predicate) -> Plan {
        self.plan_at(table, None, predicate).await.unwrap()
    }

    pub(crate) async fn plan_at(
        &self,
        table: &str,
        snapshot_id: Option<i64>,
        predicate: &Predicate,
    ) -> Result<Plan, Status> {
        let request = proto::PlanFilesRequest {
            name: Some(name(table)),
            snapshot_id,
            predicate: Some(predicate.into()),
            explain: true,
            footers: None,
        };
        let stream = self.client.clone().plan_files(request).await?.into_inner();
        let mut plan = Plan::default();
        for answer in stream.try_collect::<Vec<_>>().await? {
            match answer.part.unwrap() {
                Part::Header(table) => plan.header = table,
                Part::File(file) => plan.files.push(file),
                Part::Skipped(file) => plan.skipped.push(file),
                Part::Summary(summary) => plan.summary = summary,
            }
        }
        Ok(plan)
    }

    /// The paths of a snapshot's files below the folder of the table.
    pub(crate) async fn files(&self, table: &str, snapshot_id: Option<i64>) -> Vec<String> {
        let plan = self
            .plan_at(table, snapshot_id, &Predicate::Always)
            .await
            .unwrap();
        plan.paths(&self.data(table))
    }
}

impl Plan {
    pub(crate) fn tasks(&self) -> Vec<ScanTask> {
        let tasks = self.files.iter();
        tasks
            .map(|file| ScanTask::try_from(file.task.clone().unwrap()).unwrap())
            .collect()
    }

    pub(crate) fn reasons(&self) -> Vec<Reason> {
        let skipped = self.skipped.iter();
        skipped
            .map(|file| Reason::try_from(file.reason.clone().unwrap()).unwrap())
            .collect()
    }

    fn paths(&self, folder: &Path) -> Vec<String> {
        let folder = format!("file://{}/", folder.display());
        let tasks = self.tasks().into_iter();
        tasks
            .map(|task| task.file.path.strip_prefix(&folder).unwrap().to_owned())
            .collect()
    }
}

pub(crate) fn name(table: &str) -> proto::TableName {
    (&TableName::main(table)).into()
}

pub(crate) fn request(table: &str, location: &Path) -> proto::CreateTableRequest {
    proto::CreateTableRequest {
        name: Some(name(table)),
        location: location.display().to_string(),
        ..proto::CreateTableRequest::default()
    }
}

pub(crate) fn schema(table: &proto::Table) -> TableSchema {
    TableSchema::try_new(wire::schema::decode_schema(&table.schema).unwrap()).unwrap()
}

async fn last(
    stream: tonic::Streaming<proto::TableProgress>,
) -> Result<(proto::Table, proto::TableProgress), Status> {
    let messages: Vec<proto::TableProgress> = stream.try_collect().await?;
    let last = messages.last().unwrap().clone();
    Ok((last.table.clone().unwrap(), last))
}

/// `lower <= column < upper`.
pub(crate) fn between(field: FieldId, column: &str, lower: Datum, upper: Datum) -> Predicate {
    let interval = Interval::new(End::Inclusive(lower), End::Exclusive(upper));
    Predicate::column(field, column, ValueSet::of(interval), false)
}

/// `column = value`.
pub(crate) fn equal(field: FieldId, column: &str, value: Datum) -> Predicate {
    Predicate::column(field, column, ValueSet::points([value]), false)
}

/// The column and test of a reason with one condition.
pub(crate) fn condition(reason: &Reason) -> &Condition {
    assert_eq!(reason.conditions.len(), 1, "{reason:?}");
    &reason.conditions[0]
}
