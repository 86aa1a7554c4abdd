//! `FlightInfo`: what clients are told of a result before they fetch it. Pure. There is always a
//! schema, because some clients crash without one.

use arrow::datatypes::Schema;
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc, Ticket};
use bytes::Bytes;
use prost::Message;
use prost_types::Timestamp;

use crate::engine::{Endpoint, QueryPlan};
use crate::error::PlannerError;

/// Largest answer: the most widely used client takes no message over 16 MiB.
const MAX_BYTES: usize = 15 * 1024 * 1024;

/// A result of one or more plans: one for each row of parameters. Tickets hold until `expires`, and
/// until then they can be fetched again.
///
/// # Errors
/// When the plans differ in their schema, or the answer is too large for clients.
pub(crate) fn of_plans(
    plans: Vec<QueryPlan>,
    descriptor: FlightDescriptor,
    expires: Timestamp,
) -> Result<FlightInfo, PlannerError> {
    let Some(first) = plans.first() else {
        return Err(PlannerError::Internal("there is no plan".to_owned()));
    };
    if plans.iter().any(|plan| plan.schema != first.schema) {
        return Err(PlannerError::Invalid(
            "the rows of parameters give results of different types; run them one by one"
                .to_owned(),
        ));
    }
    let info = FlightInfo::new()
        .try_with_schema(&first.schema)
        .map_err(|error| PlannerError::Internal(error.to_string()))?
        .with_descriptor(descriptor)
        .with_total_records(-1)
        .with_total_bytes(-1)
        .with_ordered(plans.iter().any(|plan| plan.ordered))
        .with_app_metadata(first.app_metadata.clone());
    let endpoints = plans.into_iter().flat_map(|plan| plan.endpoints);
    checked(info.with_endpoints(endpoints.map(|one| endpoint(one, expires)).collect()))
}

/// A result that this planner makes whenever the ticket is fetched.
///
/// # Errors
/// When the answer is too large for clients.
pub(crate) fn of_ticket(
    ticket: Bytes,
    schema: &Schema,
    descriptor: FlightDescriptor,
) -> Result<FlightInfo, PlannerError> {
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(|error| PlannerError::Internal(error.to_string()))?
        .with_descriptor(descriptor)
        .with_endpoint(FlightEndpoint::new().with_ticket(Ticket::new(ticket)))
        .with_total_records(-1)
        .with_total_bytes(-1);
    checked(info)
}

/// A schema as an encapsulated IPC message, the form of all schemas in the protocol.
///
/// # Errors
/// When a type cannot be written.
pub(crate) fn schema_bytes(schema: &Schema) -> Result<Bytes, PlannerError> {
    let options = arrow::ipc::writer::IpcWriteOptions::default();
    let message: Result<IpcMessage, _> = SchemaAsIpc::new(schema, &options).try_into();
    message
        .map(|IpcMessage(bytes)| bytes)
        .map_err(|error| PlannerError::Internal(error.to_string()))
}

fn endpoint(endpoint: Endpoint, expires: Timestamp) -> FlightEndpoint {
    endpoint.locations.into_iter().fold(
        FlightEndpoint::new()
            .with_ticket(Ticket::new(endpoint.ticket))
            .with_expiration_time(expires),
        FlightEndpoint::with_location,
    )
}

fn checked(info: FlightInfo) -> Result<FlightInfo, PlannerError> {
    let bytes = info.encoded_len();
    if bytes > MAX_BYTES {
        return Err(PlannerError::Exhausted(format!(
            "the result's endpoints need a message of {bytes} bytes, clients take {MAX_BYTES}; \
             use endpoints=single"
        )));
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field};
    use model::QueryId;

    use super::*;

    fn plan(data_type: DataType, ticket_bytes: usize) -> QueryPlan {
        QueryPlan {
            query_id: QueryId("q".to_owned()),
            schema: Arc::new(Schema::new(vec![Field::new("a", data_type, true)])),
            endpoints: vec![Endpoint {
                ticket: vec![0; ticket_bytes].into(),
                locations: vec!["grpc+tcp://a:1".to_owned(), "grpc+tcp://b:1".to_owned()],
            }],
            ordered: false,
            app_metadata: Bytes::from_static(b"{}"),
        }
    }

    fn info(plans: Vec<QueryPlan>) -> Result<FlightInfo, PlannerError> {
        of_plans(plans, FlightDescriptor::new_cmd("c"), Timestamp::default())
    }

    #[test]
    fn locations_keep_their_order_and_plans_are_joined() {
        let one = info(vec![plan(DataType::Int64, 1)]).unwrap();
        let uris: Vec<_> = one.endpoint[0].location.iter().map(|l| &l.uri).collect();
        assert_eq!(uris, ["grpc+tcp://a:1", "grpc+tcp://b:1"]);
        assert_eq!((one.total_records, one.total_bytes), (-1, -1));
        assert!(one.try_decode_schema().is_ok());

        let two = info(vec![plan(DataType::Int64, 1), plan(DataType::Int64, 1)]);
        assert_eq!(two.unwrap().endpoint.len(), 2);
    }

    #[test]
    fn results_of_different_types_and_answers_too_large_are_refused() {
        let different = vec![plan(DataType::Int64, 1), plan(DataType::Utf8, 1)];
        assert!(matches!(info(different), Err(PlannerError::Invalid(_))));
        let large = vec![plan(DataType::Int64, MAX_BYTES)];
        assert!(matches!(info(large), Err(PlannerError::Exhausted(_))));
    }
}
