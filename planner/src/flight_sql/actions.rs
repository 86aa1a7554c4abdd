//! The actions that are not of Flight SQL: sessions, cancelling, renewing. Owns the list of actions.

use std::pin::Pin;

use arrow_flight::sql::ActionCancelQueryResult;
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus,
    FlightEndpoint, FlightInfo, RenewFlightEndpointRequest, Ticket,
};
use chrono::Utc;
use futures::{Stream, stream};
use prost::Message;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};
use wire::Category;
use wire::ticket::is_ticket;

use super::service::FlightSql;
use super::session_messages::{
    CloseSessionResult, CloseStatus, GetSessionOptionsResult, SetSessionOptionsRequest,
};
use super::sessions::{hand_out, shown_options, take_back};
use crate::error::PlannerError;

/// The stream type of `DoAction`.
pub(crate) type ActionStream =
    Pin<Box<dyn Stream<Item = Result<arrow_flight::Result, Status>> + Send>>;

const ACTIONS: [(&str, &str); 8] = [
    (
        "CreatePreparedStatement",
        "Prepares a statement. ActionCreatePreparedStatementRequest -> ActionCreatePreparedStatementResult",
    ),
    (
        "ClosePreparedStatement",
        "Closes a prepared statement. ActionClosePreparedStatementRequest -> nothing",
    ),
    (
        "CancelQuery",
        "Cancels a query whose results this planner sends. ActionCancelQueryRequest -> ActionCancelQueryResult",
    ),
    (
        "CancelFlightInfo",
        "Cancels a query whose results this planner sends. CancelFlightInfoRequest -> CancelFlightInfoResult",
    ),
    (
        "RenewFlightEndpoint",
        "Makes a ticket valid for longer. RenewFlightEndpointRequest -> FlightEndpoint",
    ),
    (
        "SetSessionOptions",
        "Sets catalog, schema, endpoints or time_zone. SetSessionOptionsRequest -> SetSessionOptionsResult",
    ),
    (
        "GetSessionOptions",
        "Gives the session's options. GetSessionOptionsRequest -> GetSessionOptionsResult",
    ),
    (
        "CloseSession",
        "Closes the session. CloseSessionRequest -> CloseSessionResult",
    ),
];

/// What `ListActions` gives: the actions that do something.
pub(crate) fn list() -> Vec<ActionType> {
    ACTIONS
        .iter()
        .map(|(name, description)| ActionType {
            r#type: (*name).to_owned(),
            description: (*description).to_owned(),
        })
        .collect()
}

impl FlightSql {
    /// The actions that `arrow_flight` does not dispatch.
    pub(crate) fn other_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<ActionStream>, PlannerError> {
        let (metadata, _, action) = request.into_parts();
        match action.r#type.as_str() {
            "SetSessionOptions" => self.set_session_options(&metadata, &action.body),
            "GetSessionOptions" => {
                let session = self.sessions.of_call(&metadata)?;
                let session_options = shown_options(&session);
                Ok(answer(&GetSessionOptionsResult { session_options }))
            }
            "CloseSession" => {
                let status = CloseStatus::Closed.into();
                let mut response = answer(&CloseSessionResult { status });
                take_back(response.metadata_mut())?;
                Ok(response)
            }
            "CancelFlightInfo" => {
                let request: CancelFlightInfoRequest = decode(&action)?;
                let status = self.cancel(&request.info.unwrap_or_default())?;
                Ok(answer(&CancelFlightInfoResult::new(status)))
            }
            "RenewFlightEndpoint" => {
                let request: RenewFlightEndpointRequest = decode(&action)?;
                Ok(answer(&self.renew(request.endpoint.unwrap_or_default())?))
            }
            other => Err(PlannerError::Unsupported(format!(
                "there is no action {other:?}"
            ))),
        }
    }

    fn set_session_options(
        &self,
        metadata: &MetadataMap,
        body: &[u8],
    ) -> Result<Response<ActionStream>, PlannerError> {
        let request = SetSessionOptionsRequest::decode(body)
            .map_err(|error| malformed("SetSessionOptions", &error))?;
        let (result, token) = self
            .sessions
            .set_options(metadata, request.session_options)?;
        let mut response = answer(&result);
        hand_out(response.metadata_mut(), &token)?;
        Ok(response)
    }

    /// `CancelQuery`, the older form of `CancelFlightInfo`.
    pub(crate) fn cancel_query(
        &self,
        info: &[u8],
    ) -> Result<ActionCancelQueryResult, PlannerError> {
        let info = FlightInfo::decode(info).map_err(|error| malformed("CancelQuery", &error))?;
        // Both results number their values alike.
        let result = self.cancel(&info)?.into();
        Ok(ActionCancelQueryResult { result })
    }

    /// Cancels what this planner sends of a query. What clients fetch from Flight servers ends when
    /// they stop to read it, and the same goes for what another planner sends.
    fn cancel(&self, info: &FlightInfo) -> Result<CancelStatus, PlannerError> {
        let now = Utc::now().timestamp_millis();
        let tickets = info.endpoint.iter().filter_map(|one| one.ticket.as_ref());
        let mut known = 0;
        let mut cancelled = 0;
        for ticket in tickets.filter(|ticket| is_ticket(&ticket.ticket)) {
            let payload = self.keys.verify(&ticket.ticket, now)?;
            known += 1;
            cancelled += self.running.cancel(&payload.query_id);
        }
        match (known, cancelled) {
            (0, _) => Err(PlannerError::NotFound(
                "the FlightInfo holds no ticket of a query".to_owned(),
            )),
            (_, 0) => Ok(CancelStatus::NotCancellable),
            _ => Ok(CancelStatus::Cancelled),
        }
    }

    /// The same endpoint with a ticket that is valid for longer.
    fn renew(&self, endpoint: FlightEndpoint) -> Result<FlightEndpoint, PlannerError> {
        let Some(ticket) = &endpoint.ticket else {
            return Err(PlannerError::Invalid(
                "RenewFlightEndpoint: the endpoint has no ticket".to_owned(),
            ));
        };
        if !is_ticket(&ticket.ticket) {
            // Commands and results that travel in their ticket do not expire.
            return Ok(endpoint);
        }
        let expires = self.expires();
        let mut payload = self
            .keys
            .verify(&ticket.ticket, Utc::now().timestamp_millis())?;
        payload.expires_unix_ms = expires.seconds.saturating_mul(1000);
        let ticket = self.keys.sign(&payload)?;
        Ok(FlightEndpoint {
            ticket: Some(Ticket::new(ticket)),
            expiration_time: Some(expires),
            ..endpoint
        })
    }
}

fn decode<M: Message + Default>(action: &Action) -> Result<M, PlannerError> {
    M::decode(action.body.as_ref()).map_err(|error| malformed(&action.r#type, &error))
}

fn malformed(action: &str, error: &prost::DecodeError) -> PlannerError {
    PlannerError::Other {
        category: Category::Invalid,
        message: format!("{action}: the request cannot be read: {error}"),
    }
}

fn answer(message: &impl Message) -> Response<ActionStream> {
    let result = arrow_flight::Result::new(message.encode_to_vec());
    Response::new(Box::pin(stream::iter([Ok(result)])))
}
