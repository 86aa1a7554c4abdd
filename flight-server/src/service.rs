//! The Flight service: each method is decode, call, encode.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, Result as ActionResult, SchemaResult,
    Ticket,
};
use futures::{Stream, StreamExt, stream};
use model::QueryId;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Request, Response, Status, Streaming};
use wire::TicketKeys;
use wire::status::{status, status_of};

use crate::admission::Gate;
use crate::error::FlightServerError;
use crate::open::verify;
use crate::run::{Admitted, Shared, start};

/// The action by which planners see that a server lives and learn its location.
const SERVER_ACTION: &str = "fulmar.server";

/// Where gRPC clients look for the time after which to try again.
const RETRY_HEADER: &str = "grpc-retry-pushback-ms";

const AUTHORIZATION: &str = "authorization";

type Answer<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Serves scan tickets.
#[derive(Debug)]
pub(crate) struct ScanService {
    pub(crate) keys: TicketKeys,
    pub(crate) gate: Gate,
    pub(crate) shared: Arc<Shared>,
    pub(crate) running: TaskTracker,
    pub(crate) shutdown: CancellationToken,
}

impl ScanService {
    async fn scan(&self, ticket: &[u8]) -> Result<Answer<FlightData>, Status> {
        let arrived = Instant::now();
        if self.shutdown.is_cancelled() {
            return Err(refusal(&FlightServerError::Draining, None));
        }
        let ticket = verify(&self.keys, ticket).map_err(|error| refused(&error, None))?;
        let query_id = ticket.query_id.clone();
        let place = self.gate.enter().await;
        let place = place.map_err(|error| refused(&error, Some(&query_id)))?;
        let admitted = Admitted {
            ticket,
            arrived,
            place,
        };
        let messages = start(Arc::clone(&self.shared), admitted, &self.running);
        let messages = ReceiverStream::new(messages)
            .map(move |message| message.map_err(|error| refusal(&error, Some(&query_id))));
        Ok(Box::pin(messages))
    }
}

/// A ticket that is not let in: this is the only place that logs it.
fn refused(error: &FlightServerError, query: Option<&QueryId>) -> Status {
    let query_id = query.map(tracing::field::display);
    tracing::warn!(%error, query_id, "ticket refused");
    refusal(error, query)
}

fn refusal(error: &FlightServerError, query: Option<&QueryId>) -> Status {
    let mut status = status(error, query);
    if let Some(after) = error.retry_after()
        && let Ok(after) = MetadataValue::try_from(after.as_millis().to_string())
    {
        status.metadata_mut().insert(RETRY_HEADER, after);
    }
    status
}

fn elsewhere<T>(what: &str) -> Result<T, Status> {
    let message =
        format!("{what} is not served by Flight servers, which only scan: ask the planner");
    Err(status_of(wire::Category::Unsupported, &message, None))
}

/// Whoever has a bearer token, such as the planner's, keeps it; anyone else gets one that says so.
fn token(headers: &MetadataMap) -> MetadataValue<tonic::metadata::Ascii> {
    let given = headers.get(AUTHORIZATION).filter(|value| {
        let scheme = value.as_bytes().get(..7);
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "))
    });
    given
        .cloned()
        .unwrap_or(MetadataValue::from_static("Bearer anonymous"))
}

#[tonic::async_trait]
impl FlightService for ScanService {
    type HandshakeStream = Answer<HandshakeResponse>;
    type ListFlightsStream = Answer<FlightInfo>;
    type DoGetStream = Answer<FlightData>;
    type DoPutStream = Answer<PutResult>;
    type DoExchangeStream = Answer<FlightData>;
    type DoActionStream = Answer<ActionResult>;
    type ListActionsStream = Answer<ActionType>;

    /// Any credentials do: what may be read was decided when the ticket was signed.
    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        let token = token(request.metadata());
        let answer: Self::HandshakeStream =
            Box::pin(stream::iter([Ok(HandshakeResponse::default())]));
        let mut response = Response::new(answer);
        response.metadata_mut().insert(AUTHORIZATION, token);
        Ok(response)
    }

    async fn do_get(
        &self,
        request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        self.scan(&request.into_inner().ticket)
            .await
            .map(Response::new)
    }

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        let action = request.into_inner();
        if action.r#type != SERVER_ACTION {
            return elsewhere(&format!("action {:?}", action.r#type));
        }
        let answer = serde_json::json!({
            "location": self.shared.location,
            "version": env!("CARGO_PKG_VERSION"),
        });
        let answer = ActionResult {
            body: answer.to_string().into(),
        };
        Ok(Response::new(Box::pin(stream::iter([Ok(answer)]))))
    }

    async fn list_actions(
        &self,
        _request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        let action = ActionType {
            r#type: SERVER_ACTION.to_owned(),
            description: "The advertised location and the version of this Flight server, as JSON"
                .to_owned(),
        };
        Ok(Response::new(Box::pin(stream::iter([Ok(action)]))))
    }

    async fn list_flights(
        &self,
        _request: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        elsewhere("ListFlights")
    }

    async fn get_flight_info(
        &self,
        _request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        elsewhere("GetFlightInfo")
    }

    async fn poll_flight_info(
        &self,
        _request: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        elsewhere("PollFlightInfo")
    }

    async fn get_schema(
        &self,
        _request: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        elsewhere("GetSchema")
    }

    async fn do_put(
        &self,
        _request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        elsewhere("DoPut")
    }

    async fn do_exchange(
        &self,
        _request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        elsewhere("DoExchange")
    }
}
