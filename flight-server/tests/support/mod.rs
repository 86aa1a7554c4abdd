//! A Flight server on a real socket, tickets over fixture files, and a client of both.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow_flight::Ticket;
use arrow_flight::flight_service_client::FlightServiceClient;
use bytes::Bytes;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{binary, col, lit};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use fixtures::Orders;
use fulmar_flight_server::{FlightServerConfig, StartError, TicketLimits, serve};
use futures::{StreamExt, TryStreamExt};
use model::interval::End;
use model::{
    ColumnMapping, DataFile, Datum, Interval, Predicate, QueryId, ScanReport, ScanTask, SnapshotId,
    TableName, TableSchema, TicketId, ValueSet,
};
use object_store::ObjectStoreExt;
use parquet::file::reader::{FileReader, SerializedFileReader};
use scan::{ScanExec, ScanSpec, encode_fragment};
use store::{Stores, version_of};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Code, Status};
use wire::flight::decode;
use wire::schema::encode_schema;
use wire::serve::Listener;
use wire::{Payload, ScanWork, TicketKeys, Work};

pub(crate) const KEY: &str = "one:000102030405060708090a0b0c0d0e0f";
pub(crate) const OTHER_KEY: &str = "two:0f0e0d0c0b0a09080706050403020100";

/// The smallest that HTTP/2 begins with.
const SMALL_WINDOW: u32 = 65_535;

/// A date far enough away.
pub(crate) const NEVER: i64 = i64::MAX;

pub(crate) fn keys(text: &str) -> TicketKeys {
    TicketKeys::parse(text).unwrap()
}

/// A Flight server in this process.
pub(crate) struct Server {
    pub(crate) location: String,
    pub(crate) shutdown: CancellationToken,
    pub(crate) task: JoinHandle<Result<(), StartError>>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(None, TicketLimits::default()).await
    }

    pub(crate) async fn start_with(catalog: Option<String>, tickets: TicketLimits) -> Self {
        let listener = Listener::bind("127.0.0.1:0", false).await.unwrap();
        Self::start_on(listener, catalog, tickets)
    }

    /// A server whose scans share so little memory that one at a time has some.
    pub(crate) async fn start_short_of_memory(
        running: usize,
        idle: Duration,
        patience: Duration,
    ) -> Self {
        let listener = Listener::bind("127.0.0.1:0", false).await.unwrap();
        let tickets = TicketLimits {
            running,
            idle,
            ..TicketLimits::default()
        };
        let scan = scan::Limits {
            // One holds the size of a batch beside what it has fetched; with less, row groups would be read as
            // they are decoded.
            memory_bytes: 12 << 20,
            patience,
            ..scan::Limits::default()
        };
        Self::start_limited(listener, None, tickets, scan)
    }

    pub(crate) fn start_on(
        listener: Listener,
        catalog: Option<String>,
        tickets: TicketLimits,
    ) -> Self {
        Self::start_limited(listener, catalog, tickets, scan::Limits::default())
    }

    fn start_limited(
        listener: Listener,
        catalog: Option<String>,
        tickets: TicketLimits,
        scan: scan::Limits,
    ) -> Self {
        let location = listener.location();
        let shutdown = CancellationToken::new();
        let config = FlightServerConfig {
            store: store::StoreProfile::BALANCED,
            listener,
            catalog,
            keys: keys(KEY),
            advertise: None,
            tickets,
            scan,
        };
        let task = tokio::spawn(serve(config, shutdown.clone()));
        Self {
            location,
            shutdown,
            task,
        }
    }

    /// A client with the smallest windows, so that a server is soon stopped by one that does not read.
    pub(crate) async fn client(&self) -> FlightServiceClient<Channel> {
        let uri = self.location.replace("grpc+tcp", "http");
        let endpoint = Channel::from_shared(uri).unwrap();
        let endpoint = endpoint
            .initial_stream_window_size(SMALL_WINDOW)
            .initial_connection_window_size(SMALL_WINDOW);
        let channel = endpoint.connect().await.unwrap();
        FlightServiceClient::new(channel).max_decoding_message_size(64 << 20)
    }

    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// All rows of a ticket, and its report.
    pub(crate) async fn rows(&self, ticket: Bytes) -> Result<(RecordBatch, ScanReport), Status> {
        let answer = self.client().await.do_get(Ticket { ticket }).await?;
        let mut batches = decode(answer.into_inner());
        let status = |error: wire::flight::ReadError| wire::status::status(&error, None);
        let schema = batches.schema().await.map_err(status)?;
        let read: Vec<RecordBatch> = batches.by_ref().try_collect().await.map_err(status)?;
        let report = serde_json::from_slice(batches.app_metadata()).unwrap();
        Ok((concat_batches(&schema, &read).unwrap(), report))
    }

    /// The number of rows of a ticket, and its report: batches without columns cannot be put together.
    pub(crate) async fn counted(&self, ticket: Bytes) -> (u64, ScanReport) {
        let answer = self.client().await.do_get(Ticket { ticket }).await;
        let mut batches = decode(answer.unwrap().into_inner());
        while batches.try_next().await.unwrap().is_some() {}
        let report = serde_json::from_slice(batches.app_metadata()).unwrap();
        (batches.rows(), report)
    }

    pub(crate) async fn error(&self, ticket: Bytes) -> (Code, String) {
        let status = self.rows(ticket).await.unwrap_err();
        (status.code(), status.message().to_owned())
    }
}

/// The files of a table, as a catalog that has only listed them knows them.
pub(crate) async fn tasks(files: impl IntoIterator<Item = &Path>) -> Vec<ScanTask> {
    let mut tasks = Vec::new();
    for file in files {
        let location = Stores::from_env().resolve(file.to_str().unwrap()).unwrap();
        let meta = location.store.head(&location.path).await.unwrap();
        tasks.push(ScanTask {
            file: DataFile {
                path: location.url.clone(),
                size: meta.size,
                version: Some(version_of(&meta)),
                record_count: None,
                footer_length: None,
                page_index: None,
            },
            rows: None,
            partition_values: Vec::new(),
            footer: Vec::new(),
            footer_wanted: false,
        });
    }
    tasks
}

/// `SELECT * FROM orders [WHERE order_id >= from]`.
pub(crate) fn orders_spec(from: Option<i64>) -> ScanSpec {
    let schema = TableSchema::numbered(&Orders::schema());
    let id = schema.id_of("order_id").unwrap();
    let filter = from.map(|from| -> Arc<dyn PhysicalExpr> {
        let column = col("order_id", schema.arrow()).unwrap();
        binary(column, Operator::GtEq, lit(from), schema.arrow()).unwrap()
    });
    let predicate = from.map(|from| {
        let values = Interval::new(End::Inclusive(Datum::Int(from)), End::Unbounded);
        Predicate::column(id, "order_id", ValueSet::of(values), false)
    });
    ScanSpec {
        table: TableName::main("orders"),
        mapping: ColumnMapping::ByName,
        projection: (0..schema.ids().len()).collect(),
        filter,
        predicate: predicate.unwrap_or(Predicate::Unknown),
        limit: None,
        schema,
    }
}

pub(crate) fn scan_work(spec: ScanSpec, tasks: Vec<ScanTask>) -> ScanWork {
    let promised: SchemaRef = spec.output_schema();
    let table = spec.table.clone();
    let plan: Arc<dyn ExecutionPlan> = Arc::new(ScanExec::new(Arc::new(spec), Vec::new()));
    ScanWork {
        table,
        snapshot_id: SnapshotId(1),
        tasks,
        fragment: encode_fragment(&plan).unwrap(),
        output_schema: encode_schema(&promised).into(),
        skip_rows: 0,
    }
}

/// The same ticket from a catalog that has seen the files.
pub(crate) fn with_counts(work: &ScanWork) -> ScanWork {
    let mut work = work.clone();
    for task in &mut work.tasks {
        let file = std::fs::File::open(task.file.path.trim_start_matches("file://")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows = reader.metadata().file_metadata().num_rows();
        task.file.record_count = Some(u64::try_from(rows).unwrap());
    }
    work
}

pub(crate) fn payload(work: Work) -> Payload {
    Payload {
        expires_unix_ms: NEVER,
        query_id: QueryId("query-1".to_owned()),
        ticket_id: TicketId("ticket-1".to_owned()),
        principal: "anonymous".to_owned(),
        work,
    }
}

pub(crate) fn sign(work: ScanWork) -> Bytes {
    keys(KEY).sign(&payload(Work::Scan(work))).unwrap()
}

/// Orders in very many files, and a ticket over all of them: more than fits into buffers on the way.
pub(crate) async fn many(rows: u64, files: u64) -> (tempfile::TempDir, Vec<PathBuf>, ScanWork) {
    let dir = tempfile::tempdir().unwrap();
    let written = fixtures::orders_many(dir.path(), rows, files).unwrap();
    let files: Vec<PathBuf> = written.paths().map(Path::to_owned).collect();
    let tasks = tasks(files.iter().map(PathBuf::as_path)).await;
    (dir, files, scan_work(orders_spec(None), tasks))
}

/// A folder of orders by month, and a ticket over all of it.
pub(crate) async fn months(rows: u64) -> (tempfile::TempDir, Vec<PathBuf>, ScanWork) {
    let dir = tempfile::tempdir().unwrap();
    let written = fixtures::orders_by_month(dir.path(), rows).unwrap();
    let files: Vec<PathBuf> = written.paths().map(Path::to_owned).collect();
    let tasks = tasks(files.iter().map(PathBuf::as_path)).await;
    (dir, files, scan_work(orders_spec(None), tasks))
}

/// Waits for something that comes soon, or fails.
pub(crate) async fn eventually<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{what} did not come"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
