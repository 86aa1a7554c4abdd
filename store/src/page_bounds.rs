//! What a column index says of each page, as domain bounds. Pure.

use model::{ColumnBounds, RowRange};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use crate::bounds::{bound, is_readable, null_count, order_is_known};
use crate::columns::FileColumn;
use crate::page_index::ChunkIndex;
use crate::value::Raw;

/// The rows of each page within its row group.
pub fn page_rows(pages: &OffsetIndexMetaData, rows: u64) -> Vec<RowRange> {
    let starts: Vec<u64> = pages
        .page_locations()
        .iter()
        .map(|page| u64::try_from(page.first_row_index).unwrap_or_default())
        .collect();
    let ends = starts.iter().skip(1).copied().chain([rows]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| RowRange { start: *start, end })
        .collect()
}

/// Bounds of a column over each of its pages in a row group, or `None` when the chunk has no column
/// index that says something of the column.
pub fn page_bounds(
    metadata: &ParquetMetaData,
    row_group: usize,
    column: &FileColumn,
    index: &ChunkIndex,
) -> Option<Vec<ColumnBounds>> {
    let group = metadata.row_groups().get(row_group)?;
    let chunk = group.columns().get(column.leaves.start)?;
    let columns = index.columns.as_ref().filter(|_| is_readable(column))?;
    let ordered = order_is_known(metadata, column, chunk, None);
    let rows = page_rows(&index.pages, u64::try_from(group.num_rows()).ok()?);
    let judge = |(number, rows): (usize, RowRange)| {
        let rows = rows.end.saturating_sub(rows.start);
        one_page(columns, number, rows, ordered, (chunk, column))
    };
    Some(rows.into_iter().enumerate().map(judge).collect())
}

fn one_page(
    columns: &ColumnIndexMetaData,
    number: usize,
    rows: u64,
    ordered: bool,
    (chunk, column): (&ColumnChunkMetaData, &FileColumn),
) -> ColumnBounds {
    // A page of nulls is one whatever its null count says: some writers state none, or zero.
    if columns.is_null_page(number) {
        return ColumnBounds {
            null_count: Some(rows),
            row_count: Some(rows),
            ..ColumnBounds::default()
        };
    }
    let bound = |upper: bool| {
        let raw = raw(columns, number, upper).filter(|_| ordered)?;
        // The index does not say whether bytes were cut; other values are whole.
        let exact = !matches!(raw, Raw::Bytes(_));
        bound(raw, exact, chunk, &column.file_type)
    };
    let stated = columns.null_count(number);
    let stated = stated.and_then(|count| u64::try_from(count).ok());
    let bounds = ColumnBounds {
        lower: bound(false),
        upper: bound(true),
        null_count: null_count(chunk, stated, rows),
        nan_count: None,
        row_count: Some(rows),
    };
    bounds.sound()
}

fn raw(index: &ColumnIndexMetaData, page: usize, upper: bool) -> Option<Raw<'_>> {
    macro_rules! value {
        ($index:expr) => {
            if upper {
                $index.max_value(page)
            } else {
                $index.min_value(page)
            }
        };
    }
    match index {
        ColumnIndexMetaData::NONE | ColumnIndexMetaData::INT96(_) => None,
        ColumnIndexMetaData::BOOLEAN(index) => value!(index).map(|value| Raw::Boolean(*value)),
        ColumnIndexMetaData::INT32(index) => value!(index).map(|value| Raw::Int32(*value)),
        ColumnIndexMetaData::INT64(index) => value!(index).map(|value| Raw::Int64(*value)),
        ColumnIndexMetaData::FLOAT(index) => value!(index).map(|value| Raw::Float(*value)),
        ColumnIndexMetaData::DOUBLE(index) => value!(index).map(|value| Raw::Double(*value)),
        ColumnIndexMetaData::BYTE_ARRAY(index)
        | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => value!(index).map(Raw::Bytes),
    }
}
