//! Footers by column: a footer taken apart into one for each top-level column, and put together again
//! from those of the columns that somebody reads. Pure.
//!
//! Chunks are copied byte by byte, statistics and all, so that a scan decides the same whether it read
//! the footer or was given its columns. What a footer says beside them, such as metadata of writers, is
//! left out, except where it changes what a column's values are.

mod parts;

use std::ops::Range;

use bytes::Bytes;
use model::{DataFile, FilePiece, FooterColumn};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use self::parts::{Parts, Root, joined};
use crate::error::StoreError;
use crate::fetched::Fetched;
use crate::footer::Footer;
use crate::guard::guarded;
use crate::infer::telling_hints;
use crate::page_index::{column_index, offset_index};

/// Bytes of a file's footer and page indexes that are worth keeping at most.
pub const MOST_KEPT: u64 = 4 * 1024 * 1024;

/// Takes a footer apart, together with the page indexes, which must have been read with it. `None` for a
/// footer that is too large to be kept, or that could be understood otherwise by column: of two columns
/// with one name, or where only some columns have ids.
pub fn split(footer: &Footer) -> Option<Vec<FooterColumn>> {
    if is_too_large(footer) {
        return None;
    }
    let end = footer.size.checked_sub(8)?;
    let start = footer.size.checked_sub(footer.footer_length)?;
    let bytes = footer.tail.get(&(start..end))?;
    let hints = guarded("", || telling_hints(&footer.metadata)).ok()?;
    let whole = Parts::of(&bytes).ok()?;
    let roots = whole.roots().ok()?;
    let leaves = footer.metadata.file_metadata().schema_descr();
    if !whole.is_sound(&roots, leaves.num_columns()) {
        return None;
    }
    let hints = match &hints {
        None => None,
        Some(schema) if schema.fields().len() == roots.len() => Some(schema.fields()),
        Some(_) => return None,
    };
    let column = |(position, root): (usize, &Root<'_>)| {
        let hint = hints.and_then(|fields| fields.get(position));
        Some(FooterColumn {
            name: root.name.to_owned(),
            field_id: root.id,
            footer: whole.columns(&[root], hint.map(std::slice::from_ref)),
            column_indexes: pieces(footer, root, column_index)?,
            offset_indexes: pieces(footer, root, offset_index)?,
        })
    };
    roots.iter().enumerate().map(column).collect()
}

/// Whether a footer is too large to be kept, with its page indexes.
pub fn is_too_large(footer: &Footer) -> bool {
    let indexes = footer.page_index.map_or(0, |span| span.length);
    footer.footer_length.saturating_add(indexes) > MOST_KEPT
}

/// The indexes of a column's chunks, or `None` when one was not read.
fn pieces(
    footer: &Footer,
    root: &Root<'_>,
    located: fn(&ColumnChunkMetaData) -> Option<Range<u64>>,
) -> Option<Vec<FilePiece>> {
    let groups = footer.metadata.row_groups().iter();
    let chunks =
        groups.flat_map(|group| group.columns().get(root.leaves.clone()).unwrap_or_default());
    // Where there is none, it has no bytes; one that lies elsewhere is none either.
    let ranges = chunks
        .filter_map(located)
        .filter(|range| !range.is_empty() && range.end <= footer.size);
    let piece = |range: Range<u64>| {
        let bytes = footer.tail.get(&range)?.to_vec();
        let start = range.start;
        Some(FilePiece { start, bytes })
    };
    ranges.map(piece).collect()
}

/// The footer of a file, with the page indexes, as far as these columns of it tell.
///
/// # Errors
/// When they do not fit together.
pub fn join(path: &str, file: &DataFile, columns: &[FooterColumn]) -> Result<Footer, StoreError> {
    let bytes = guarded(path, || {
        joined(columns.iter().map(|column| column.footer.as_slice()))
            .map_err(|flaw| format!("its known footer is broken: {flaw}"))
    })?;
    let pieces = columns
        .iter()
        .flat_map(|column| column.column_indexes.iter().chain(&column.offset_indexes));
    let pieces = pieces.map(|piece| (piece.start, Bytes::from(piece.bytes.clone())));
    let tail = Fetched::of(pieces.collect());
    Footer::decoded(
        path,
        file.size,
        file.footer_length.unwrap_or(0),
        &bytes,
        tail,
    )
}

/// Whether it is known where the pages of all chunks lie that have an offset index.
pub fn knows_pages(footer: &Footer) -> bool {
    let groups = footer.metadata.row_groups().iter();
    let mut ranges = groups
        .flat_map(RowGroupMetaData::columns)
        .filter_map(offset_index)
        .filter(|range| !range.is_empty() && range.end <= footer.size);
    ranges.all(|range| footer.tail.get(&range).is_some())
}

#[cfg(test)]
#[path = "footer_columns_tests.rs"]
mod tests;
