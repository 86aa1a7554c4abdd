//! Rows that earlier stages let through, waiting for the columns of a later one.

use std::collections::VecDeque;

use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::error::ScanError;

/// Rows in their order.
#[derive(Debug)]
pub(crate) struct Kept {
    schema: SchemaRef,
    batches: VecDeque<RecordBatch>,
    bytes: usize,
}

impl Kept {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            batches: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, batch: RecordBatch) {
        if batch.num_rows() > 0 {
            self.bytes += batch.get_array_memory_size();
            self.batches.push_back(batch);
        }
    }

    /// Memory that all rows held that were pushed.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next `rows` rows.
    ///
    /// # Errors
    /// When there are fewer, which would be a fault of this crate.
    pub(crate) fn take(&mut self, mut rows: usize) -> Result<RecordBatch, ScanError> {
        let mut taken = Vec::new();
        while rows > 0 {
            let Some(batch) = self.batches.pop_front() else {
                return Err(ScanError::Internal(format!(
                    "{rows} rows more than were kept"
                )));
            };
            if batch.num_rows() > rows {
                self.batches
                    .push_front(batch.slice(rows, batch.num_rows() - rows));
                taken.push(batch.slice(0, rows));
                break;
            }
            rows -= batch.num_rows();
            taken.push(batch);
        }
        match <[RecordBatch; 1]>::try_from(taken) {
            Ok([only]) => Ok(only),
            Err(taken) => concat_batches(&self.schema, &taken)
                .map_err(|error| ScanError::Internal(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array};

    use super::*;

    fn batch(values: &[i32]) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
        RecordBatch::try_from_iter([("x", column)]).unwrap()
    }

    #[test]
    fn rows_are_taken_across_batches() {
        let mut kept = Kept::new(batch(&[]).schema());
        kept.push(batch(&[1, 2, 3]));
        kept.push(batch(&[]));
        kept.push(batch(&[4]));
        kept.push(batch(&[5, 6]));
        assert_eq!(kept.take(2).unwrap(), batch(&[1, 2]));
        assert_eq!(kept.take(0).unwrap(), batch(&[]));
        assert_eq!(kept.take(3).unwrap(), batch(&[3, 4, 5]));
        assert!(kept.take(2).is_err());
    }
}
