//! `FlightData` back to record batches, for our own clients of our own streams.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};

use crate::category::{Categorized, Category};
use crate::status;

/// Why a result could not be read to its end.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReadError {
    /// The other side, or the way to it, failed.
    #[error("{message}")]
    Remote {
        /// The category of what it answered.
        category: Category,
        /// What it said.
        message: String,
    },
    /// What it sent is not a stream of Arrow batches.
    #[error("result stream cannot be read: {message}")]
    Malformed {
        /// What is wrong.
        message: String,
    },
}

impl Categorized for ReadError {
    fn category(&self) -> Category {
        match self {
            Self::Remote { category, .. } => *category,
            Self::Malformed { .. } => Category::Internal,
        }
    }
}

impl From<FlightError> for ReadError {
    fn from(error: FlightError) -> Self {
        match error {
            FlightError::Tonic(status) => Self::Remote {
                category: status::category_of(&status),
                message: status.message().to_owned(),
            },
            other => Self::Malformed {
                message: status::chain(&other),
            },
        }
    }
}

/// Reads a result: give it the answer of `do_get`.
pub fn decode<S, E>(messages: S) -> Batches
where
    S: Stream<Item = Result<FlightData, E>> + Send + 'static,
    E: Into<FlightError> + 'static,
{
    Batches {
        decoder: FlightDataDecoder::new(messages.map_err(Into::into)),
        schema: None,
        app_metadata: Bytes::new(),
        rows: 0,
    }
}

/// The batches of a result, without empty ones, and what came beside them.
#[derive(Debug)]
pub struct Batches {
    decoder: FlightDataDecoder,
    schema: Option<SchemaRef>,
    app_metadata: Bytes,
    rows: u64,
}

impl Batches {
    /// Waits for the schema, which is the first message: from then on the result is known to be
    /// readable.
    ///
    /// # Errors
    /// When an error or something else came instead.
    pub async fn schema(&mut self) -> Result<SchemaRef, ReadError> {
        if let Some(schema) = &self.schema {
            return Ok(schema.clone());
        }
        let malformed = |message: &str| ReadError::Malformed {
            message: message.to_owned(),
        };
        let first = self.decoder.next().await;
        match first.ok_or_else(|| malformed("it is empty"))??.payload {
            DecodedPayload::Schema(schema) => Ok(self.schema.insert(schema).clone()),
            _ => Err(malformed("it does not begin with a schema")),
        }
    }

    /// The last `app_metadata` that came: after the end, the scan report as JSON.
    pub fn app_metadata(&self) -> &Bytes {
        &self.app_metadata
    }

    /// The rows of the batches handed out so far: where a broken result goes on.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch, ReadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let message = match ready!(self.decoder.poll_next_unpin(cx)) {
                Some(Ok(message)) => message,
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            };
            if !message.inner.app_metadata.is_empty() {
                self.app_metadata = message.inner.app_metadata.clone();
            }
            match message.payload {
                DecodedPayload::Schema(schema) => self.schema = Some(schema),
                DecodedPayload::RecordBatch(batch) if batch.num_rows() > 0 => {
                    self.rows += batch.num_rows() as u64;
                    return Poll::Ready(Some(Ok(batch)));
                }
                DecodedPayload::RecordBatch(_) | DecodedPayload::None => {}
            }
        }
    }
}
