//! From the fetched bytes of one row group to batches of the file's own columns. Does no I/O.
//!
//! Files are written by anyone, and a broken page may make a decoder panic: every call into it is
//! caught, and a panic is an error that names the file, like any other broken page.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatchOptions;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use bytes::{Buf, Bytes};
use parquet::arrow::FieldLevels;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, RowGroups, RowSelection, RowSelector,
};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};
use store::{Fetched, StoreError, check_page_header, guarded};

use crate::rows::RowSet;
use crate::streamed::Pages;

/// The fetched bytes of one row group, by leaf column.
#[derive(Debug)]
pub(crate) struct RowGroupBytes {
    pub(crate) metadata: Arc<ParquetMetaData>,
    pub(crate) row_group: usize,
    pub(crate) chunks: Vec<Option<ChunkBytes>>,
}

/// The fetched bytes of one column chunk.
#[derive(Clone, Debug)]
pub(crate) struct ChunkBytes {
    source: Source,
    length: u64,
    pages: Option<Vec<PageLocation>>,
}

#[derive(Clone, Debug)]
enum Source {
    /// All that is needed.
    Here(Arc<Vec<(Range<u64>, Bytes)>>),
    /// Pages that come and go as the decoder goes on.
    Streamed(Pages),
}

impl ChunkBytes {
    /// Finds the bytes of `ranges`, which are ascending; `None` when some were not fetched.
    /// `pages` says where pages lie when not all of the chunk was fetched.
    pub(crate) fn new(
        fetched: &Fetched,
        ranges: &[Range<u64>],
        pages: Option<Vec<PageLocation>>,
    ) -> Option<Self> {
        let found = ranges
            .iter()
            .map(|range| Some((range.clone(), fetched.get(range)?)));
        Some(Self {
            length: ranges.iter().map(|range| range.end - range.start).sum(),
            source: Source::Here(Arc::new(found.collect::<Option<_>>()?)),
            pages,
        })
    }

    /// The pages of a chunk of this length, as they come.
    pub(crate) fn streamed(pages: Pages, length: u64) -> Self {
        Self {
            source: Source::Streamed(pages),
            length,
            pages: None,
        }
    }

    fn from(&self, start: u64) -> ParquetResult<Bytes> {
        let found = match &self.source {
            Source::Streamed(pages) => pages.from(start),
            Source::Here(ranges) => {
                let after = ranges.partition_point(|(range, _)| range.end <= start);
                let found = ranges.get(after).filter(|(range, _)| range.start <= start);
                found.map(|(range, bytes)| {
                    let skipped = usize::try_from(start - range.start).unwrap_or(bytes.len());
                    bytes.slice(skipped.min(bytes.len())..)
                })
            }
        };
        found.ok_or_else(|| {
            ParquetError::General(format!("a page at byte {start} was not expected"))
        })
    }
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for ChunkBytes {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let bytes = self.from(start)?;
        Ok(HeaderReader {
            unchecked: Some(bytes.clone()),
            bytes: bytes.reader(),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.from(start)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!(
                "a page at byte {start} is {length} bytes long, but only {} are left",
                bytes.len()
            )));
        }
        let bytes = bytes.slice(..length);
        // When it knows where pages lie, the decoder asks for a page with its header, else for what
        // follows a header.
        if self.pages.is_some() {
            check_page_header(&bytes).map_err(ParquetError::General)?;
        }
        Ok(bytes)
    }
}

/// Reads the header of a page. It is checked when the first byte is asked for: the decoder also opens
/// readers that it does not read.
#[derive(Debug)]
pub(crate) struct HeaderReader {
    bytes: bytes::buf::Reader<Bytes>,
    unchecked: Option<Bytes>,
}

impl io::Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(bytes) = self.unchecked.take() {
            check_page_header(&bytes)
                .map_err(|flaw| io::Error::new(io::ErrorKind::InvalidData, flaw))?;
        }
        self.bytes.read(buffer)
    }
}

impl RowGroups for RowGroupBytes {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata.row_group(self.row_group).num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let chunk = self
            .chunks
            .get(leaf)
            .and_then(Option::as_ref)
            .ok_or_else(|| ParquetError::General(format!("column chunk {leaf} was not fetched")))?;
        let reader = SerializedPageReader::new(
            Arc::new(chunk.clone()),
            self.metadata.row_group(self.row_group).column(leaf),
            self.num_rows(),
            chunk.pages.clone(),
        )?;
        Ok(Box::new(OneChunk(Some(Box::new(reader)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.row_group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of one column chunk, as the decoder asks for them.
struct OneChunk(Option<Box<dyn PageReader>>);

impl Iterator for OneChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

/// Decodes the selected rows of one row group.
pub(crate) struct Decoder {
    path: String,
    state: State,
}

enum State {
    Pages(Box<ParquetRecordBatchReader>),
    /// Rows without any column.
    Rows {
        left: u64,
        batch_rows: usize,
    },
    Ended,
}

impl Decoder {
    /// A decoder of the columns of `levels` for `rows` of a row group.
    ///
    /// # Errors
    /// When the first pages are broken.
    pub(crate) fn new(
        path: &str,
        levels: &FieldLevels,
        bytes: &RowGroupBytes,
        rows: &RowSet,
        batch_rows: usize,
    ) -> Result<Self, StoreError> {
        let selection = selection(rows, bytes.num_rows() as u64);
        let batch_rows = batch_rows.min(bytes.num_rows()).max(1);
        let reader = guarded(path, || {
            ParquetRecordBatchReader::try_new_with_row_groups(levels, bytes, batch_rows, selection)
        })?;
        Ok(Self {
            path: path.to_owned(),
            state: State::Pages(Box::new(reader)),
        })
    }

    /// A decoder of rows none of whose columns is in the file.
    pub(crate) fn without_columns(rows: u64, batch_rows: usize) -> Self {
        Self {
            path: String::new(),
            state: State::Rows {
                left: rows,
                batch_rows: batch_rows.max(1),
            },
        }
    }

    /// The next rows, or `None` after the last.
    ///
    /// # Errors
    /// When a page is broken; the decoder is at its end then.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Pages(mut reader) => {
                let batch = guarded(&self.path, || reader.next().transpose())?;
                if batch.is_some() {
                    self.state = State::Pages(reader);
                }
                Ok(batch)
            }
            State::Rows { left, batch_rows } if left > 0 => {
                let rows = usize::try_from(left).unwrap_or(usize::MAX).min(batch_rows);
                let left = left - rows as u64;
                self.state = State::Rows { left, batch_rows };
                Ok(Some(no_columns(rows)))
            }
            State::Rows { .. } | State::Ended => Ok(None),
        }
    }
}

/// A batch of rows without any column.
fn no_columns(rows: usize) -> RecordBatch {
    let schema = Arc::new(Schema::empty());
    let (_, columns, _) = RecordBatch::new_empty(Arc::clone(&schema)).into_parts();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
        .unwrap_or_else(|_| RecordBatch::new_empty(schema))
}

/// The selection of `rows`, or `None` when all rows are.
fn selection(rows: &RowSet, rows_total: u64) -> Option<RowSelection> {
    if rows.covers(&(0..rows_total)) {
        return None;
    }
    let length = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
    let mut selectors = Vec::with_capacity(rows.ranges().len() * 2);
    let mut end = 0;
    for range in rows.ranges() {
        if range.start > end {
            selectors.push(RowSelector::skip(length(range.start - end)));
        }
        selectors.push(RowSelector::select(length(range.end - range.start)));
        end = range.end;
    }
    Some(selectors.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_header_that_would_never_end_is_refused() {
        // A field that nobody knows, with a list of two billion booleans, twice over.
        let field = [0x09, 0xc8, 0x01, 0xf2, 0xff, 0xff, 0xff, 0xff, 0x07];
        let bytes = Bytes::from([field, field].concat());
        let range = 0..bytes.len() as u64;
        let fetched = Fetched::new(std::slice::from_ref(&range), vec![bytes]);
        let pages =
            |locations| ChunkBytes::new(&fetched, std::slice::from_ref(&range), locations).unwrap();
        let mut reader = pages(None).get_read(0).unwrap();
        io::Read::read(&mut reader, &mut [0]).unwrap_err();
        let location = PageLocation {
            offset: 0,
            compressed_page_size: 18,
            first_row_index: 0,
        };
        pages(Some(vec![location])).get_bytes(0, 18).unwrap_err();
        pages(None).get_bytes(0, 18).unwrap();
    }
}
