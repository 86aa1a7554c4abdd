//! The Flight service that is served. Wraps the one that `arrow_flight` makes of [`FlightSql`], which
//! answers "unimplemented" to `GetSchema`, `PollFlightInfo` and `ListFlights`, knows no tickets but its
//! own, and lists actions that are not there.

use std::pin::Pin;

use arrow::datatypes::Schema;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::Command;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use chrono::Utc;
use futures::{Stream, stream};
use model::schema::CATALOG;
use prost::Message;
use tonic::{Request, Response, Status, Streaming};
use wire::seal::is_sealed;
use wire::ticket::is_ticket;

use super::commands::{self, Asked};
use super::handle::Handle;
use super::service::{FlightSql, status};
use super::statements::RESULT_PURPOSE;
use super::streams::DoGetStream;
use super::{actions, flight_info, listing, metadata, streams};
use crate::error::PlannerError;
use crate::ipc;
use crate::session::Session;

type Boxed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The service as it is served.
#[derive(Clone, Debug)]
pub(crate) struct Surface(pub(crate) FlightSql);

impl Surface {
    /// A table's rows, a metadata command, or what Flight SQL dispatches.
    async fn info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let descriptor = request.get_ref().clone();
        match commands::of_descriptor(&descriptor).map_err(status)? {
            Asked::Table(table) => {
                let session = self.0.session(request.metadata())?;
                let handle = Handle {
                    sql: commands::select_all(&table),
                    parameters: None,
                };
                let info = self.0.execute(&session, handle, descriptor).await;
                info.map(Response::new).map_err(status)
            }
            Asked::Command(command) => {
                let Some(schema) = metadata::schema(&command) else {
                    return self.0.get_flight_info(request).await;
                };
                let ticket = command.into_any().encode_to_vec().into();
                flight_info::of_ticket(ticket, &schema, descriptor)
                    .map(Response::new)
                    .map_err(status)
            }
        }
    }

    async fn schema(
        &self,
        session: &Session,
        descriptor: &FlightDescriptor,
    ) -> Result<Schema, PlannerError> {
        let command = match commands::of_descriptor(descriptor)? {
            Asked::Table(table) => {
                return self
                    .0
                    .schema_of(session, &commands::select_all(&table))
                    .await;
            }
            Asked::Command(command) => *command,
        };
        if let Some(schema) = metadata::schema(&command) {
            return Ok(schema.as_ref().clone());
        }
        match command {
            Command::CommandStatementQuery(statement) => {
                self.0.schema_of(session, &statement.query).await
            }
            Command::CommandPreparedStatementQuery(prepared) => {
                let handle = Handle::open(&self.0.keys, &prepared.prepared_statement_handle)?;
                self.0.schema_of(session, &handle.sql).await
            }
            other => Err(PlannerError::Unsupported(format!(
                "there is no schema for {}",
                other.type_url()
            ))),
        }
    }

    async fn fetch(&self, ticket: &[u8]) -> Result<DoGetStream, PlannerError> {
        if is_ticket(ticket) {
            return self.fetch_work(ticket).await;
        }
        if is_sealed(ticket) {
            let stored = self.0.keys.open(RESULT_PURPOSE, ticket)?;
            let batch = ipc::decode(&stored)?;
            return Ok(streams::batch(batch.schema(), batch));
        }
        let command = commands::of_bytes(ticket, "the ticket")?;
        if let Command::TicketStatementQuery(inner) = &command
            && is_ticket(&inner.statement_handle)
        {
            return self.fetch_work(&inner.statement_handle).await;
        }
        let name = command.type_url().to_owned();
        match metadata::rows(&self.0.engine, command).await? {
            Some(batch) => Ok(streams::batch(batch.schema(), batch)),
            None => Err(PlannerError::Invalid(format!("{name} is no ticket"))),
        }
    }

    async fn fetch_work(&self, ticket: &[u8]) -> Result<DoGetStream, PlannerError> {
        let payload = self.0.keys.verify(ticket, Utc::now().timestamp_millis())?;
        let query = payload.query_id;
        let entry = self.0.running.enter(&query);
        // Planning and EXPLAIN ANALYZE may take long before there is a stream.
        let result = tokio::select! {
            result = self.0.engine.do_get(ticket) => result,
            () = entry.cancelled() => Err(streams::cancelled()),
        };
        let result = result.map_err(|error| error.in_query(&query))?;
        Ok(streams::result(result, entry))
    }

    async fn flights(&self) -> Result<Vec<FlightInfo>, PlannerError> {
        let tables = listing::tables(&self.0.engine).await?;
        let flight = |table: listing::Listed| {
            let path = [CATALOG, &table.name.schema, &table.name.table];
            let path = path.map(str::to_owned).to_vec();
            let rows = table.rows.and_then(|rows| i64::try_from(rows).ok());
            let info = FlightInfo::new()
                .try_with_schema(&table.schema)
                .map_err(|error| PlannerError::Internal(error.to_string()))?;
            Ok(info
                .with_descriptor(FlightDescriptor::new_path(path))
                .with_total_records(rows.unwrap_or(-1))
                .with_total_bytes(-1))
        };
        tables.into_iter().map(flight).collect()
    }
}

#[tonic::async_trait]
impl FlightService for Surface {
    type HandshakeStream = Boxed<HandshakeResponse>;
    type ListFlightsStream = Boxed<FlightInfo>;
    type DoGetStream = Boxed<FlightData>;
    type DoPutStream = Boxed<PutResult>;
    type DoActionStream = Boxed<arrow_flight::Result>;
    type ListActionsStream = Boxed<ActionType>;
    type DoExchangeStream = Boxed<FlightData>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        self.0.handshake(request).await
    }

    /// One flight for each table; its descriptor gives the table's rows.
    async fn list_flights(
        &self,
        request: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        if !request.get_ref().expression.is_empty() {
            return Err(Status::unimplemented("ListFlights takes no criteria"));
        }
        let flights = self.flights().await.map_err(status)?;
        let flights = stream::iter(flights.into_iter().map(Ok));
        Ok(Response::new(Box::pin(flights)))
    }

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.info(request).await
    }

    /// Planning is short, so that the first answer is the last.
    async fn poll_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        let info = self.info(request).await?.into_inner();
        let poll = PollInfo {
            info: Some(info),
            flight_descriptor: None,
            progress: Some(1.0),
            expiration_time: None,
        };
        Ok(Response::new(poll))
    }

    async fn get_schema(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        let session = self.0.session(request.metadata())?;
        let schema = self.schema(&session, request.get_ref()).await;
        let schema = schema
            .and_then(|schema| flight_info::schema_bytes(&schema))
            .map_err(status)?;
        Ok(Response::new(SchemaResult { schema }))
    }

    async fn do_get(
        &self,
        request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        let stream = self.fetch(&request.get_ref().ticket).await;
        stream.map(Response::new).map_err(status)
    }

    async fn do_put(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        self.0.do_put(request).await
    }

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        self.0.do_action(request).await
    }

    async fn list_actions(
        &self,
        _request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        let actions = stream::iter(actions::list().into_iter().map(Ok));
        Ok(Response::new(Box::pin(actions)))
    }

    async fn do_exchange(
        &self,
        _request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented("Fulmar does not use DoExchange"))
    }
}
