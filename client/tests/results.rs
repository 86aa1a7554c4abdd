//! The rows of a statement from services that answer as their tickets say, or not at all.

#![allow(clippy::unwrap_used)]

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use fulmar_client::{Client, ClientError, QueryOptions};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};
use wire::serve::{Listener, serve};

/// Where nobody listens.
const NOBODY: &str = "grpc+tcp://127.0.0.1:1";

type Answer<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// A Flight SQL service whose every statement has the plan it was made with. A ticket says what its
/// stream does, word by word: a number is a row, `fail` an error, `meet` waits for another stream that
/// waits.
#[derive(Clone)]
struct Stub {
    plan: FlightInfo,
    meeting: Arc<Barrier>,
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]))
}

impl Stub {
    /// Starts a service that plans `endpoints`.
    async fn start(endpoints: Vec<FlightEndpoint>, ordered: bool) -> Client {
        let plan = FlightInfo::new().try_with_schema(&schema()).unwrap();
        let stub = Self {
            plan: FlightInfo {
                endpoint: endpoints,
                ordered,
                ..plan
            },
            meeting: Arc::new(Barrier::new(2)),
        };
        let listener = Listener::bind("127.0.0.1:0", false).await.unwrap();
        let client = Client::connect(&listener.location()).unwrap();
        tokio::spawn(async move {
            let service = FlightServiceServer::new(stub);
            let routes = |routes: &mut tonic::service::RoutesBuilder| {
                routes.add_service(service);
            };
            let served = serve(listener, &[], routes, CancellationToken::new());
            served.await.unwrap();
        });
        client
    }

    async fn step(self, word: String) -> Option<Result<RecordBatch, FlightError>> {
        match word.as_str() {
            "meet" => {
                self.meeting.wait().await;
                None
            }
            "fail" => Some(Err(Status::data_loss("a page is damaged").into())),
            number => {
                let column = Int64Array::from(vec![number.parse::<i64>().unwrap()]);
                let batch = RecordBatch::try_new(schema(), vec![Arc::new(column)]);
                Some(Ok(batch.unwrap()))
            }
        }
    }
}

fn endpoint(ticket: &str, locations: &[&str]) -> FlightEndpoint {
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket.to_owned()));
    let with = |endpoint: FlightEndpoint, location: &&str| endpoint.with_location(*location);
    locations.iter().fold(endpoint, with)
}

/// All rows in the order in which they came.
async fn rows(client: &Client, parallel: usize) -> Result<Vec<i64>, ClientError> {
    let options = QueryOptions {
        parallel: NonZeroUsize::new(parallel).unwrap(),
        ..QueryOptions::default()
    };
    let all = async {
        let mut results = client.execute("SELECT n", &options).await?;
        let mut rows = Vec::new();
        while let Some(batch) = results.next().await? {
            rows.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
        }
        let tally = results.tally();
        assert_eq!(tally.tickets_done, tally.tickets);
        assert_eq!(tally.rows, rows.len() as u64);
        Ok(rows)
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, all).await.unwrap()
}

#[tokio::test]
async fn endpoints_are_fetched_at_the_same_time_and_every_row_comes() {
    // No stream goes on before another one is open, too.
    let tickets = ["meet 1 2", "meet 3", "meet", "meet 4 5 6"];
    let endpoints = tickets.map(|ticket| endpoint(ticket, &[]));
    let client = Stub::start(endpoints.to_vec(), false).await;
    for parallel in [2, 8] {
        let mut rows = rows(&client, parallel).await.unwrap();
        rows.sort_unstable();
        assert_eq!(rows, [1, 2, 3, 4, 5, 6]);
    }
}

#[tokio::test]
async fn ordered_endpoints_are_fetched_at_the_same_time_and_given_in_their_order() {
    let tickets = ["meet 1 2", "meet 3", "meet", "meet 4 5 6"];
    let endpoints = tickets.map(|ticket| endpoint(ticket, &[]));
    let client = Stub::start(endpoints.to_vec(), true).await;
    for parallel in [2, 8] {
        assert_eq!(rows(&client, parallel).await.unwrap(), [1, 2, 3, 4, 5, 6]);
    }
}

#[tokio::test]
async fn a_location_that_does_not_answer_gives_way_to_the_next() {
    let reuse = "arrow-flight-reuse-connection://?";
    let endpoints = vec![
        endpoint("1 2", &[NOBODY, reuse]),
        endpoint("3", &["not a location", NOBODY, reuse]),
        endpoint("", &[NOBODY, reuse]),
    ];
    let client = Stub::start(endpoints, true).await;
    assert_eq!(rows(&client, 8).await.unwrap(), [1, 2, 3]);
}

#[tokio::test]
async fn an_endpoint_that_no_location_serves_fails_the_statement() {
    let endpoints = vec![endpoint("1", &[]), endpoint("2", &[NOBODY, NOBODY])];
    let client = Stub::start(endpoints, false).await;
    let error = rows(&client, 8).await.unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn an_error_after_rows_is_final_though_another_location_would_answer() {
    let endpoints = vec![endpoint(
        "1 fail",
        &["arrow-flight-reuse-connection://?", NOBODY],
    )];
    let client = Stub::start(endpoints, false).await;
    let error = rows(&client, 8).await.unwrap_err();
    assert_eq!(error.to_string(), "a page is damaged");
}

#[tonic::async_trait]
impl FlightService for Stub {
    type HandshakeStream = Answer<HandshakeResponse>;
    type ListFlightsStream = Answer<FlightInfo>;
    type DoGetStream = Answer<FlightData>;
    type DoPutStream = Answer<PutResult>;
    type DoExchangeStream = Answer<FlightData>;
    type DoActionStream = Answer<arrow_flight::Result>;
    type ListActionsStream = Answer<ActionType>;

    async fn get_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        Ok(Response::new(self.plan.clone()))
    }

    async fn do_get(
        &self,
        request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        let ticket = String::from_utf8(request.into_inner().ticket.to_vec()).unwrap();
        let words: Vec<String> = ticket.split_whitespace().map(str::to_owned).collect();
        let stub = self.clone();
        let batches = stream::iter(words).filter_map(move |word| stub.clone().step(word));
        let encoder = FlightDataEncoderBuilder::new().with_schema(schema());
        let messages = encoder.build(batches).map_err(Status::from);
        Ok(Response::new(Box::pin(messages)))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(Status::unimplemented("handshake"))
    }

    async fn list_flights(
        &self,
        _: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(Status::unimplemented("list_flights"))
    }

    async fn poll_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented("poll_flight_info"))
    }

    async fn get_schema(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        Err(Status::unimplemented("get_schema"))
    }

    async fn do_put(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        Err(Status::unimplemented("do_put"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented("do_exchange"))
    }

    async fn do_action(
        &self,
        _: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        Err(Status::unimplemented("do_action"))
    }

    async fn list_actions(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        Err(Status::unimplemented("list_actions"))
    }
}
