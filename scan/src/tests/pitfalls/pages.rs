use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::{Case, Columns, check, numbers, small, texts};
use crate::tests::compact::{Value, list};
use crate::tests::odd_file::{FIRST_ROW, LOCATIONS, OddChunk};

/// Says of each page that it begins so many rows later than it does.
fn shift_rows(chunk: &mut OddChunk, by: i64) {
    let Some(offsets) = &mut chunk.offsets else {
        return;
    };
    for page in list(offsets, LOCATIONS) {
        if let Some(Value::Int(_, row)) = page.fields().get_mut(&FIRST_ROW) {
            *row += by;
        }
    }
}

/// Pitfall 14: a column that lacks its indexes everywhere is read whole beside one that has them.
#[tokio::test]
async fn columns_without_an_index_leave_others_theirs() {
    let up: ArrayRef = Arc::new(Int64Array::from_iter_values(0..40));
    let down: ArrayRef = Arc::new(Int64Array::from_iter_values((0..40).rev()));
    let columns: Columns = vec![("up", up), ("down", down)];
    // Pages of both columns that leave no row in common, and one column whose pages are not known.
    let filters = [
        "up < 10 AND down < 10",
        "up < 3 AND down > 36",
        "up < 10 OR down < 10",
        "NOT (up < 10 OR down < 10)",
    ];
    let one = small().set_max_row_group_row_count(Some(40));
    check(columns.clone(), one.clone(), &filters).await;
    let without = one.set_column_statistics_enabled("down".into(), EnabledStatistics::None);
    check(columns.clone(), without, &filters).await;
    check(columns, small().set_offset_index_disabled(true), &filters).await;
}

/// Pitfall 14: a chunk that lacks an index, or whose offset index does not begin with its first row, is read
/// whole, and no other chunk loses its own.
#[tokio::test]
async fn one_chunk_without_an_index_leaves_the_others_theirs() {
    let changes: [fn(&mut OddChunk); 7] = [
        |chunk| {
            if chunk.leaf == 0 {
                chunk.forget_pages();
            }
        },
        |chunk| {
            if chunk.leaf == 0 {
                chunk.offsets = None;
            }
        },
        |chunk| {
            if chunk.leaf == 1 {
                chunk.columns = None;
            }
        },
        |chunk| {
            if chunk.row_group == 1 && chunk.leaf == 0 {
                chunk.forget_pages();
            }
        },
        // Rows counted from the start of the file.
        |chunk| {
            if chunk.row_group == 1 {
                shift_rows(chunk, 20);
            }
        },
        // An index that lacks the first page.
        |chunk| {
            if let (1, Some(offsets)) = (chunk.leaf, &mut chunk.offsets) {
                list(offsets, LOCATIONS).remove(0);
            }
        },
        |chunk| chunk.offsets = None,
    ];
    let properties = small().set_max_row_group_row_count(Some(20));
    for change in changes {
        let columns: Columns = vec![("up", numbers(0..40)), ("down", numbers((0..40).rev()))];
        let case = Case::odd(columns, properties.clone(), |file| {
            file.chunks.iter_mut().for_each(change);
        });
        let filters = [
            "up < 10 AND down < 10",
            "up < 3 AND down > 36",
            "up < 10 OR down < 10",
            "NOT (up < 10 OR down < 10)",
            "up BETWEEN 22 AND 25",
            "down BETWEEN 3 AND 4",
            "up = 39 OR down = 39",
            "up >= 0",
        ];
        case.await.check(&filters).await;
    }
}

/// Pitfall 15: the pages of several columns may leave no row in common in one row group, which is then dropped,
/// and rows in the next, which are found.
#[tokio::test]
async fn page_ranges_of_several_columns_with_an_empty_intersection() {
    let row = |number: i64| format!("row {number:036}");
    let rows: Vec<String> = (0..180).map(row).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let saw = Int32Array::from_iter_values((0..180).map(|number| number % 60));
    let columns: Columns = vec![
        ("up", numbers(0..180)),
        ("down", numbers((0..180).rev())),
        ("saw", Arc::new(saw)),
        ("text", texts(&rows)),
    ];
    // Pages of sixteen, eight and two rows, so that few boundaries are shared.
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(60))
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(64)
        .set_write_batch_size(1);
    let case = Case::new(columns, properties).await;
    let text = format!("text < '{}' AND saw > 40", row(15));
    let either = format!("({text}) OR (down < 5 AND saw > 30)");
    let filters = [
        "saw < 10 AND down < 70",
        "up < 20 AND saw > 40",
        "(up < 20 AND saw > 40) OR up > 170",
        "up > 55 AND up < 65 AND saw < 10",
        "up > 55 AND down > 110 AND saw > 50",
        &text,
        &either,
    ];
    case.check(&filters).await;
    // By statistics the first row group goes, by pages the second, and in the third are rows.
    let counts = case.counts("saw < 10 AND down < 70").await;
    let skipped = (
        counts.row_groups_skipped_statistics,
        counts.row_groups_skipped_pages,
    );
    assert_eq!((skipped, counts.rows_returned), ((1, 1), 10));
}
