//! Batches of the result: small ones are put together, up to a number of rows and of bytes.

use arrow::array::Array;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

use crate::decoding::BATCH_BYTES;
use crate::error::ScanError;

/// Rows of the result that are still to be returned.
#[derive(Debug)]
pub(crate) struct Batches {
    coalescer: BatchCoalescer,
    /// A batch of more rows is large enough, and passes without being copied.
    large: usize,
    rows: u64,
    bytes: u64,
}

impl Batches {
    pub(crate) fn new(schema: SchemaRef, batch_rows: usize) -> Self {
        let large = batch_rows / 2;
        Self {
            coalescer: BatchCoalescer::new(schema, batch_rows)
                .with_biggest_coalesce_batch_size(Some(large)),
            large,
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds rows. What is there goes out without waiting for more when it is large, or when it is as
    /// many rows as are still wanted.
    pub(crate) fn push(
        &mut self,
        batch: RecordBatch,
        enough: Option<u64>,
    ) -> Result<(), ScanError> {
        self.rows += batch.num_rows() as u64;
        self.bytes += bytes(&batch);
        if batch.num_rows() > self.large {
            // Else the end of one row group would shift, and so copy, all rows of the next.
            self.flush()?;
        }
        self.coalescer.push_batch(batch).map_err(internal)?;
        if self.bytes >= BATCH_BYTES || enough.is_some_and(|rows| self.rows >= rows) {
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Option<RecordBatch> {
        self.coalescer.next_completed_batch()
    }

    /// Completes what is held back; `false` when nothing is.
    pub(crate) fn flush(&mut self) -> Result<bool, ScanError> {
        self.bytes = 0;
        if self.coalescer.is_empty() {
            return Ok(false);
        }
        self.coalescer.finish_buffered_batch().map_err(internal)?;
        Ok(self.coalescer.has_completed_batch())
    }
}

/// Bytes of the rows themselves, without what they share with others.
fn bytes(batch: &RecordBatch) -> u64 {
    let columns = batch.columns().iter();
    let sizes = columns.map(|column| column.to_data().get_slice_memory_size());
    sizes.map(|size| size.map_or(0, |size| size as u64)).sum()
}

// Arrow refuses only schemas that differ, and all batches come from one scan.
#[allow(clippy::needless_pass_by_value)]
fn internal(error: ArrowError) -> ScanError {
    ScanError::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};

    use super::*;

    fn texts(rows: usize, length: usize) -> RecordBatch {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(length); rows]));
        RecordBatch::try_from_iter([("text", texts)]).unwrap()
    }

    fn sizes(batches: &mut Batches) -> Vec<usize> {
        std::iter::from_fn(|| batches.next())
            .map(|batch| batch.num_rows())
            .collect()
    }

    #[test]
    fn small_batches_become_one_but_large_rows_do_not_pile_up() {
        let mut batches = Batches::new(texts(0, 0).schema(), 100);
        for _ in 0..5 {
            batches.push(texts(30, 1), None).unwrap();
        }
        assert_eq!(sizes(&mut batches), [100]);
        batches.push(texts(2, 5 << 20), None).unwrap();
        assert_eq!(sizes(&mut batches), [52]);
    }

    #[test]
    fn large_batches_pass_as_they_are() {
        let mut batches = Batches::new(texts(0, 0).schema(), 100);
        for rows in [100, 30, 100, 60, 20, 20] {
            batches.push(texts(rows, 1), None).unwrap();
        }
        assert_eq!(sizes(&mut batches), [100, 30, 100, 60]);
        assert!(batches.flush().unwrap());
        assert_eq!(sizes(&mut batches), [40]);
    }

    #[test]
    fn what_is_enough_waits_for_no_more() {
        let mut batches = Batches::new(texts(0, 0).schema(), 100);
        batches.push(texts(7, 1), Some(10)).unwrap();
        assert!(sizes(&mut batches).is_empty());
        batches.push(texts(3, 1), Some(10)).unwrap();
        assert_eq!(sizes(&mut batches), [10]);
    }
}
