use std::sync::Arc;

use arrow::array::{Int64Array, ListArray, StringArray};
use arrow::datatypes::Int64Type;
use parquet::file::properties::WriterProperties;

use super::{Case, Columns, check, numbers, small, texts};
use crate::tests::compact::{Fields, Value, encoded};
use crate::tests::odd_file::{ENCODING_STATS, OddFile};

/// Pitfall 16: rows of lists are counted as rows, not as elements.
#[tokio::test]
async fn rows_of_lists_are_found_across_pages() {
    let lists = (0..60).map(|row| {
        Some(
            (0..row % 5)
                .map(|value| (value != 3).then_some(row * 10 + value))
                .collect::<Vec<_>>(),
        )
    });
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let ids = Int64Array::from_iter_values(0..60);
    let columns: Columns = vec![("id", Arc::new(ids)), ("list", Arc::new(lists))];
    let filters = [
        "id = 31",
        "id IN (0, 29, 30, 59)",
        "id % 7 = 3",
        "id BETWEEN 17 AND 43",
        "array_length(list) = 4",
    ];
    check(
        columns,
        small().set_max_row_group_row_count(Some(30)),
        &filters,
    )
    .await;
}

/// Pitfall 16: rows picked out of pages are decoded without the pages between, which were not fetched; runs
/// and gaps are about as long as those at which decoders change their ways.
#[tokio::test]
async fn row_selections_need_no_page_that_was_not_fetched() {
    const ROWS: i64 = 4_000;
    let texts = StringArray::from_iter_values((0..ROWS).map(|row| format!("text {row}")));
    let lists = (0..ROWS).map(|row| Some((0..row % 4).map(Some).collect::<Vec<_>>()));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let columns: Columns = vec![
        ("id", numbers(0..ROWS)),
        ("text", Arc::new(texts)),
        ("list", Arc::new(lists)),
    ];
    let properties = small()
        .set_max_row_group_row_count(Some(4_000))
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(10);
    let case = Case::new(columns, properties).await;
    for step in [20, 60, 63, 64, 65, 70, 130, 400] {
        let ids: Vec<String> = (5..ROWS).step_by(step).map(|id| id.to_string()).collect();
        let picked = format!("id IN ({})", ids.join(", "));
        let fewer = format!("{picked} AND text LIKE '%7%'");
        case.check(&[&picked, &fewer]).await;
    }
    let counts = case.counts("id IN (5, 405, 3905)").await;
    assert!(counts.pages_skipped > 390, "{}", counts.pages_skipped);
}

/// The levels of one kind in a page: runs of one, after their length.
fn levels(levels: impl Iterator<Item = u8>) -> Vec<u8> {
    let runs: Vec<u8> = levels.flat_map(|level| [2, level]).collect();
    let length = u32::try_from(runs.len()).unwrap().to_le_bytes();
    [&length[..], &runs].concat()
}

fn int(number: usize) -> Value {
    Value::Int(5, i64::try_from(number).unwrap())
}

/// A plain data page of elements of lists; the level of an element that is not its list's first is one.
fn page(elements: &[(u8, i64)]) -> Vec<u8> {
    let mut body = levels(elements.iter().map(|(level, _)| *level));
    body.extend(levels(elements.iter().map(|_| 3)));
    body.extend(elements.iter().flat_map(|(_, value)| value.to_le_bytes()));
    let (plain, run_lengths) = (0, 3);
    let data = [elements.len(), plain, run_lengths, run_lengths];
    let data: Fields = (1..).zip(data.map(int)).collect();
    let header: Fields = [
        (1, int(0)),
        (2, int(body.len())),
        (3, int(body.len())),
        (5, Value::Struct(data)),
    ]
    .into();
    [encoded(&header), body].concat()
}

/// Puts the elements of a list column into pages of seven, whichever lists they belong to.
fn span_pages(file: &mut OddFile, leaf: usize, lists: &[Vec<i64>]) {
    let elements = lists.iter().flat_map(|list| {
        let elements = list.iter().enumerate();
        elements.map(|(place, value)| (u8::from(place > 0), *value))
    });
    let elements: Vec<(u8, i64)> = elements.collect();
    let pages: Vec<u8> = elements.chunks(7).flat_map(page).collect();
    let length = i64::try_from(pages.len()).unwrap();
    let start = file.append(&pages);
    let chunk = &mut file.chunks[leaf];
    chunk.forget_pages();
    // Not compressed, both sizes, where data pages begin; no index page, dictionary or encoding statistics.
    chunk.meta.insert(4, Value::Int(5, 0));
    for (field, number) in [(6, length), (7, length), (9, start)] {
        chunk.meta.insert(field, Value::Int(6, number));
    }
    for field in [10, 11, ENCODING_STATS] {
        chunk.meta.remove(&field);
    }
}

/// Pitfall 16: a list may begin in one page and end in the next, where a selection skips it or takes it.
#[tokio::test]
async fn row_selections_find_lists_that_span_pages() {
    let lists: Vec<Vec<i64>> = (0..200_i64)
        .map(|row| (0..=row % 9).map(|place| row * 10 + place).collect())
        .collect();
    let nested = lists
        .iter()
        .map(|list| Some(list.iter().copied().map(Some).collect::<Vec<_>>()));
    let nested = ListArray::from_iter_primitive::<Int64Type, _, _>(nested);
    let columns: Columns = vec![("id", numbers(0..200)), ("list", Arc::new(nested))];
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(10);
    let case = Case::odd(columns, properties, |file| span_pages(file, 1, &lists));
    let filters = [
        "id = 31",
        "id IN (0, 29, 30, 59, 199)",
        "id % 7 = 3",
        "id BETWEEN 17 AND 43",
        "id > 150 AND id % 2 = 0",
        "array_length(list) = 4",
        "id < 100 AND array_length(list) > 7",
    ];
    case.await.check(&filters).await;
}

/// Pitfall 17: a row group that is dropped takes its rows out of the selection, and shifts no row of others.
#[tokio::test]
async fn row_groups_that_are_dropped_shift_no_row_of_the_others() {
    // Five row groups; only the third has no red, which its bounds do not tell.
    let colour = |id: i64| match (id / 40, id % 2) {
        (2, 0) => "amber",
        (2, _) | (_, 1) => "zinc",
        _ => "red",
    };
    let colours: Vec<&str> = (0..200).map(colour).collect();
    let notes = StringArray::from_iter_values((0..200).map(|id| format!("note {id:090}")));
    let columns: Columns = vec![
        ("id", numbers(0..200)),
        ("k", numbers((0..200).map(|id| id % 40))),
        ("colour", texts(&colours)),
        ("note", Arc::new(notes)),
    ];
    let properties = small()
        .set_max_row_group_row_count(Some(40))
        .set_data_page_row_count_limit(4);
    let case = Case::new(columns, properties).await;
    let filters = [
        "k BETWEEN 12 AND 17 AND id >= 40 AND id < 160 AND colour = 'red'",
        "k = 6 AND colour = 'red'",
        "k = 5 AND colour = 'red'",
        "k < 3 OR k > 37",
        "id > 90 AND k IN (1, 20, 39)",
        "(id < 40 OR id >= 160) AND k BETWEEN 10 AND 20",
        "colour = 'amber' AND k > 30",
    ];
    case.check(&filters).await;
    let counts = case.sparing_counts(filters[0]).await;
    assert_eq!(counts.row_groups_skipped_statistics, 2);
    assert_eq!(counts.rows_returned, 6);
}
