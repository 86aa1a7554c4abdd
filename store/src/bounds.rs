//! What a file says of its columns' values: per file, row group and page, as domain bounds.
//!
//! Whatever is missing, odd, deprecated or of another type than the table's gives no bound; it is never
//! guessed. Columns that the file lacks and nested columns are not mentioned at all.

use arrow_schema::DataType;
use model::{Bound, ColumnBounds, Datum, FieldId};
use parquet::basic::{ColumnOrder, SortOrder, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;

use crate::columns::{FileColumn, FileColumns};
use crate::fold::fold;
use crate::value::{Raw, datum};
use crate::widen::comparable;

/// Bounds of the table's columns over a whole file: no row group may leave one out.
pub fn file_bounds(
    metadata: &ParquetMetaData,
    columns: &FileColumns,
) -> Vec<(FieldId, ColumnBounds)> {
    let groups = metadata.num_row_groups();
    let over_file = |column: &FileColumn| {
        let parts = (0..groups).filter_map(|group| column_bounds(metadata, group, column));
        (column.id, fold(parts))
    };
    readable(columns).map(over_file).collect()
}

/// Bounds of the table's columns over one row group.
pub fn row_group_bounds(
    metadata: &ParquetMetaData,
    row_group: usize,
    columns: &FileColumns,
) -> Vec<(FieldId, ColumnBounds)> {
    readable(columns)
        .filter_map(|column| Some((column.id, column_bounds(metadata, row_group, column)?)))
        .collect()
}

/// Columns whose leaf says something of the table's column.
fn readable(columns: &FileColumns) -> impl Iterator<Item = &FileColumn> {
    columns
        .columns
        .iter()
        .flatten()
        .filter(|column| is_readable(column))
}

pub(crate) fn is_readable(column: &FileColumn) -> bool {
    column.flat && comparable(&column.file_type, &column.table_type)
}

fn column_bounds(
    metadata: &ParquetMetaData,
    row_group: usize,
    column: &FileColumn,
) -> Option<ColumnBounds> {
    let group = metadata.row_groups().get(row_group)?;
    let chunk = group.columns().get(column.leaves.start)?;
    let rows = u64::try_from(group.num_rows()).ok()?;
    let statistics = chunk.statistics();
    let (lower, upper) = match statistics {
        Some(statistics) if order_is_known(metadata, column, chunk, Some(statistics)) => {
            limits(statistics, chunk, &column.file_type)
        }
        _ => (None, None),
    };
    let null_count = null_count(chunk, statistics.and_then(Statistics::null_count_opt), rows);
    let bounds = ColumnBounds {
        lower,
        upper,
        null_count,
        nan_count: None,
        row_count: Some(rows),
    };
    Some(bounds.sound())
}

/// Nulls, as far as they can be: a required column has none, and no column more than its rows.
pub(crate) fn null_count(
    chunk: &ColumnChunkMetaData,
    stated: Option<u64>,
    rows: u64,
) -> Option<u64> {
    if chunk.column_descr().max_def_level() == 0 {
        return Some(0);
    }
    stated.filter(|nulls| *nulls <= rows)
}

/// Whether minimum and maximum follow the order in which the column's values compare. Deprecated ones
/// and those of files that state no order were compared as signed (PARQUET-686).
pub(crate) fn order_is_known(
    metadata: &ParquetMetaData,
    column: &FileColumn,
    chunk: &ColumnChunkMetaData,
    statistics: Option<&Statistics>,
) -> bool {
    let descriptor = chunk.column_descr();
    let order = ColumnOrder::sort_order_for_type(
        descriptor.logical_type_ref(),
        descriptor.converted_type(),
        descriptor.physical_type(),
    );
    let stated = metadata
        .file_metadata()
        .column_orders()
        .and_then(|orders| orders.get(column.leaves.start));
    let deprecated = statistics.is_some_and(Statistics::is_min_max_deprecated);
    let bytes = matches!(
        descriptor.physical_type(),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY
    );
    match (order, stated) {
        (SortOrder::UNDEFINED, _) | (_, Some(ColumnOrder::UNKNOWN)) => false,
        (_, Some(ColumnOrder::TYPE_DEFINED_ORDER(_))) if !deprecated => true,
        (SortOrder::SIGNED, _) => !bytes,
        (SortOrder::UNSIGNED, _) => false,
    }
}

fn limits(
    statistics: &Statistics,
    chunk: &ColumnChunkMetaData,
    file_type: &DataType,
) -> (Option<Bound>, Option<Bound>) {
    let lower = raw(statistics, Side::Lower);
    let upper = raw(statistics, Side::Upper);
    let bound = |raw: Option<Raw<'_>>, exact: bool| bound(raw?, exact, chunk, file_type);
    (
        bound(lower, statistics.min_is_exact()),
        bound(upper, statistics.max_is_exact()),
    )
}

/// A bound of a column, unless the value is not one of its type. Decimals as bytes must be whole: a cut
/// one is another number.
pub(crate) fn bound(
    raw: Raw<'_>,
    exact: bool,
    chunk: &ColumnChunkMetaData,
    file_type: &DataType,
) -> Option<Bound> {
    let value = datum(raw, file_type)?;
    if let (Datum::Decimal { .. }, Raw::Bytes(bytes)) = (&value, raw) {
        let fixed = chunk.column_descr().physical_type() == Type::FIXED_LEN_BYTE_ARRAY;
        let length = usize::try_from(chunk.column_descr().type_length()).ok();
        let whole = if fixed {
            length == Some(bytes.len())
        } else {
            exact
        };
        return whole.then_some(Bound { value, exact });
    }
    // A zero may stand for the other zero, which then is what occurs.
    let zero = matches!(value, Datum::Float(float) if float == 0.0);
    Some(Bound {
        exact: exact && !zero,
        value,
    })
}

#[derive(Clone, Copy)]
enum Side {
    Lower,
    Upper,
}

fn raw(statistics: &Statistics, side: Side) -> Option<Raw<'_>> {
    macro_rules! side {
        ($values:expr) => {
            match side {
                Side::Lower => $values.min_opt(),
                Side::Upper => $values.max_opt(),
            }
        };
    }
    match statistics {
        Statistics::Boolean(values) => side!(values).map(|value| Raw::Boolean(*value)),
        Statistics::Int32(values) => side!(values).map(|value| Raw::Int32(*value)),
        Statistics::Int64(values) => side!(values).map(|value| Raw::Int64(*value)),
        Statistics::Int96(_) => None,
        Statistics::Float(values) => side!(values).map(|value| Raw::Float(*value)),
        Statistics::Double(values) => side!(values).map(|value| Raw::Double(*value)),
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) => match side {
            Side::Lower => statistics.min_bytes_opt().map(Raw::Bytes),
            Side::Upper => statistics.max_bytes_opt().map(Raw::Bytes),
        },
    }
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
