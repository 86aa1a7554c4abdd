//! One stage of a row group under way: from decoded rows to those that it lets through. Does no I/O.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;
use model::TableName;
use store::StoreError;

use crate::decode::Decoder;
use crate::error::ScanError;
use crate::kept::Kept;
use crate::layout::Layout;
use crate::left::{Left, LeftBuilder};
use crate::rows::RowSet;
use crate::stages::Stage;

/// One stage of a row group.
pub(crate) struct Running {
    pub(crate) stage: usize,
    pub(crate) decoder: Decoder,
    /// Rows that a batch of it has at most.
    pub(crate) batch_rows: u64,
    pub(crate) ahead: Ahead,
    pub(crate) left: Left,
    /// What earlier stages kept of those rows; `None` in the first.
    pub(crate) kept: Option<Kept>,
    pub(crate) next: Next,
}

/// What a stage lets through, for the next one.
pub(crate) struct Next {
    pub(crate) left: LeftBuilder,
    pub(crate) kept: Kept,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

impl Next {
    pub(crate) fn new(stage: &Stage, rows: u64) -> Self {
        Self {
            left: LeftBuilder::new(rows),
            kept: Kept::new(Arc::clone(stage.kept_schema())),
        }
    }
}

impl Running {
    /// The decoded rows that the stage lets through: rows of the result when it is the last one,
    /// otherwise they are put by.
    pub(crate) fn pass(
        &mut self,
        stage: &Stage,
        layout: &Layout,
        decoded: &RecordBatch,
        sure: &RowSet,
        is_last: bool,
        table: &TableName,
    ) -> Result<Option<RecordBatch>, ScanError> {
        let ranges = self.ahead.take(decoded.num_rows() as u64);
        let given = self.left.over(&ranges);
        let own = match &given {
            Some(bits) => &filtered(decoded, bits)?,
            None => decoded,
        };
        let own = layout.arrange(own)?;
        let kept = self
            .kept
            .as_mut()
            .map(|kept| kept.take(own.num_rows()))
            .transpose()?;
        let sure = ranges.iter().all(|range| sure.covers(range));
        let passed = stage
            .pass(kept.as_ref(), &own, sure)
            .map_err(|error| ScanError::Filter {
                table: table.clone(),
                reason: error.strip_backtrace(),
            })?;
        if is_last {
            return Ok(Some(passed.rows).filter(|rows| rows.num_rows() > 0));
        }
        self.next
            .left
            .add(&ranges, given.as_ref(), passed.bits.as_ref());
        self.next.kept.push(passed.rows);
        Ok(None)
    }
}

fn filtered(batch: &RecordBatch, bits: &BooleanBuffer) -> Result<RecordBatch, ScanError> {
    let bits = BooleanArray::new(bits.clone(), None);
    filter_record_batch(batch, &bits).map_err(|error| ScanError::Internal(error.to_string()))
}

/// The ranges of rows that are still to come.
#[derive(Debug)]
pub(crate) struct Ahead(pub(crate) VecDeque<Range<u64>>);

impl Ahead {
    /// The next `rows` rows.
    fn take(&mut self, mut rows: u64) -> Vec<Range<u64>> {
        let mut taken = Vec::new();
        while rows > 0
            && let Some(range) = self.0.pop_front()
        {
            let end = range.end.min(range.start + rows);
            rows -= end - range.start;
            taken.push(range.start..end);
            if end < range.end {
                self.0.push_front(end..range.end);
            }
        }
        taken
    }

    /// The row after the next `rows` rows.
    pub(crate) fn end_of(&self, mut rows: u64) -> u64 {
        let mut end = 0;
        for range in &self.0 {
            end = range.end.min(range.start + rows);
            rows -= end - range.start;
            if rows == 0 {
                break;
            }
        }
        end
    }

    /// A column that ends before its row group does would lose rows unnoticed.
    pub(crate) fn must_be_done(&self, path: &str, row_group: usize) -> Result<(), StoreError> {
        let Some(range) = self.0.front() else {
            return Ok(());
        };
        Err(StoreError::Corrupt {
            path: path.to_owned(),
            reason: format!("row group {row_group} ends before row {}", range.start),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_across_ranges() {
        let mut ahead = Ahead(vec![0..3, 10..12, 20..30].into());
        assert_eq!(ahead.take(4), [0..3, 10..11]);
        assert_eq!(
            (ahead.end_of(1), ahead.end_of(3), ahead.end_of(99)),
            (12, 22, 30)
        );
        assert_eq!(ahead.take(2), [11..12, 20..21]);
        assert_eq!(ahead.take(100).first(), Some(&(21..30)));
        assert!(ahead.take(1).is_empty());
    }
}
