//! A result on its way: its schema, its batches and the report that is known when they have ended.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::error::PlannerError;

/// The rows of a ticket.
pub struct ResultStream {
    /// The schema of every batch: the one that was promised.
    pub schema: SchemaRef,
    /// The batches. Dropping them stops the work behind them.
    pub batches: BoxStream<'static, Result<RecordBatch, PlannerError>>,
    /// The report, once `batches` has ended.
    pub report: Report,
}

impl fmt::Debug for ResultStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultStream")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// The scan report of a stream: written when the last batch has been taken, read after it.
#[derive(Clone, Debug, Default)]
pub struct Report(Arc<OnceLock<Bytes>>);

impl Report {
    /// The report as JSON; empty while the stream has not ended or when nothing was reported.
    pub fn bytes(&self) -> Bytes {
        self.0.get().cloned().unwrap_or_default()
    }

    pub(crate) fn set(&self, json: Bytes) {
        // A stream ends once; a second report could only repeat the first.
        let _ = self.0.set(json);
    }
}
