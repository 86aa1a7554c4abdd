//! Reads a Parquet footer in one request, or two when its length was guessed too short.
//!
//! Nothing is trusted: lengths and offsets are checked before they are used, so that a hostile file gives
//! an error that names it.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use model::{ByteSpan, DataFile};
use parquet::file::metadata::{
    FooterTail, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};

use crate::error::StoreError;
use crate::fetched::Fetched;
use crate::guard::{guarded, plain};
use crate::ledger::Ledger;
use crate::profile::StoreProfile;
use crate::thrift;

/// The length of a footer and the magic, at the end of each file.
const TAIL: u64 = 8;

/// No sound footer is longer; a length beyond it is not worth fetching.
const LONGEST_FOOTER: u64 = 512 * 1024 * 1024;

/// What is known of a file's end before it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FooterHint {
    /// Bytes of the footer with its eight-byte tail.
    pub footer_length: Option<u64>,
    /// Where the page indexes lie, when they are wanted along with the footer.
    pub page_index: Option<ByteSpan>,
    /// Whether columns are wanted too, which of a small file come along.
    pub columns: bool,
}

impl FooterHint {
    /// What the catalog knows of a file.
    pub fn of(file: &DataFile) -> Self {
        Self {
            footer_length: file.footer_length,
            page_index: file.page_index,
            columns: false,
        }
    }
}

/// A footer and what was learned by reading it.
#[derive(Clone, Debug)]
pub struct Footer {
    /// The decoded footer, without page indexes.
    pub metadata: Arc<ParquetMetaData>,
    /// The file's size.
    pub size: u64,
    /// Bytes of the footer with its eight-byte tail.
    pub footer_length: u64,
    /// The span of all column and offset indexes, when the file has any.
    pub page_index: Option<ByteSpan>,
    /// The bytes that were read, which may hold page indexes too.
    pub tail: Fetched,
}

impl Footer {
    /// A footer from its bytes, without length and magic.
    pub(crate) fn decoded(
        path: &str,
        size: u64,
        footer_length: u64,
        bytes: &[u8],
        tail: Fetched,
    ) -> Result<Self, StoreError> {
        let metadata = decode(path, size, bytes)?;
        Ok(Self {
            page_index: page_index_span(&metadata),
            metadata: Arc::new(metadata),
            size,
            footer_length,
            tail,
        })
    }

    /// The file's rows, as its row groups have them: old writers leave the count of the whole file at
    /// zero.
    pub fn rows(&self) -> u64 {
        let row_groups = self.metadata.row_groups().iter();
        row_groups
            .map(|group| group.num_rows().unsigned_abs())
            .sum()
    }

    /// The same without the bytes it came from, to be kept for long.
    #[must_use]
    pub fn without_tail(&self) -> Self {
        Self {
            tail: Fetched::default(),
            ..self.clone()
        }
    }
}

/// Reads and decodes a file's footer: exactly when the hint gives its length, else with a guess and at
/// most one more request. Without a size the file's end is asked for.
///
/// # Errors
/// When the file cannot be read or is not a sound Parquet file.
pub async fn read_footer(
    ledger: &Ledger,
    size: Option<u64>,
    hint: FooterHint,
) -> Result<Footer, StoreError> {
    let profile = ledger.location().profile();
    let (size, offset, end) = read_end(ledger, size, hint, &profile).await?;
    let path = ledger.url();
    let footer_length = footer_length(path, size, &end)?;
    let start = size - footer_length;
    let mut tail = Fetched::default();
    let footer = if start >= offset {
        tail.push(offset, end.clone());
        tail.get(&(start..size))
    } else {
        let missing = ledger.read_one(start..offset, "footer").await?;
        let whole = Bytes::from([missing, end].concat());
        tail.push(start, whole.clone());
        Some(whole)
    };
    let footer = footer.ok_or_else(|| StoreError::corrupt(path, "its footer has no bytes"))?;
    let bytes = footer.get(..footer.len().saturating_sub(8));
    Footer::decoded(path, size, footer_length, bytes.unwrap_or_default(), tail)
}

/// Reads a file's footer with its page indexes, when both together are of at most so many bytes.
///
/// # Errors
/// When the file cannot be read or is not a sound Parquet file.
pub async fn read_footer_and_indexes(
    ledger: &Ledger,
    size: Option<u64>,
    hint: FooterHint,
    most_bytes: u64,
) -> Result<Footer, StoreError> {
    let mut footer = read_footer(ledger, size, hint).await?;
    let room = most_bytes.saturating_sub(footer.footer_length);
    let wanted = footer.page_index.filter(|span| span.length <= room);
    let range = wanted.map(|span| span.start..span.start.saturating_add(span.length));
    if let Some(range) = range.filter(|range| range.end <= footer.size)
        && footer.tail.get(&range).is_none()
    {
        let start = range.start;
        let bytes = ledger.read_one(range, "page index").await?;
        footer.tail.push(start, bytes);
    }
    Ok(footer)
}

/// The size of the file, where the bytes begin, and the bytes to its end.
async fn read_end(
    ledger: &Ledger,
    size: Option<u64>,
    hint: FooterHint,
    profile: &StoreProfile,
) -> Result<(u64, u64, Bytes), StoreError> {
    let Some(size) = size else {
        let suffix = ledger.read_suffix(profile.tail, "footer").await?;
        return Ok((suffix.size, suffix.offset, suffix.bytes));
    };
    if size < TAIL + 4 {
        return Err(StoreError::NotParquet {
            path: ledger.url().to_owned(),
        });
    }
    let range = first_range(size, hint, profile);
    let why = if range.start == 0 {
        "whole file"
    } else {
        "footer"
    };
    let bytes = ledger.read_one(range.clone(), why).await?;
    Ok((size, range.start, bytes))
}

/// The end of a file to ask for first. Page indexes come along unless they are so large that fetching
/// only those of the needed columns is cheaper, and all of the file when it is so small that a second
/// request would cost far more.
pub fn first_range(size: u64, hint: FooterHint, profile: &StoreProfile) -> Range<u64> {
    if hint.columns && size <= profile.small_file() {
        return 0..size;
    }
    let length = hint
        .footer_length
        .map_or(profile.tail, |length| length.max(TAIL));
    let footer = size.saturating_sub(length);
    let with_index = hint.page_index.map(|span| span.start).filter(|start| {
        let most = length.saturating_add(profile.index_with_footer());
        *start < footer && size - start <= most
    });
    with_index.unwrap_or(footer)..size
}

/// Bytes of the footer with its tail, from the last bytes of a file.
fn footer_length(path: &str, size: u64, end: &Bytes) -> Result<u64, StoreError> {
    let not_parquet = || StoreError::NotParquet {
        path: path.to_owned(),
    };
    let tail: [u8; 8] = *end.last_chunk().ok_or_else(not_parquet)?;
    let tail = FooterTail::try_new(&tail).map_err(|_| not_parquet())?;
    if tail.is_encrypted_footer() {
        return Err(StoreError::Unsupported {
            path: path.to_owned(),
            reason: "its footer is encrypted".to_owned(),
        });
    }
    let length = tail.metadata_length() as u64 + TAIL;
    if length > size.saturating_sub(4) {
        return Err(StoreError::Truncated {
            path: path.to_owned(),
            reason: format!("its footer says {length} bytes, but the file has {size}"),
        });
    }
    if length > LONGEST_FOOTER {
        return Err(StoreError::corrupt(
            path,
            format!("its footer says {length} bytes"),
        ));
    }
    Ok(length)
}

fn decode(path: &str, size: u64, bytes: &[u8]) -> Result<ParquetMetaData, StoreError> {
    thrift::check(bytes, thrift::FILE)
        .map_err(|flaw| StoreError::corrupt(path, format!("its footer is broken: {flaw}")))?;
    let metadata = guarded(path, || {
        ParquetMetaDataReader::decode_metadata(bytes).map_err(plain)
    })?;
    check(path, size, &metadata)?;
    Ok(metadata)
}

/// Refuses counts and offsets that cannot be, so that nobody after this has to.
fn check(path: &str, size: u64, metadata: &ParquetMetaData) -> Result<(), StoreError> {
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    let mut rows: i64 = 0;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        if group.num_columns() != leaves {
            let reason = format!("row group {number} has {} columns", group.num_columns());
            return Err(StoreError::corrupt(path, reason));
        }
        let valid = (group.num_rows() >= 0).then_some(group.num_rows());
        rows = valid
            .and_then(|more| rows.checked_add(more))
            .ok_or_else(|| {
                StoreError::corrupt(
                    path,
                    format!("row group {number} has an impossible row count"),
                )
            })?;
        for chunk in group.columns() {
            if chunk.file_path().is_some_and(|other| !other.is_empty()) {
                let reason = format!("column {} lies in another file", chunk.column_path());
                return Err(StoreError::Unsupported {
                    path: path.to_owned(),
                    reason,
                });
            }
            let first = chunk
                .dictionary_page_offset()
                .unwrap_or(chunk.data_page_offset());
            let inside = span(first, chunk.compressed_size()).is_some_and(|span| span.end <= size);
            if !inside || chunk.data_page_offset() < 0 {
                let reason = format!(
                    "column {} of row group {number} lies outside of the file",
                    chunk.column_path()
                );
                return Err(StoreError::corrupt(path, reason));
            }
        }
    }
    Ok(())
}

/// The range of an offset and a length as Parquet gives them, when they make sense.
pub(crate) fn span(offset: i64, length: i64) -> Option<Range<u64>> {
    let start = u64::try_from(offset).ok()?;
    let end = start.checked_add(u64::try_from(length).ok()?)?;
    Some(start..end)
}

fn page_index_span(metadata: &ParquetMetaData) -> Option<ByteSpan> {
    let mut whole: Option<Range<u64>> = None;
    let chunks = metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns);
    for chunk in chunks {
        let columns = chunk.column_index_offset().zip(chunk.column_index_length());
        let offsets = chunk.offset_index_offset().zip(chunk.offset_index_length());
        for (offset, length) in columns.into_iter().chain(offsets) {
            let Some(part) = span(offset, length.into()).filter(|part| !part.is_empty()) else {
                continue;
            };
            whole = Some(match whole {
                Some(whole) => whole.start.min(part.start)..whole.end.max(part.end),
                None => part,
            });
        }
    }
    whole.map(|range| ByteSpan {
        start: range.start,
        length: range.end - range.start,
    })
}

#[cfg(test)]
#[path = "footer_tests.rs"]
mod tests;
