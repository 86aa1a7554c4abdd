//! A Flight SQL client made of the Rust one from arrow-flight: every endpoint from its first location
//! that answers, with the scan reports.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{FlightClient, FlightEndpoint, FlightInfo};
use futures::TryStreamExt;
use model::ScanReport;
use tonic::transport::{Channel, Endpoint};

/// Result of a query.
pub(crate) struct Answer {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) reports: Vec<ScanReport>,
    pub(crate) endpoints: Vec<FlightEndpoint>,
    /// Of each endpoint, the location that served it.
    pub(crate) served_by: Vec<String>,
}

impl Answer {
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    pub(crate) fn batch(&self) -> RecordBatch {
        concat_batches(&self.schema, &self.batches).unwrap()
    }

    /// The only value of a result with one row and one column, as text.
    pub(crate) fn scalar(&self) -> String {
        let batch = self.batch();
        assert_eq!((batch.num_rows(), batch.num_columns()), (1, 1));
        arrow::util::display::array_value_to_string(batch.column(0), 0).unwrap()
    }
}

/// A connection to a planner.
pub(crate) struct Connection {
    planner: String,
    client: FlightSqlServiceClient<Channel>,
}

impl Connection {
    pub(crate) async fn open(planner: &str) -> Self {
        let client = FlightSqlServiceClient::new(channel(planner).await.unwrap());
        Self {
            planner: planner.to_owned(),
            client,
        }
    }

    /// Sends a header with every later call.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        self.client.set_header(name, value);
    }

    pub(crate) async fn info(&mut self, sql: &str) -> Result<FlightInfo, String> {
        self.client
            .execute(sql.to_owned(), None)
            .await
            .map_err(text)
    }

    pub(crate) async fn update(&mut self, sql: &str) -> Result<i64, String> {
        self.client
            .execute_update(sql.to_owned(), None)
            .await
            .map_err(text)
    }

    /// Runs a query and opens every endpoint.
    pub(crate) async fn query(&mut self, sql: &str) -> Result<Answer, String> {
        let info = self.info(sql).await?;
        self.fetch(info).await
    }

    /// Opens every endpoint, each at its first location that answers.
    pub(crate) async fn fetch(&self, info: FlightInfo) -> Result<Answer, String> {
        let schema = SchemaRef::new(
            info.clone()
                .try_decode_schema()
                .map_err(|e| e.to_string())?,
        );
        let mut answer = Answer {
            schema,
            batches: Vec::new(),
            reports: Vec::new(),
            endpoints: info.endpoint.clone(),
            served_by: Vec::new(),
        };
        for endpoint in info.endpoint {
            self.fetch_endpoint(endpoint, &mut answer).await?;
        }
        Ok(answer)
    }

    async fn fetch_endpoint(
        &self,
        endpoint: FlightEndpoint,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let (location, stream) = self.open_at_first(&endpoint).await?;
        answer.served_by.push(location);
        collect(stream, answer).await
    }

    /// The stream of an endpoint, of which nothing is read yet.
    pub(crate) async fn open_endpoint(
        &self,
        endpoint: &FlightEndpoint,
    ) -> Result<FlightDataDecoder, String> {
        let (_, stream) = self.open_at_first(endpoint).await?;
        Ok(stream)
    }

    async fn open_at_first(
        &self,
        endpoint: &FlightEndpoint,
    ) -> Result<(String, FlightDataDecoder), String> {
        let mut locations: Vec<String> = endpoint
            .location
            .iter()
            .map(|location| location.uri.clone())
            .collect();
        if locations.is_empty() {
            locations.push(self.planner.clone());
        }
        let mut failure = String::new();
        for location in locations {
            let reuse = location.starts_with("arrow-flight-reuse-connection");
            let address = if reuse { &self.planner } else { &location };
            match get(address, endpoint).await {
                Ok(stream) => return Ok((location, stream)),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

/// Begins to fetch an endpoint from a location.
pub(crate) async fn get(
    location: &str,
    endpoint: &FlightEndpoint,
) -> Result<FlightDataDecoder, String> {
    let ticket = endpoint.ticket.clone().ok_or("endpoint without ticket")?;
    let mut client = FlightClient::new(channel(location).await?);
    let stream = client.do_get(ticket).await.map_err(text)?;
    Ok(stream.into_inner())
}

async fn collect(mut stream: FlightDataDecoder, answer: &mut Answer) -> Result<(), String> {
    while let Some(message) = stream.try_next().await.map_err(text)? {
        if !message.inner.app_metadata.is_empty() {
            let metadata = &message.inner.app_metadata;
            answer
                .reports
                .push(serde_json::from_slice(metadata).map_err(|e| e.to_string())?);
        }
        match message.payload {
            DecodedPayload::RecordBatch(batch) => {
                assert_eq!(
                    batch.schema(),
                    answer.schema,
                    "the stream has the promised schema"
                );
                answer.batches.push(batch);
            }
            DecodedPayload::Schema(schema) => {
                assert_eq!(schema, answer.schema, "the stream has the promised schema");
            }
            DecodedPayload::None => {}
        }
    }
    Ok(())
}

/// Connects to a Flight location.
pub(crate) async fn channel(location: &str) -> Result<Channel, String> {
    let uri = location
        .replacen("grpc+tcp://", "http://", 1)
        .replacen("grpc://", "http://", 1);
    let endpoint = Endpoint::from_shared(uri).map_err(|error| error.to_string())?;
    endpoint
        .connect()
        .await
        .map_err(|error| format!("{location}: {error}"))
}

/// The gRPC code and the message of an error.
fn text(error: FlightError) -> String {
    match error {
        FlightError::Tonic(status) => format!("{:?}: {}", status.code(), status.message()),
        other => other.to_string(),
    }
}
