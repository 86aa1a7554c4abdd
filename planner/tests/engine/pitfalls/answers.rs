//! Tables that are refused because rows of their files do not count, and answers that need no rows.

use std::sync::Arc;

use apache_avro::types::Value;
use arrow::array::{Float64Array, Int64Array, StringArray};
use wire::{Categorized, Category};

use super::{batch, check, in_memory, text, write};
use crate::lake::{Lake, session, statement};
use crate::metadata::{Metadata, data_file, field, is_about};

/// Pitfalls 26 and 28: tables of other formats, whose logs and delete files say which rows count, are
/// refused by their format.
#[tokio::test(flavor = "multi_thread")]
async fn delta_and_iceberg_tables_are_refused_by_their_format() {
    let lake = Lake::start(0).await;
    for format in ["DELTATABLE", "DELTA", "ICEBERG"] {
        let sql = format!("CREATE EXTERNAL TABLE t STORED AS {format} LOCATION '/nowhere'");
        let refused = lake
            .engine
            .execute_update(&session(), statement(&sql))
            .await;
        let error = refused.unwrap_err().to_string();
        let expected = format!("STORED AS {format} is not supported");
        assert!(error.contains(&expected), "{error}");
    }
}

/// Two files of one column, `x`: 1 and 2 in the first, 3 and 4 in the second.
async fn two_files() -> (Lake, Metadata) {
    let lake = Lake::start(1).await;
    lake.create("t", |folder| {
        for (name, values) in [("a", vec![1, 2]), ("b", vec![3, 4])] {
            let path = folder.join(format!("{name}.parquet"));
            write(&path, vec![("x", Arc::new(Int64Array::from(values)))]);
        }
    })
    .await;
    let metadata = Metadata::of_adopted(&lake, "t").await;
    (lake, metadata)
}

/// Pitfall 28: a snapshot with delete files is refused, whatever the query asks for, and not read without
/// them.
#[tokio::test(flavor = "multi_thread")]
async fn deletes_are_refused_and_never_ignored() {
    let (lake, metadata) = two_files().await;
    metadata.change_list(|manifests| {
        let mut deletes = manifests[0].clone();
        *field(&mut deletes, "content") = Value::Int(1);
        manifests.push(deletes);
    });
    for sql in [
        "SELECT * FROM t",
        "SELECT * FROM t WHERE x = 1",
        "SELECT * FROM t WHERE x > 100",
        "SELECT max(x) FROM t",
    ] {
        let refused = lake.query_in(&session(), sql).await;
        let error = refused.unwrap_err();
        assert_eq!(error.category(), Category::Unsupported, "{sql}: {error}");
        let error = error.to_string();
        assert!(error.contains("fulmar.main.t"), "{sql}: {error}");
        assert!(
            error.contains("delete files are not supported"),
            "{sql}: {error}"
        );
    }
}

/// Pitfall 28: a delete file that stands where data files should is no data file.
#[tokio::test(flavor = "multi_thread")]
async fn deletes_among_data_files_give_no_rows() {
    let (lake, metadata) = two_files().await;
    metadata.change_entries(|entry| {
        if is_about(entry, "/a.parquet") {
            *field(data_file(entry), "content") = Value::Int(1);
        }
    });
    let refused = lake.query_in(&session(), "SELECT * FROM t").await;
    let error = refused.unwrap_err();
    assert_eq!(error.category(), Category::Corrupt, "{error}");
}

/// Pitfall 28: an entry that says that its file was deleted gives no row, though the file is there.
#[tokio::test(flavor = "multi_thread")]
async fn deletes_of_whole_files_leave_no_row_of_them() {
    let (lake, metadata) = two_files().await;
    metadata.change_entries(|entry| {
        if is_about(entry, "/a.parquet") {
            *field(entry, "status") = Value::Int(2);
        }
    });
    let rows = batch(vec![("x", Arc::new(Int64Array::from(vec![3, 4])))]);
    check(&lake, &rows, &["x > 0", "x = 1", "x <= 3", "x IS NULL"]).await;
    let counted = lake
        .query("SELECT max(x) AS most, min(x) AS least FROM t")
        .await;
    assert_eq!(counted.column("least"), ["3"]);
}

/// Pitfall 29: bounds answer no aggregate: they may be cut, and those of floats leave NaN out.
#[tokio::test(flavor = "multi_thread")]
async fn exact_statistics_are_counts_of_rows_only() {
    let long = |end: &str| format!("{}{end}", "p".repeat(70));
    let words = [
        long("1"),
        long("3"),
        long("2"),
        long("0"),
        "\u{10ffff}".repeat(30),
        long("2"),
    ];
    let floats = [f64::NAN, 1.0, 2.5, -5.0, 3.0, 0.5];
    let numbers = [Some(1), None, Some(3), Some(-7), None, Some(6)];
    let rows = batch(vec![
        ("s", Arc::new(StringArray::from_iter_values(&words))),
        ("f", Arc::new(Float64Array::from(floats.to_vec()))),
        ("n", Arc::new(Int64Array::from(numbers.to_vec()))),
    ]);
    let lake = Lake::start(1).await;
    lake.create("t", |folder| {
        for (number, start) in [0, 3].into_iter().enumerate() {
            let part = rows.slice(start, 3);
            let columns = ["s", "f", "n"]
                .into_iter()
                .zip(part.columns().iter().cloned());
            write(&folder.join(format!("{number}.parquet")), columns.collect());
        }
    })
    .await;
    let statements = [
        "SELECT min(s) AS least, max(s) AS most FROM t",
        "SELECT min(s) AS least, max(s) AS most FROM t WHERE s >= 'p'",
        "SELECT min(s) AS least, max(s) AS most FROM t WHERE n IS NOT NULL",
        "SELECT min(f) AS least, max(f) AS most FROM t",
        "SELECT min(f) AS least, max(f) AS most FROM t WHERE f > 0",
        "SELECT min(n) AS least, max(n) AS most, count(n) AS present, count(*) AS every FROM t",
        "SELECT count(*) AS every FROM t",
        "SELECT count(*) AS every FROM t WHERE n > 0",
        "SELECT count(*) AS every FROM t WHERE s >= 'p'",
        "SELECT count(DISTINCT s) AS kinds FROM t",
        "SELECT count(*) AS every FROM (SELECT * FROM t LIMIT 4)",
    ];
    for adopted in [false, true] {
        if adopted {
            Metadata::of_adopted(&lake, "t").await;
        }
        for sql in statements {
            let expected = in_memory(&rows, sql).await;
            assert_eq!(text(&lake.query(sql).await), expected, "{sql}");
        }
    }
}
