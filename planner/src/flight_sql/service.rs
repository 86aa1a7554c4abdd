//! The Flight SQL calls: decode, call, encode. What a call does is in the modules it names; what
//! `arrow_flight`'s dispatch does not know is in `surface`.

use std::pin::Pin;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionBeginTransactionRequest,
    ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult,
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, ActionCreatePreparedSubstraitPlanRequest,
    ActionEndSavepointRequest, ActionEndTransactionRequest, CommandPreparedStatementQuery,
    CommandPreparedStatementUpdate, CommandStatementIngest, CommandStatementQuery,
    CommandStatementSubstraitPlan, CommandStatementUpdate, DoPutPreparedStatementResult, SqlInfo,
};
use arrow_flight::{Action, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse};
use bytes::Bytes;
use chrono::{TimeDelta, Utc};
use futures::{Stream, stream};
use prost_types::Timestamp;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};
use wire::TicketKeys;

use super::handle::Handle;
use super::parameters;
use super::running::Running;
use super::sessions::{Sessions, hand_out};
use crate::engine::Engine;
use crate::error::PlannerError;
use crate::session::Session;

type HandshakeStream = Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>;

/// The service. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct FlightSql {
    pub(crate) engine: Engine,
    pub(crate) keys: TicketKeys,
    pub(crate) sessions: Sessions,
    pub(crate) running: Running,
    ticket_ttl: TimeDelta,
}

impl FlightSql {
    /// A service that asks this engine; the keys are those that sign its tickets.
    pub(crate) fn new(engine: Engine, keys: TicketKeys, ticket_ttl: Duration) -> Self {
        Self {
            engine,
            sessions: Sessions::new(keys.clone()),
            keys,
            running: Running::default(),
            ticket_ttl: TimeDelta::from_std(ticket_ttl).unwrap_or(TimeDelta::MAX),
        }
    }

    /// When a ticket that is signed now stops being valid.
    pub(crate) fn expires(&self) -> Timestamp {
        let expires = Utc::now()
            .checked_add_signed(self.ticket_ttl)
            .unwrap_or(chrono::DateTime::<Utc>::MAX_UTC);
        Timestamp {
            seconds: expires.timestamp(),
            nanos: 0,
        }
    }

    /// The session of a call.
    pub(crate) fn session(&self, metadata: &MetadataMap) -> Result<Session, Status> {
        self.sessions.of_call(metadata).map_err(status)
    }

    fn opened(&self, handle: &[u8]) -> Result<Handle, Status> {
        Handle::open(&self.keys, handle).map_err(status)
    }
}

/// The status of an error.
#[expect(clippy::needless_pass_by_value)] // It stands in `map_err`.
pub(crate) fn status(error: PlannerError) -> Status {
    wire::status::status(&error, None)
}

fn no_transactions(id: Option<&Bytes>) -> Result<(), Status> {
    match id {
        Some(id) if !id.is_empty() => Err(unsupported("transactions")),
        _ => Ok(()),
    }
}

fn unsupported(what: &str) -> Status {
    Status::unimplemented(format!("Fulmar does not support {what}"))
}

#[tonic::async_trait]
impl FlightSqlService for FlightSql {
    type FlightService = Self;

    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<HandshakeStream>, Status> {
        let token = self.sessions.begin(request.metadata()).map_err(status)?;
        let answer = HandshakeResponse {
            protocol_version: 0,
            payload: token.clone().into_bytes().into(),
        };
        let stream: HandshakeStream = Box::pin(stream::iter([Ok(answer)]));
        let mut response = Response::new(stream);
        hand_out(response.metadata_mut(), &token).map_err(status)?;
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        no_transactions(query.transaction_id.as_ref())?;
        let session = self.session(request.metadata())?;
        let handle = Handle {
            sql: query.query,
            parameters: None,
        };
        let info = self.execute(&session, handle, request.into_inner()).await;
        info.map(Response::new).map_err(status)
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let session = self.session(request.metadata())?;
        let handle = self.opened(&query.prepared_statement_handle)?;
        let info = self.execute(&session, handle, request.into_inner()).await;
        info.map(Response::new).map_err(status)
    }

    async fn get_flight_info_substrait_plan(
        &self,
        _query: CommandStatementSubstraitPlan,
        _request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        Err(unsupported("Substrait plans"))
    }

    async fn do_put_statement_update(
        &self,
        command: CommandStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        no_transactions(command.transaction_id.as_ref())?;
        let session = self.session(request.metadata())?;
        let handle = Handle {
            sql: command.query,
            parameters: None,
        };
        self.update(session, handle).await.map_err(status)
    }

    async fn do_put_statement_ingest(
        &self,
        command: CommandStatementIngest,
        _request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::unimplemented(format!(
            "table {}: Fulmar does not take rows from clients; write Parquet files and create an \
             external table over them",
            command.table
        )))
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let handle = self.opened(&query.prepared_statement_handle)?;
        let bound = Handle {
            parameters: parameters::read(request.into_inner())
                .await
                .map_err(status)?,
            ..handle
        };
        Ok(DoPutPreparedStatementResult {
            prepared_statement_handle: Some(bound.seal(&self.keys).map_err(status)?),
        })
    }

    async fn do_put_prepared_statement_update(
        &self,
        query: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let session = self.session(request.metadata())?;
        let mut handle = self.opened(&query.prepared_statement_handle)?;
        let uploaded = parameters::read(request.into_inner()).await;
        if let Some(uploaded) = uploaded.map_err(status)? {
            handle.parameters = Some(uploaded);
        }
        self.update(session, handle).await.map_err(status)
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        no_transactions(query.transaction_id.as_ref())?;
        let session = self.session(request.metadata())?;
        self.prepare(&session, query.query).await.map_err(status)
    }

    /// Nothing is kept, so there is nothing to close.
    async fn do_action_close_prepared_statement(
        &self,
        _query: ActionClosePreparedStatementRequest,
        _request: Request<Action>,
    ) -> Result<(), Status> {
        Ok(())
    }

    async fn do_action_create_prepared_substrait_plan(
        &self,
        _query: ActionCreatePreparedSubstraitPlanRequest,
        _request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        Err(unsupported("Substrait plans"))
    }

    async fn do_action_begin_transaction(
        &self,
        _query: ActionBeginTransactionRequest,
        _request: Request<Action>,
    ) -> Result<ActionBeginTransactionResult, Status> {
        Err(unsupported("transactions"))
    }

    async fn do_action_end_transaction(
        &self,
        _query: ActionEndTransactionRequest,
        _request: Request<Action>,
    ) -> Result<(), Status> {
        Err(unsupported("transactions"))
    }

    async fn do_action_begin_savepoint(
        &self,
        _query: ActionBeginSavepointRequest,
        _request: Request<Action>,
    ) -> Result<ActionBeginSavepointResult, Status> {
        Err(unsupported("savepoints"))
    }

    async fn do_action_end_savepoint(
        &self,
        _query: ActionEndSavepointRequest,
        _request: Request<Action>,
    ) -> Result<(), Status> {
        Err(unsupported("savepoints"))
    }

    async fn do_action_cancel_query(
        &self,
        query: ActionCancelQueryRequest,
        _request: Request<Action>,
    ) -> Result<ActionCancelQueryResult, Status> {
        self.cancel_query(&query.info).map_err(status)
    }

    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Result<Response<<Self as FlightService>::DoActionStream>, Status> {
        self.other_action(request).map_err(status)
    }

    /// The facts are fixed, see `sql_info`.
    async fn register_sql_info(&self, _id: i32, _result: &SqlInfo) {}
}
