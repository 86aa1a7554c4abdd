//! Partitions as paths tell them.

use std::sync::Arc;

use arrow::array::{Date32Array, StringArray};

use super::{batch, check, numbers, skipped, write_number};
use crate::lake::Lake;

/// Pitfall 27: paths are split at their slashes first, and each value is decoded once.
#[tokio::test(flavor = "multi_thread")]
async fn paths_are_split_first_and_decoded_once() {
    let files = [
        ("root.parquet", None),
        ("city=New York/a.parquet", Some("New York")),
        ("city=S%C3%A3o Paulo/a b.parquet", Some("São Paulo")),
        ("city=a%2Fb/#?.parquet", Some("a/b")),
        ("city=a=b/a.parquet", Some("a=b")),
        ("city=100%25/a.parquet", Some("100%")),
        ("city=%2541/a.parquet", Some("%41")),
        ("city=A/a%20b.parquet", Some("A")),
        ("city=/a.parquet", Some("")),
        ("city=__HIVE_DEFAULT_PARTITION__/a.parquet", None),
    ];
    let lake = Lake::start(1).await;
    lake.create("t", |folder| {
        for (x, (path, _)) in (0..).zip(files) {
            write_number(&folder.join(path), x);
        }
    })
    .await;
    let cities: StringArray = files.iter().map(|(_, city)| *city).collect();
    let rows = batch(vec![("x", numbers(0..10)), ("city", Arc::new(cities))]);
    let filters = [
        "city = 'São Paulo'",
        "city = 'S%C3%A3o Paulo'",
        "city = 'a/b'",
        "city = 'a'",
        "city = 'a=b'",
        "city = '100%'",
        "city = '100%25'",
        "city = '%41'",
        "city = 'A'",
        "city = ''",
        "city IS NULL",
        "city IS NOT NULL",
        "city <> 'A'",
        "city LIKE 'a%'",
        "city NOT LIKE 'a%'",
        "city > 'N'",
        "city IN ('New York', 'a=b')",
        "city = '__HIVE_DEFAULT_PARTITION__'",
    ];
    check(&lake, &rows, &filters).await;
    assert_eq!(skipped(&lake, "partition", "city = 'a/b'").await, 9);
}

/// Pitfall 27: partition values compare as their type: numbers and days as such, and text that only looks
/// like a number as text.
#[tokio::test(flavor = "multi_thread")]
async fn paths_give_values_that_compare_as_their_type() {
    let files = [
        ("n=1/d=2024-01-31/y=07", 1, 19_753, "07"),
        ("n=9/d=2024-02-01/y=8", 9, 19_754, "8"),
        ("n=10/d=2024-10-01/y=10", 10, 19_997, "10"),
        ("n=-2/d=1969-12-31/y=9", -2, -1, "9"),
    ];
    let lake = Lake::start(1).await;
    lake.create("t", |folder| {
        for (x, (path, ..)) in (0..).zip(files) {
            write_number(&folder.join(path).join("a.parquet"), x);
        }
    })
    .await;
    // Files come in the order of their paths, columns in that of their folders.
    let days = files.map(|(_, _, day, _)| day);
    let years = files.map(|(_, _, _, year)| year);
    let rows = batch(vec![
        ("x", numbers(0..4)),
        ("n", numbers(files.map(|(_, number, ..)| number))),
        ("d", Arc::new(Date32Array::from(days.to_vec()))),
        ("y", Arc::new(StringArray::from(years.to_vec()))),
    ]);
    let filters = [
        "n > 9",
        "n < 2",
        "n = 10",
        "n BETWEEN -5 AND 1",
        "d >= DATE '2024-02-01'",
        "d < DATE '1970-01-01'",
        "d = DATE '2024-10-01'",
        "d < TIMESTAMP '2024-01-31T12:00:00'",
        "y = '07'",
        "y = '7'",
        "y < '8'",
        "y > '1' AND n > 5",
    ];
    check(&lake, &rows, &filters).await;
    assert_eq!(skipped(&lake, "partition", "n > 9").await, 3);
    assert_eq!(skipped(&lake, "partition", "y = '7'").await, 4);
}
