//! Keeping the promise: columns that differ from the promised schema only in how they are laid out in
//! memory are cast, anything else is an error. Never changes a value.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use super::encode::EncodeError;
use super::size::encoded_bytes;

/// The batch with exactly the promised schema. Columns are matched by position, as query plans match
/// them; their names are the promised ones.
pub(super) fn conform(
    batch: &RecordBatch,
    promised: &SchemaRef,
) -> Result<RecordBatch, EncodeError> {
    if batch.num_columns() != promised.fields().len() {
        return Err(EncodeError::Columns {
            promised: promised.fields().len(),
            found: batch.num_columns(),
        });
    }
    let columns = promised
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| column_as(field, column))
        .collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(promised), columns, &options)
        .map_err(EncodeError::Arrow)
}

fn column_as(field: &Field, column: &ArrayRef) -> Result<ArrayRef, EncodeError> {
    if !field.is_nullable() && column.logical_null_count() > 0 {
        return Err(EncodeError::Nulls {
            column: field.name().clone(),
        });
    }
    if column.data_type() == field.data_type() {
        return Ok(Arc::clone(column));
    }
    let mismatch = || EncodeError::Type {
        column: field.name().clone(),
        promised: field.data_type().clone(),
        found: column.data_type().clone(),
    };
    if !same_values(column.data_type(), field.data_type()) {
        return Err(mismatch());
    }
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let cast = cast_with_options(column, field.data_type(), &strict).map_err(|_| mismatch())?;
    if cast.data_type() == field.data_type() {
        Ok(cast)
    } else {
        Err(mismatch())
    }
}

/// Whether two types hold the same values, laid out differently.
fn same_values(found: &DataType, promised: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeListView,
        LargeUtf8, List, ListView, Map, RunEndEncoded, Struct, Timestamp, Utf8, Utf8View,
    };
    match (found, promised) {
        (Dictionary(_, found), Dictionary(_, promised)) => same_values(found, promised),
        (Dictionary(_, found), _) => same_values(found, promised),
        (_, Dictionary(_, promised)) => same_values(found, promised),
        (RunEndEncoded(_, values), _) => same_values(values.data_type(), promised),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View)
        | (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        (
            List(found) | LargeList(found) | ListView(found) | LargeListView(found),
            List(promised) | LargeList(promised) | ListView(promised) | LargeListView(promised),
        )
        | (Map(found, _), Map(promised, _)) => same_values(found.data_type(), promised.data_type()),
        (FixedSizeList(found, a), FixedSizeList(promised, b)) => {
            a == b && same_values(found.data_type(), promised.data_type())
        }
        (Struct(found), Struct(promised)) => {
            found.len() == promised.len() && found.iter().zip(promised).all(same_field)
        }
        (Timestamp(found, Some(_)), Timestamp(promised, Some(_))) => found == promised,
        _ => found == promised,
    }
}

fn same_field((found, promised): (&FieldRef, &FieldRef)) -> bool {
    found.name() == promised.name() && same_values(found.data_type(), promised.data_type())
}

/// The batch without what its columns hold on to but do not show: views keep whole buffers alive, and
/// a dictionary travels whole however few of its values are used.
///
/// Called on slices, after [`conform`].
pub(super) fn compact(
    batch: &RecordBatch,
    largest_dictionary: usize,
) -> Result<RecordBatch, EncodeError> {
    let columns = batch
        .columns()
        .iter()
        .map(|column| compact_column(column, largest_dictionary))
        .collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(EncodeError::Arrow)
}

fn compact_column(column: &ArrayRef, largest_dictionary: usize) -> Result<ArrayRef, EncodeError> {
    match column.data_type() {
        DataType::Utf8View => Ok(Arc::new(column.as_string_view().gc())),
        DataType::BinaryView => Ok(Arc::new(column.as_binary_view().gc())),
        DataType::Dictionary(_, values) => {
            if encoded_bytes(column.as_any_dictionary().values()) <= largest_dictionary {
                return Ok(Arc::clone(column));
            }
            let cast = |array: &ArrayRef, to| {
                cast_with_options(array, to, &CastOptions::default()).map_err(EncodeError::Arrow)
            };
            cast(&cast(column, values)?, column.data_type())
        }
        _ => Ok(Arc::clone(column)),
    }
}
