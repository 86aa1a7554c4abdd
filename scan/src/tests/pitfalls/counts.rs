use std::sync::Arc;

use arrow::array::Int64Array;

use super::{Case, check, small};
use crate::tests::compact::{Value, list};
use crate::tests::odd_file::{
    MAX, MIN, NULL_COUNT, NULL_PAGES, OLD_MAX, OLD_MIN, OddChunk, PAGE_NULL_COUNTS,
};

const FILTERS: [&str; 14] = [
    "x IS NULL",
    "x IS NOT NULL",
    "x = 4",
    "x <> 4",
    "x >= 0",
    "NOT (x < 0)",
    "x < 100 OR x IS NULL",
    "NOT (x > 5)",
    "x IN (7, NULL)",
    "x NOT IN (7, 8)",
    "x IS DISTINCT FROM 4",
    "x IS NOT DISTINCT FROM NULL",
    "(x > 5) IS NULL",
    "(x > 5) IS NOT TRUE",
];

/// Row groups with some nulls, with none and of nothing else; pages of each kind too.
fn values() -> Int64Array {
    let mixed: [Option<i64>; 8] = [None, None, Some(4), Some(5), Some(6), None, None, Some(9)];
    let whole = [1, 2, 3, 4, 5, 6, 7, 8].map(Some);
    mixed.into_iter().chain(whole).chain([None; 8]).collect()
}

async fn check_changed(change: impl FnMut(&mut OddChunk)) {
    let case = Case::odd(vec![("x", Arc::new(values()))], small(), |file| {
        file.chunks.iter_mut().for_each(change);
    });
    case.await.check(&FILTERS).await;
}

/// Pitfall 3: a null count that is not stated is unknown and not zero, in row groups and in pages.
#[tokio::test]
async fn missing_count_is_unknown_and_not_zero() {
    check_changed(|chunk| {
        chunk.statistics().remove(&NULL_COUNT);
        chunk.forget_pages();
    })
    .await;
    check_changed(|chunk| {
        chunk.statistics().remove(&NULL_COUNT);
        if let Some(columns) = &mut chunk.columns {
            columns.remove(&PAGE_NULL_COUNTS);
        }
    })
    .await;
}

/// Pitfall 13: a page that is said to be all null is so whatever its null count says.
#[tokio::test]
async fn null_pages_are_null_whatever_their_counts_say() {
    check_changed(|chunk| {
        let Some(columns) = &mut chunk.columns else {
            return;
        };
        let null_pages = list(columns, NULL_PAGES).clone();
        for (count, is_null) in list(columns, PAGE_NULL_COUNTS).iter_mut().zip(null_pages) {
            if is_null == Value::Bool(true) {
                *count = Value::Int(6, 0);
            }
        }
    })
    .await;
}

/// Pitfall 13: nulls that are counted without bounds beside them say nothing of the other values.
#[tokio::test]
async fn null_counts_without_bounds_say_nothing_of_the_values() {
    check_changed(|chunk| {
        for bound in [OLD_MAX, OLD_MIN, MAX, MIN] {
            chunk.statistics().remove(&bound);
        }
        chunk.forget_pages();
    })
    .await;
}

/// Pitfall 13: what is all null has no bounds, matches IS NULL and no comparison.
#[tokio::test]
async fn pages_and_row_groups_of_nulls_hold_nothing_and_all_nulls() {
    let values = Int64Array::from(vec![
        None,
        None,
        None,
        Some(4),
        Some(5),
        Some(6),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        Some(7),
    ]);
    let filters = [
        "x IS NULL",
        "x IS NOT NULL",
        "x = 4",
        "x <> 4",
        "x IS NULL OR x > 5",
        "NOT (x > 5)",
        "x IN (7, NULL)",
        "x NOT IN (7, NULL)",
        "x IS DISTINCT FROM 4",
        "x IS NOT DISTINCT FROM NULL",
        "x > 5 OR x IS NULL",
        "(x > 5) IS NULL",
    ];
    check(vec![("x", Arc::new(values))], small(), &filters).await;
}
