//! How many bytes arrays take in a message, and the split of batches by it. Estimates only: nothing is
//! refused by them.

use std::collections::VecDeque;

use arrow::array::{Array, AsArray, OffsetSizeTrait};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;

/// Splits a batch into consecutive slices that each take about `target` bytes in a message: never more
/// than twice as many, unless a single row does. Copies nothing.
pub(super) fn slices(batch: RecordBatch, target: usize) -> VecDeque<RecordBatch> {
    let mut slices = VecDeque::new();
    split(batch, target, target, &mut slices);
    slices
}

fn split(batch: RecordBatch, target: usize, limit: usize, slices: &mut VecDeque<RecordBatch>) {
    let rows = batch.num_rows();
    let bytes: usize = batch.columns().iter().map(|c| encoded_bytes(c)).sum();
    if bytes <= limit || rows <= 1 {
        slices.push_back(batch);
        return;
    }
    let step = rows.div_ceil(bytes.div_ceil(target));
    // Estimates need not shrink with the rows; slices must, for the split to end.
    let step = step.min(rows - 1);
    for start in (0..rows).step_by(step) {
        let slice = batch.slice(start, step.min(rows - start));
        split(slice, target, 2 * target, slices);
    }
}

/// The bytes that an array takes in a message, without padding and without its dictionaries.
pub(super) fn encoded_bytes(array: &dyn Array) -> usize {
    let rows = array.len();
    let validity = match array.null_count() {
        0 => 0,
        _ => rows.div_ceil(8),
    };
    validity
        + match array.data_type() {
            DataType::Null => 0,
            DataType::Boolean => rows.div_ceil(8),
            DataType::Utf8 => offsets_and_values(array.as_string::<i32>().value_offsets()),
            DataType::LargeUtf8 => offsets_and_values(array.as_string::<i64>().value_offsets()),
            DataType::Binary => offsets_and_values(array.as_binary::<i32>().value_offsets()),
            DataType::LargeBinary => offsets_and_values(array.as_binary::<i64>().value_offsets()),
            DataType::Utf8View => 16 * rows + array.as_string_view().total_buffer_bytes_used(),
            DataType::BinaryView => 16 * rows + array.as_binary_view().total_buffer_bytes_used(),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                offsets_and_children(list.value_offsets(), list.values())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                offsets_and_children(list.value_offsets(), list.values())
            }
            DataType::Map(_, _) => {
                let map = array.as_map();
                offsets_and_children(map.value_offsets(), map.entries())
            }
            DataType::FixedSizeList(_, _) => encoded_bytes(array.as_fixed_size_list().values()),
            DataType::Struct(_) => {
                let columns = array.as_struct().columns();
                columns.iter().map(|c| encoded_bytes(c)).sum()
            }
            DataType::Dictionary(_, _) => encoded_bytes(array.as_any_dictionary().keys()),
            DataType::FixedSizeBinary(width) => rows * usize::try_from(*width).unwrap_or_default(),
            other => match other.primitive_width() {
                Some(width) => rows * width,
                None => held_bytes(array),
            },
        }
}

fn offsets_and_values<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    let (start, end) = span(offsets);
    size_of_val(offsets) + end - start
}

fn offsets_and_children<O: OffsetSizeTrait>(offsets: &[O], children: &dyn Array) -> usize {
    let (start, end) = span(offsets);
    size_of_val(offsets) + encoded_bytes(&children.slice(start, end - start))
}

fn span<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    match (offsets.first(), offsets.last()) {
        (Some(start), Some(end)) => (start.as_usize(), end.as_usize()),
        _ => (0, 0),
    }
}

/// Of types that Parquet files cannot hold: unions, run ends, list views.
fn held_bytes(array: &dyn Array) -> usize {
    let contents = array.to_data();
    contents
        .get_slice_memory_size()
        .unwrap_or_else(|_| contents.get_buffer_memory_size())
}
