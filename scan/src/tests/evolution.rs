use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int32Array, Int64Array, StringArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use fixtures::{Written, WrittenFile};
use model::schema::FIELD_ID_KEY;
use model::{ColumnMapping, Predicate, TableSchema};
use parquet::arrow::ArrowWriter;
use wire::Category;

use super::table::{Table, passes};
use crate::{ScanSpec, category_of};

fn write(dir: &Path, columns: Vec<(&str, Option<i32>, ArrayRef)>) -> Written {
    let field = |name: &str, id: Option<i32>, values: &ArrayRef| {
        let id = id.map(|id| (FIELD_ID_KEY.to_owned(), id.to_string()));
        Field::new(name, values.data_type().clone(), true).with_metadata(HashMap::from_iter(id))
    };
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, id, values)| field(name, *id, values))
        .collect();
    let values: Vec<ArrayRef> = columns.into_iter().map(|(_, _, values)| values).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), values).unwrap();
    let path = dir.join("part-0.parquet");
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    Written {
        files: vec![WrittenFile {
            path,
            rows: batch.num_rows() as u64,
            bytes,
        }],
    }
}

fn with_columns(table: &mut Table, columns: Vec<(&str, i32, DataType)>) {
    let field = |(name, id, kind): (&str, i32, DataType)| {
        let id = (FIELD_ID_KEY.to_owned(), id.to_string());
        Field::new(name, kind, true).with_metadata(HashMap::from([id]))
    };
    let fields: Vec<Field> = columns.into_iter().map(field).collect();
    table.schema = TableSchema::try_new(Arc::new(Schema::new(fields))).unwrap();
}

fn numbers(values: Vec<i32>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

/// Pitfall 8: statistics of a file have the width that the column had when it was written.
#[tokio::test]
async fn types_are_widened_and_missing_columns_are_null() {
    let dir = tempfile::tempdir().unwrap();
    let days = Arc::new(Date32Array::from(vec![19_783, 19_784, 19_785])) as ArrayRef;
    let written = write(
        dir.path(),
        vec![("n", None, numbers(vec![1, 2, 3])), ("d", None, days)],
    );
    let mut table = Table::of("t", &written).await;
    let instants = DataType::Timestamp(TimeUnit::Microsecond, None);
    let columns = vec![
        ("new", 1, DataType::Utf8),
        ("d", 2, instants),
        ("n", 3, DataType::Int64),
    ];
    with_columns(&mut table, columns);
    for (sql, expected) in [
        ("n >= 2", vec![2, 3]),
        ("n > 7", vec![]),
        ("new IS NULL AND n < 3", vec![1, 2]),
        ("new = 'x'", vec![]),
        ("d > TIMESTAMP '2024-03-01T12:00:00'", vec![2, 3]),
        ("n BETWEEN 0 AND 9", vec![1, 2, 3]),
    ] {
        let filter = table.filter(sql);
        let scanned = table.scan(table.spec(&["n"], Some(&filter))).await;
        let expected: ArrayRef = Arc::new(Int64Array::from(expected));
        assert_eq!(scanned.rows.column(0), &expected, "{sql}");
    }
    let scanned = table.scan(table.spec(&["new"], None)).await;
    let nulls: ArrayRef = Arc::new(StringArray::new_null(3));
    assert_eq!(scanned.rows.column(0), &nulls);
}

/// Pitfall 21: after a rename, a name in a file may be that of another column.
#[tokio::test]
async fn columns_are_found_by_their_ids_after_a_rename() {
    let dir = tempfile::tempdir().unwrap();
    let columns = vec![
        ("a", Some(1), numbers(vec![1, 2, 3])),
        ("b", Some(2), numbers(vec![10, 20, 30])),
    ];
    let mut table = Table::of("t", &write(dir.path(), columns)).await;
    // Column 1 was renamed to b, and what was b became old.
    with_columns(
        &mut table,
        vec![("b", 1, DataType::Int32), ("old", 2, DataType::Int32)],
    );
    let filter = table.filter("b >= 2");
    let mut spec = table.spec(&["old"], Some(&filter));
    spec.mapping = ColumnMapping::ByFieldId;
    let scanned = table.scan(spec).await;
    assert_eq!(scanned.rows.column(0), &numbers(vec![20, 30]));
    let filter = table.filter("b > 5");
    let mut spec = table.spec(&["old"], Some(&filter));
    spec.mapping = ColumnMapping::ByFieldId;
    let scanned = table.scan(spec).await;
    assert_eq!(scanned.reports[0].counts.row_groups_skipped_statistics, 1);
}

/// Pitfall 21: a column that was dropped and added again has the same name and another field id; the files from
/// before lack it, whatever they hold under that name.
#[tokio::test]
async fn field_ids_tell_a_column_from_a_dropped_one_of_its_name() {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let old = vec![
        ("x", Some(1), numbers(vec![10, 20, 30])),
        ("k", Some(2), numbers(vec![1, 2, 3])),
    ];
    let new = vec![
        ("x", Some(3), numbers(vec![15, 25, 35])),
        ("k", Some(2), numbers(vec![4, 5, 6])),
    ];
    let mut written = write(before.path(), old);
    written.files.extend(write(after.path(), new).files);
    let mut table = Table::of("t", &written).await;
    let columns = vec![("k", 2, DataType::Int32), ("x", 3, DataType::Int32)];
    with_columns(&mut table, columns);
    let again = Int32Array::from(vec![None, None, None, Some(15), Some(25), Some(35)]);
    let rows = vec![numbers(vec![1, 2, 3, 4, 5, 6]), Arc::new(again) as ArrayRef];
    let rows = RecordBatch::try_new(table.visible(), rows).unwrap();
    for sql in [
        "x IS NULL",
        "x IS NOT NULL",
        "x = 20",
        "x >= 20",
        "x < 30",
        "x <> 15",
        "x IS DISTINCT FROM 15",
        "x IS NULL AND k > 1",
        "NOT (x > 20)",
    ] {
        let filter = table.filter(sql);
        let mut pruned = table.spec(&["k", "x"], Some(&filter));
        pruned.mapping = ColumnMapping::ByFieldId;
        let unpruned = ScanSpec {
            predicate: Predicate::Unknown,
            ..pruned.clone()
        };
        let expected = filter_record_batch(&rows, &passes(&filter, &rows)).unwrap();
        for spec in [pruned, unpruned] {
            assert_eq!(table.scan(spec).await.rows, expected, "{sql}");
        }
    }
    // By the statistics of the dropped column, twenty would be in the first file.
    let filter = table.filter("x = 20");
    let mut spec = table.spec(&["k"], Some(&filter));
    spec.mapping = ColumnMapping::ByFieldId;
    let scanned = table.scan(spec).await;
    assert_eq!(scanned.reports[0].counts.row_groups_skipped_statistics, 1);
}

#[tokio::test]
async fn values_that_do_not_fit_name_the_file_and_the_column() {
    let dir = tempfile::tempdir().unwrap();
    let text = Arc::new(StringArray::from(vec!["one", "2"])) as ArrayRef;
    let mut table = Table::of("t", &write(dir.path(), vec![("n", None, text)])).await;
    with_columns(&mut table, vec![("n", 1, DataType::Int64)]);
    let error = table
        .try_scan(table.spec(&["n"], None), &table.tasks)
        .await
        .err()
        .unwrap();
    assert_eq!(category_of(&error), Category::Precondition);
    let text = error.to_string();
    assert!(
        text.contains("part-0.parquet") && text.contains("\"n\""),
        "{text}"
    );
}
