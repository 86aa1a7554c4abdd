//! One endpoint: its locations tried in order until one of them answers, then its batches and the
//! scan reports that come with them. Once a batch has arrived, an error is final: rows must not be
//! delivered twice.

use arrow::record_batch::RecordBatch;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{FlightEndpoint, Ticket};
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use model::ScanReport;
use tokio::sync::mpsc::Sender;
use tonic::transport::Channel;

use crate::connection::Client;
use crate::error::ClientError;

/// The location that means "where the plan came from".
const REUSE_CONNECTION: &str = "arrow-flight-reuse-connection:";

/// What an endpoint gives, in the order in which it comes.
#[derive(Debug)]
pub enum Event {
    /// Rows.
    Batch(RecordBatch),
    /// What a scan did.
    Report(Box<ScanReport>),
    /// The endpoint failed.
    Failed(ClientError),
    /// Everything has come. An endpoint that stops without saying so has lost rows.
    End,
}

/// Fetches an endpoint into `events`; ends early when nobody listens any more.
pub(crate) async fn fetch(client: Client, endpoint: FlightEndpoint, events: Sender<Event>) {
    let mut errors = Vec::new();
    for location in locations(&endpoint) {
        match first_event(&client, &endpoint, location).await {
            Ok((first, rest)) => return forward(first, rest, &events).await,
            Err(error) => errors.push(error),
        }
    }
    if let Some(error) = most_telling(errors) {
        let _ = events.send(Event::Failed(error)).await;
    }
}

type Events = futures::stream::BoxStream<'static, Event>;

/// Opens the endpoint at one location and waits until it has sent something.
async fn first_event(
    client: &Client,
    endpoint: &FlightEndpoint,
    location: Option<&str>,
) -> Result<(Option<Event>, Events), ClientError> {
    let (service, name) = match location {
        Some(location) => (client.service_at(location)?, location),
        None => (client.planner_service(), client.location()),
    };
    let ticket = endpoint.ticket.clone().unwrap_or_default();
    let mut events = open(service, ticket, name.to_owned()).await?.boxed();
    match events.next().await {
        Some(Event::Failed(error)) => Err(error),
        first => Ok((first, events)),
    }
}

async fn open(
    mut service: FlightServiceClient<Channel>,
    ticket: Ticket,
    location: String,
) -> Result<impl Stream<Item = Event>, ClientError> {
    let answer = service.do_get(ticket).await;
    let stream = answer
        .map_err(|status| ClientError::from_status(&location, &status))?
        .into_inner()
        .map_err(Into::into);
    Ok(FlightDataDecoder::new(stream).flat_map(move |message| {
        let events = match message {
            Ok(message) => events_of(message.payload, &message.inner.app_metadata),
            Err(error) => vec![Event::Failed(ClientError::from_flight(&location, error))],
        };
        futures::stream::iter(events)
    }))
}

fn events_of(payload: DecodedPayload, app_metadata: &Bytes) -> Vec<Event> {
    let mut events: Vec<Event> = reports(app_metadata)
        .into_iter()
        .map(|report| Event::Report(Box::new(report)))
        .collect();
    if let DecodedPayload::RecordBatch(batch) = payload {
        events.push(Event::Batch(batch));
    }
    events
}

/// The scan reports in a message: one, or several of a statement that the planner ran. Metadata of
/// another service is not for us.
fn reports(app_metadata: &[u8]) -> Vec<ScanReport> {
    if app_metadata.is_empty() {
        return Vec::new();
    }
    serde_json::from_slice::<ScanReport>(app_metadata)
        .map(|report| vec![report])
        .or_else(|_| serde_json::from_slice(app_metadata))
        .unwrap_or_default()
}

async fn forward(first: Option<Event>, mut rest: Events, events: &Sender<Event>) {
    let mut next = first;
    while let Some(event) = next {
        let failed = matches!(event, Event::Failed(_));
        if events.send(event).await.is_err() || failed {
            return;
        }
        next = rest.next().await;
    }
    let _ = events.send(Event::End).await;
}

/// The locations to try in order; `None` is the planner.
fn locations(endpoint: &FlightEndpoint) -> Vec<Option<&str>> {
    if endpoint.location.is_empty() {
        return vec![None];
    }
    let locations = endpoint.location.iter().map(|location| {
        let uri = location.uri.as_str();
        (!uri.is_empty() && !uri.starts_with(REUSE_CONNECTION)).then_some(uri)
    });
    locations.collect()
}

/// A location that answered says more than one that could not be reached.
fn most_telling(errors: Vec<ClientError>) -> Option<ClientError> {
    let mut unavailable = None;
    for error in errors {
        if !error.is_unavailable() {
            return Some(error);
        }
        unavailable = Some(error);
    }
    unavailable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuse_connection_and_no_location_at_all_mean_the_planner() {
        let none = FlightEndpoint::new();
        assert_eq!(locations(&none), [None]);
        let several = FlightEndpoint::new()
            .with_location("grpc+tcp://a:1")
            .with_location("arrow-flight-reuse-connection://?");
        assert_eq!(locations(&several), [Some("grpc+tcp://a:1"), None]);
    }

    #[test]
    fn the_error_of_a_server_that_answered_is_the_one_shown() {
        let unreachable = || ClientError::Unreachable {
            location: "a:1".to_owned(),
            reason: "refused".to_owned(),
        };
        let expired = ClientError::Refused {
            code: tonic::Code::Unauthenticated,
            message: "ticket expired".to_owned(),
        };
        let shown = most_telling(vec![unreachable(), expired, unreachable()]).unwrap();
        assert_eq!(shown.to_string(), "ticket expired");
        let shown = most_telling(vec![unreachable()]).unwrap();
        assert_eq!(shown.to_string(), "cannot reach a:1: refused");
    }

    #[test]
    fn metadata_that_is_no_scan_report_is_left_alone() {
        assert!(reports(b"").is_empty());
        assert!(reports(b"anything").is_empty());
        assert!(reports(b"{\"query_id\":\"q\"}").is_empty());
    }
}
