//! How many rows a limit still lets through, shared by the tasks of a partition.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow::record_batch::RecordBatch;

/// The rows that may still be returned.
#[derive(Debug)]
pub(crate) struct Budget(Option<AtomicU64>);

impl Budget {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self(limit.map(AtomicU64::new))
    }

    /// Rows left, when there is a limit.
    pub(crate) fn left(&self) -> Option<u64> {
        self.0.as_ref().map(|left| left.load(Ordering::Relaxed))
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left() == Some(0)
    }

    /// As much of the batch as is left, taken off the budget.
    pub(crate) fn spend(&self, batch: RecordBatch) -> RecordBatch {
        let Some(left) = &self.0 else {
            return batch;
        };
        let rows = batch.num_rows() as u64;
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(rows))
        });
        match usize::try_from(before.unwrap_or_default()) {
            Ok(left) if left < batch.num_rows() => batch.slice(0, left),
            _ => batch,
        }
    }
}
