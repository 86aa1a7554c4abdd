//! Results as the streams of `DoGet`. Encoding itself is `wire::flight`; here a stream gets the query's
//! id into its errors and ends when the query is cancelled.

use std::pin::Pin;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::FlightData;
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use tonic::Status;
use wire::Category;
use wire::flight::EncodeError;

use super::running::Entry;
use crate::error::PlannerError;
use crate::stream::ResultStream;

/// The stream type of `DoGet`.
pub(crate) type DoGetStream = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

impl From<EncodeError> for PlannerError {
    fn from(error: EncodeError) -> Self {
        Self::of(&error)
    }
}

/// The rows of a ticket on their way to the client. When the client goes away the stream is dropped,
/// and the work behind it with it.
pub(crate) fn result(result: ResultStream, entry: Entry) -> DoGetStream {
    let report = result.report;
    let encoded =
        wire::flight::encode(result.schema, result.batches, async move { report.bytes() });
    Box::pin(stream::unfold(
        Some((Box::pin(encoded), entry)),
        async |state| {
            let (mut encoded, entry) = state?;
            let next = tokio::select! {
                next = encoded.next() => next?,
                () = entry.cancelled() => Err(cancelled()),
            };
            match next {
                Ok(message) => Some((Ok(message), Some((encoded, entry)))),
                Err(error) => {
                    let status = wire::status::status(&error, Some(entry.query()));
                    Some((Err(status), None))
                }
            }
        },
    ))
}

/// One batch that is there already.
pub(crate) fn batch(schema: SchemaRef, batch: RecordBatch) -> DoGetStream {
    let batches = stream::iter([Ok::<_, PlannerError>(batch)]);
    let encoded = wire::flight::encode(schema, batches, std::future::ready(Bytes::new()));
    Box::pin(encoded.map_err(|error| wire::status::status(&error, None)))
}

/// The error of a query that was cancelled.
pub(crate) fn cancelled() -> PlannerError {
    PlannerError::Other {
        category: Category::Cancelled,
        message: "the query was cancelled".to_owned(),
    }
}
