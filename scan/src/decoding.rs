//! Decoding one row group of a wave, and the batches that come of it. Keeps track of which rows a batch
//! holds; does no I/O.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use store::{Fetched, StoreError};

use crate::decode::{ChunkBytes, Decoder, RowGroupBytes};
use crate::error::ScanError;
use crate::layout::Layout;
use crate::opened::{Indexes, OpenedFile};
use crate::read_plan::RowGroupRead;

/// Bytes that a decoded batch should not exceed by much.
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// The rows of one row group that are still to be decoded.
pub(crate) struct Decoding {
    decoder: Decoder,
    ahead: Ahead,
    read: RowGroupRead,
}

impl std::fmt::Debug for Decoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoding")
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}

/// Decoded rows of the file.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Those that belong to the task.
    pub(crate) batch: RecordBatch,
    /// How many were decoded for it.
    pub(crate) decoded: u64,
    /// Whether all of them surely match.
    pub(crate) sure: bool,
}

impl Decoding {
    /// Starts decoding what was fetched of a row group.
    ///
    /// # Errors
    /// When its pages are broken, or were not fetched.
    pub(crate) fn new(
        file: &OpenedFile,
        layout: &Layout,
        indexes: &Indexes,
        read: RowGroupRead,
        fetched: Option<&Fetched>,
        batch_rows: usize,
    ) -> Result<Self, ScanError> {
        let decoder = match (&layout.levels, fetched) {
            (Some(levels), Some(fetched)) => {
                let bytes = row_group_bytes(file, indexes, &read, fetched)?;
                let batch_rows = batch_rows.min(rows_of_a_batch(file, &read));
                Decoder::new(file.path(), levels, &bytes, &read.rows, batch_rows)?
            }
            _ => Decoder::without_columns(read.rows.count(), batch_rows),
        };
        Ok(Self {
            decoder,
            ahead: Ahead(read.rows.ranges().to_vec().into()),
            read,
        })
    }

    /// Whether all rows surely match.
    pub(crate) fn settled(&self) -> bool {
        self.read.settled
    }

    /// The next rows, or `None` after the last.
    ///
    /// # Errors
    /// When a page is broken.
    pub(crate) fn next(&mut self) -> Result<Option<Rows>, ScanError> {
        let Some(batch) = self.decoder.next()? else {
            return Ok(None);
        };
        let decoded = batch.num_rows() as u64;
        let within = &self.read.within;
        let (mut before, mut inside, mut sure) = (0, 0, true);
        for rows in self.ahead.take(decoded) {
            let kept = rows.start.max(within.start)..rows.end.min(within.end);
            before += rows.end.min(within.start).saturating_sub(rows.start);
            inside += kept.end.saturating_sub(kept.start);
            sure &= self.read.sure.covers(&kept);
        }
        let number = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let (before, inside) = (number(before), number(inside));
        Ok(Some(Rows {
            batch: if inside == batch.num_rows() {
                batch
            } else {
                batch.slice(before, inside)
            },
            decoded,
            sure,
        }))
    }
}

fn row_group_bytes(
    file: &OpenedFile,
    indexes: &Indexes,
    read: &RowGroupRead,
    fetched: &Fetched,
) -> Result<RowGroupBytes, StoreError> {
    let leaves = file.metadata().file_metadata().schema_descr().num_columns();
    let mut chunks: Vec<Option<ChunkBytes>> = vec![None; leaves];
    for chunk in &read.chunks {
        let index = indexes
            .get(read.row_group, chunk.leaf)
            .filter(|_| chunk.by_page);
        let pages = index.map(|index| index.pages.page_locations().clone());
        let bytes = ChunkBytes::new(fetched, &chunk.ranges, pages);
        let bytes = bytes.ok_or_else(|| StoreError::Corrupt {
            path: file.path().to_owned(),
            reason: format!("column chunk {} overlaps another", chunk.leaf),
        })?;
        if let Some(place) = chunks.get_mut(chunk.leaf) {
            *place = Some(bytes);
        }
    }
    Ok(RowGroupBytes {
        metadata: Arc::clone(file.metadata()),
        row_group: read.row_group,
        chunks,
    })
}

/// Rows of about [`BATCH_BYTES`], by the sizes in the footer.
fn rows_of_a_batch(file: &OpenedFile, read: &RowGroupRead) -> usize {
    let chunks = read
        .chunks
        .iter()
        .filter_map(|chunk| file.chunk(read.row_group, chunk.leaf));
    let bytes: u64 = chunks
        .map(|chunk| chunk.uncompressed_size().unsigned_abs())
        .sum();
    let bytes_of_a_row = bytes
        .checked_div(file.rows(read.row_group))
        .unwrap_or_default()
        .max(1);
    usize::try_from((BATCH_BYTES / bytes_of_a_row).max(1)).unwrap_or(usize::MAX)
}

/// The ranges of rows that are still to come.
#[derive(Debug)]
struct Ahead(VecDeque<Range<u64>>);

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
}

/// Batches of the result: small ones are put together.
#[derive(Debug)]
pub(crate) struct Batches {
    coalescer: BatchCoalescer,
}

impl Batches {
    pub(crate) fn new(schema: SchemaRef, batch_rows: usize) -> Self {
        let coalescer = BatchCoalescer::new(schema, batch_rows)
            .with_biggest_coalesce_batch_size(Some(batch_rows / 2));
        Self { coalescer }
    }

    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<(), ScanError> {
        self.coalescer.push_batch(batch).map_err(internal)
    }

    pub(crate) fn next(&mut self) -> Option<RecordBatch> {
        self.coalescer.next_completed_batch()
    }

    /// Completes what is held back; `false` when nothing is.
    pub(crate) fn flush(&mut self) -> Result<bool, ScanError> {
        if self.coalescer.is_empty() {
            return Ok(false);
        }
        self.coalescer.finish_buffered_batch().map_err(internal)?;
        Ok(self.coalescer.has_completed_batch())
    }
}

// Arrow refuses only schemas that differ, and all batches come from one shape.
#[allow(clippy::needless_pass_by_value)]
fn internal(error: arrow::error::ArrowError) -> ScanError {
    ScanError::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_across_ranges() {
        let mut ahead = Ahead(vec![0..3, 10..12, 20..30].into());
        assert_eq!(ahead.take(4), [0..3, 10..11]);
        assert_eq!(ahead.take(2), [11..12, 20..21]);
        assert_eq!(ahead.take(100).first(), Some(&(21..30)));
        assert!(ahead.take(1).is_empty());
    }
}
