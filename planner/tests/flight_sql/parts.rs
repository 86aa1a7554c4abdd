//! A catalog and planners in this process, on free ports, and clients of theirs.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{Any, ProstMessageExt};
use arrow_flight::{Action, FlightDescriptor, FlightInfo, Ticket};
use catalog::{CatalogConfig, LogLimits};
use fulmar_planner::PlannerConfig;
use futures::{StreamExt, TryStreamExt};
use prost::Message;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use wire::TicketKeys;
use wire::serve::Listener;

const KEYS: &str = "test:000102030405060708090a0b0c0d0e0f";

/// A catalog with planners; all stop when it is dropped.
pub(crate) struct Parts {
    dir: TempDir,
    catalog: String,
    planner: String,
    shutdown: CancellationToken,
}

impl Parts {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shutdown = CancellationToken::new();
        let listener = Listener::bind("127.0.0.1:0", false).await.unwrap();
        let catalog = format!("http://{}", listener.address());
        let config = CatalogConfig {
            listener,
            database: path(&dir.path().join("catalog.db")),
            warehouse: path(&dir.path().join("warehouse")),
            log: LogLimits::default(),
        };
        tokio::spawn(catalog::serve(config, shutdown.clone()));
        let mut parts = Self {
            dir,
            catalog,
            planner: String::new(),
            shutdown,
        };
        parts.planner = parts.replica().await;
        parts
    }

    /// Another planner with the same keys and the same catalog; gives its address.
    pub(crate) async fn replica(&self) -> String {
        let listener = Listener::bind("127.0.0.1:0", false).await.unwrap();
        let address = format!("http://{}", listener.address());
        let keys = TicketKeys::parse(KEYS).unwrap();
        let config = PlannerConfig::new(listener, &self.catalog, Vec::new(), keys);
        tokio::spawn(fulmar_planner::serve(config, self.shutdown.clone()));
        address
    }

    pub(crate) fn planner(&self) -> &str {
        &self.planner
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.planner).await
    }

    /// Writes a table of 100 customers and gives the statement that makes it known.
    pub(crate) fn create_table(&self, name: &str) -> String {
        let folder = self.dir.path().join(name);
        fixtures::customers(&folder, 100).unwrap();
        let folder = path(&folder);
        format!("CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{folder}'")
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The raw Flight client and the SQL client on one connection.
pub(crate) struct Client {
    pub(crate) flight: FlightServiceClient<Channel>,
    pub(crate) sql: FlightSqlServiceClient<Channel>,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Self {
        let endpoint = Endpoint::from_shared(address.to_owned()).unwrap();
        let channel = endpoint.connect().await.unwrap();
        Self {
            flight: FlightServiceClient::new(channel.clone()),
            sql: FlightSqlServiceClient::new(channel),
        }
    }

    pub(crate) async fn info(
        &mut self,
        command: &impl ProstMessageExt,
    ) -> Result<FlightInfo, Status> {
        let answer = self.flight.get_flight_info(descriptor(command)).await;
        Ok(answer?.into_inner())
    }

    /// All rows of a result, whose stream must have the schema that was promised.
    pub(crate) async fn fetch(&mut self, info: FlightInfo) -> Result<Vec<RecordBatch>, Status> {
        let promised = SchemaRef::new(info.clone().try_decode_schema().unwrap());
        let mut batches = Vec::new();
        for endpoint in info.endpoint {
            let ticket = endpoint.ticket.unwrap();
            let (schema, rows) = self.get(ticket).await?;
            assert_eq!(schema, promised);
            batches.extend(rows);
        }
        Ok(batches)
    }

    pub(crate) async fn get(
        &mut self,
        ticket: Ticket,
    ) -> Result<(SchemaRef, Vec<RecordBatch>), Status> {
        let messages = self.flight.do_get(ticket).await?.into_inner();
        let messages = messages.map_err(FlightError::from);
        let mut stream = FlightRecordBatchStream::new_from_flight_data(messages);
        let mut batches = Vec::new();
        while let Some(batch) = stream.next().await {
            batches.push(batch.map_err(Status::from)?);
        }
        Ok((stream.schema().unwrap().clone(), batches))
    }

    pub(crate) async fn query(&mut self, sql: &str) -> Result<Vec<RecordBatch>, Status> {
        let command = arrow_flight::sql::CommandStatementQuery {
            query: sql.to_owned(),
            transaction_id: None,
        };
        let info = self.info(&command).await?;
        self.fetch(info).await
    }

    /// An action's only result, with the headers of the answer.
    pub(crate) async fn action(
        &mut self,
        name: &str,
        body: Vec<u8>,
        headers: MetadataMap,
    ) -> Result<(Vec<u8>, MetadataMap), Status> {
        let mut request = Request::new(Action::new(name, body));
        *request.metadata_mut() = headers;
        let answer = self.flight.do_action(request).await?;
        let headers = answer.metadata().clone();
        let results: Vec<_> = answer.into_inner().try_collect().await?;
        let body = results.first().map(|result| result.body.to_vec());
        Ok((body.unwrap_or_default(), headers))
    }
}

pub(crate) fn descriptor(command: &impl ProstMessageExt) -> FlightDescriptor {
    FlightDescriptor::new_cmd(command.as_any().encode_to_vec())
}

/// What is in an `Any`.
pub(crate) fn unpack<M: ProstMessageExt>(body: &[u8]) -> M {
    Any::decode(body).unwrap().unpack().unwrap().unwrap()
}

/// The cells of a result, row by row, as text.
pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let cell = |batch: &RecordBatch, column: usize, row: usize| {
        arrow::util::display::array_value_to_string(batch.column(column), row).unwrap()
    };
    let all = batches.iter().flat_map(|batch| {
        (0..batch.num_rows()).map(move |row| {
            (0..batch.num_columns())
                .map(|column| cell(batch, column, row))
                .collect()
        })
    });
    all.collect()
}
