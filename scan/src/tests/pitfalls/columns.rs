use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int64Type};
use bytes::Bytes;
use fixtures::awkward::awkward_batch;
use model::{Datum, PartitionValue};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;

use super::{Case, Columns, batch, by_datafusion, check, numbers, small, written};
use crate::Limits;
use crate::tests::table::Table;

/// Pitfall 20: a column whose name has a dot is not the leaf of a struct.
#[tokio::test]
async fn names_with_dots_and_nested_leaves_are_told_apart() {
    let inner: ArrayRef = Arc::new(Int64Array::from_iter_values((0..24).rev()));
    let field = Field::new("b", DataType::Int64, true);
    let nested = StructArray::from(vec![(Arc::new(field), inner)]);
    let columns: Columns = vec![
        ("a", Arc::new(nested)),
        ("a.b", Arc::new(Int64Array::from_iter_values(0..24))),
        ("A.B", Arc::new(Int64Array::from_iter_values(100..124))),
    ];
    let filters = [
        "\"a.b\" < 3",
        "\"A.B\" < 3",
        "\"A.B\" > 120",
        "\"a.b\" = 23 AND \"A.B\" = 123",
    ];
    check(columns, small(), &filters).await;
}

/// Pitfall 20: behind columns of several leaves, the statistics of a column are those of its own leaf, whatever
/// the names of the others are.
#[tokio::test]
async fn column_names_with_dots_find_their_leaf_behind_nested_columns() {
    let field = |name: &str, kind| Arc::new(Field::new(name, kind, true));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["x"; 24]));
    let nested = StructArray::from(vec![
        (field("b", DataType::Int64), numbers((0..24).rev())),
        (field("c", DataType::Utf8), words),
        (field("d.e", DataType::Int64), numbers(100..124)),
    ]);
    let lists = (0..24).map(|row| Some(vec![Some(-row), None]));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let columns: Columns = vec![
        ("a", Arc::new(nested)),
        ("list", Arc::new(lists)),
        ("a.b", numbers(0..24)),
        ("d.e", numbers((200..224).rev())),
        ("a.d.e", numbers(300..324)),
        ("list.element", numbers(400..424)),
        ("last", numbers((500..524).rev())),
    ];
    let filters = [
        "\"a.b\" < 3",
        "\"a.b\" >= 22",
        "\"d.e\" > 221",
        "\"d.e\" < 202",
        "\"a.d.e\" = 301",
        "\"list.element\" BETWEEN 404 AND 405",
        "last = 500",
        "\"a.b\" = 23 AND \"d.e\" = 200 AND last = 500",
        "a['b'] = 23",
        "a['d.e'] = 101 AND \"a.b\" = 1",
    ];
    check(columns, small(), &filters).await;
}

/// The rows as a file gives them: in memory, there may be a value under a struct that is null.
fn read_back(file: &[u8]) -> RecordBatch {
    let file = Bytes::copy_from_slice(file);
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = Arc::clone(reader.schema());
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// Pitfall 22: the nulls of a leaf are those of all levels above it, so they prove nothing of the nulls of a
/// struct, a list or a map.
#[tokio::test]
async fn nested_null_counts_are_ambiguous() {
    let rows = awkward_batch(0..1_000).unwrap();
    let names = [
        "id",
        "nested",
        "list",
        "map",
        "fixed_list",
        "list_of_struct",
    ];
    let positions = names.map(|name| rows.schema().index_of(name).unwrap());
    let rows = rows.project(&positions).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(250))
        .set_data_page_row_count_limit(50)
        .set_write_batch_size(50);
    let file = written(&rows, properties);
    let case = Case::of(read_back(&file), &file, &file).await;
    let mut filters: Vec<String> = Vec::new();
    for name in &names[1..] {
        filters.push(format!("\"{name}\" IS NULL"));
        filters.push(format!("\"{name}\" IS NOT NULL"));
        filters.push(format!("NOT (\"{name}\" IS NULL) AND id < 600"));
        filters.push(format!("\"{name}\" IS NULL OR id = 77"));
    }
    for leaf in [
        "nested['number']",
        "nested['inner']['deep']",
        "nested['inner']",
        "\"list\"[1]",
    ] {
        filters.push(format!("{leaf} IS NULL"));
        filters.push(format!("{leaf} IS NOT NULL"));
        filters.push(format!("{leaf} IS NULL AND nested IS NOT NULL"));
    }
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    case.check(&filters).await;
}

/// Pitfall 30: a partition value replaces the filter in the files that have one; in a file whose spec does not
/// settle the filter, it is evaluated.
#[tokio::test]
async fn partition_predicates_replace_the_filter_only_where_the_spec_settles_it() {
    let files: [[Option<i64>; 4]; 3] = [[Some(5); 4], [Some(5), Some(6), None, Some(5)], [None; 4]];
    let dir = tempfile::tempdir().unwrap();
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut batches: Vec<RecordBatch> = Vec::new();
    for (number, values) in (0..).zip(&files) {
        let partition = Int64Array::from(values.to_vec());
        let rows = batch(vec![
            ("p", Arc::new(partition)),
            ("x", numbers(number * 4..number * 4 + 4)),
        ]);
        let path = dir.path().join(format!("part-{number}.parquet"));
        std::fs::write(&path, written(&rows, small())).unwrap();
        paths.push(path);
        batches.push(rows);
    }
    let all = paths.iter().map(PathBuf::as_path);
    let mut table = Table::of_files("partitioned", all, Limits::default()).await;
    let field = table.schema.id_of("p").unwrap();
    // The second file was written when the table was not partitioned.
    for number in [0, 2] {
        let value = files[number][0].map(Datum::Int);
        table.tasks[number].partition_values = vec![PartitionValue { field, value }];
    }
    let rows = concat_batches(&batches[0].schema(), &batches).unwrap();
    for sql in [
        "p = 5",
        "p <> 5",
        "p > 5",
        "p IS NULL",
        "p IS NOT NULL",
        "p = 5 AND x > 1",
        "p = 5 OR x > 6",
        "p IN (5, 7)",
        "NOT (p = 5)",
        "p IS DISTINCT FROM 5",
    ] {
        let filter = table.filter(sql);
        table.check(&rows, &filter, &[0, 1]).await;
        let mut judged = 0;
        for path in &paths {
            let passed = by_datafusion(path, &table.visible(), &filter).await;
            judged += passed.num_rows();
        }
        let scanned = table.scan(table.spec(&["p", "x"], Some(&filter))).await;
        assert_eq!(scanned.rows.num_rows(), judged, "{sql}");
    }
    let filter = table.filter("p = 5");
    let scanned = table.scan(table.spec(&["x"], Some(&filter))).await;
    let settled = scanned.reports.iter();
    let settled = settled.map(|report| report.counts.row_groups_fully_matched);
    assert_eq!(settled.collect::<Vec<_>>(), [1, 0, 0]);
}
