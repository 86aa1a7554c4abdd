//! Record batches to `FlightData`.

use std::collections::VecDeque;
use std::pin::Pin;

use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow_flight::FlightData;
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions,
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};

use super::conform::{compact, conform};
use super::size::slices;
use crate::category::{Categorized, Category};

/// About how many bytes of a batch go into one message. Receivers on default limits take 4 MiB.
pub const TARGET_BYTES: usize = 1024 * 1024;

/// Largest message sent, which only single rows and dictionaries can reach: the most widely used
/// client, ADBC, takes no more.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Room for what surrounds header and body in a message.
const ENVELOPE_BYTES: usize = 1024;

/// A result that cannot be sent as it was promised.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// One row, or one column's dictionary, is too large.
    #[error(
        "a row of the result has {bytes} bytes, at most {limit} fit in one message: select fewer columns or shorten the value"
    )]
    RowTooLarge {
        /// The bytes of the message that holds the row.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The number of columns differs.
    #[error("result has {found} columns, {promised} were promised")]
    Columns {
        /// In the promised schema.
        promised: usize,
        /// In the batch.
        found: usize,
    },
    /// A column holds other values.
    #[error("column {column:?} of the result is {found}, promised was {promised}")]
    Type {
        /// The column.
        column: String,
        /// Its type in the promised schema.
        promised: DataType,
        /// Its type in the batch.
        found: DataType,
    },
    /// A column was promised without nulls.
    #[error("column {column:?} of the result has nulls, promised was none")]
    Nulls {
        /// The column.
        column: String,
    },
    /// Arrow failed to encode a batch.
    #[error("result cannot be encoded")]
    Arrow(#[source] ArrowError),
}

impl Categorized for EncodeError {
    fn category(&self) -> Category {
        match self {
            Self::RowTooLarge { .. } => Category::Exhausted,
            Self::Columns { .. } | Self::Type { .. } | Self::Nulls { .. } | Self::Arrow(_) => {
                Category::Internal
            }
        }
    }
}

/// Encodes a result of the promised schema. `app_metadata` is awaited once the last batch has been
/// encoded and goes out with the closing message; after an error there is no closing message.
pub fn encode<S, E, M>(
    schema: SchemaRef,
    batches: S,
    app_metadata: M,
) -> impl Stream<Item = Result<FlightData, E>> + Send + 'static
where
    S: Stream<Item = Result<RecordBatch, E>> + Send + 'static,
    E: From<EncodeError> + Send + 'static,
    M: Future<Output = Bytes> + Send + 'static,
{
    let encoding = Encoding {
        encoder: Encoder::new(schema),
        batches: Box::pin(batches),
        slices: VecDeque::new(),
        messages: VecDeque::new(),
        app_metadata: Some(Box::pin(app_metadata)),
    };
    stream::unfold(encoding, |mut encoding| async move {
        let message = encoding.next().await?;
        if message.is_err() {
            encoding.stop();
        }
        Some((message, encoding))
    })
}

struct Encoding<E> {
    encoder: Encoder,
    batches: Pin<Box<dyn Stream<Item = Result<RecordBatch, E>> + Send>>,
    /// Slices of the batch that came last.
    slices: VecDeque<RecordBatch>,
    /// What is encoded and not yet handed out.
    messages: VecDeque<FlightData>,
    /// Gone when nothing more is to be encoded.
    app_metadata: Option<Pin<Box<dyn Future<Output = Bytes> + Send>>>,
}

impl<E: From<EncodeError> + Send + 'static> Encoding<E> {
    async fn next(&mut self) -> Option<Result<FlightData, E>> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Some(Ok(message));
            }
            if let Some(slice) = self.slices.pop_front() {
                if let Err(error) = self.encoder.batch(&slice, &mut self.messages) {
                    return Some(Err(error.into()));
                }
                continue;
            }
            self.app_metadata.as_ref()?;
            match self.batches.next().await {
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(Ok(batch)) => self.slices = slices(batch, TARGET_BYTES),
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    // What the batches came from makes its last entries in the report when it goes.
                    self.batches = Box::pin(stream::empty());
                    let app_metadata = self.app_metadata.take()?.await;
                    if let Err(error) = self.encoder.end(app_metadata, &mut self.messages) {
                        return Some(Err(error.into()));
                    }
                }
            }
        }
    }

    /// After an error nothing follows, and what the batches come from is let go.
    fn stop(&mut self) {
        self.messages.clear();
        self.slices.clear();
        self.app_metadata = None;
        self.batches = Box::pin(stream::empty());
    }
}

struct Encoder {
    schema: SchemaRef,
    schema_sent: bool,
    /// A slice without rows of the last batch, when there are dictionaries: the closing batch uses
    /// theirs, so that they are not replaced by empty ones.
    closing: Option<RecordBatch>,
    generator: IpcDataGenerator,
    options: IpcWriteOptions,
    dictionaries: DictionaryTracker,
    context: IpcWriteContext,
}

impl Encoder {
    fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            schema_sent: false,
            closing: None,
            generator: IpcDataGenerator::default(),
            options: IpcWriteOptions::default(),
            // Batches may each bring a dictionary of their own.
            dictionaries: DictionaryTracker::new(false),
            context: IpcWriteContext::default(),
        }
    }

    fn batch(
        &mut self,
        slice: &RecordBatch,
        messages: &mut VecDeque<FlightData>,
    ) -> Result<(), EncodeError> {
        let batch = compact(&conform(slice, &self.schema)?, TARGET_BYTES)?;
        self.schema(messages);
        self.record_batch(&batch, Bytes::new(), messages)?;
        if !self.dictionaries.dict_id().is_empty() {
            self.closing = Some(batch.slice(0, 0));
        }
        Ok(())
    }

    fn end(
        &mut self,
        app_metadata: Bytes,
        messages: &mut VecDeque<FlightData>,
    ) -> Result<(), EncodeError> {
        self.schema(messages);
        let empty = || RecordBatch::new_empty(self.schema.clone());
        let closing = self.closing.take().unwrap_or_else(empty);
        self.record_batch(&closing, app_metadata, messages)
    }

    fn schema(&mut self, messages: &mut VecDeque<FlightData>) {
        if !self.schema_sent {
            self.schema_sent = true;
            let encoded = self.generator.schema_to_bytes_with_dictionary_tracker(
                &self.schema,
                &mut self.dictionaries,
                &self.options,
            );
            messages.push_back(encoded.into());
        }
    }

    fn record_batch(
        &mut self,
        batch: &RecordBatch,
        app_metadata: Bytes,
        messages: &mut VecDeque<FlightData>,
    ) -> Result<(), EncodeError> {
        let (dictionaries, batch) = self
            .generator
            .encode(
                batch,
                &mut self.dictionaries,
                &self.options,
                &mut self.context,
            )
            .map_err(EncodeError::Arrow)?;
        for dictionary in dictionaries {
            messages.push_back(message(dictionary, Bytes::new())?);
        }
        messages.push_back(message(batch, app_metadata)?);
        Ok(())
    }
}

fn message(encoded: EncodedData, app_metadata: Bytes) -> Result<FlightData, EncodeError> {
    let bytes = encoded.ipc_message.len() + encoded.arrow_data.len() + app_metadata.len();
    let limit = MAX_MESSAGE_BYTES - ENVELOPE_BYTES;
    if bytes > limit {
        return Err(EncodeError::RowTooLarge { bytes, limit });
    }
    Ok(FlightData::from(encoded).with_app_metadata(app_metadata))
}
