//! Footers by column say of each column what the whole footer says.

use std::sync::Arc;

use model::{ColumnMapping, TableSchema};

use super::*;
use crate::columns::match_columns;
use crate::footer::{FooterHint, read_footer_and_indexes};
use crate::infer::arrow_schema;
use crate::ledger::Ledger;
use crate::open::Stores;

async fn opened(path: &std::path::Path) -> (DataFile, Footer) {
    let location = Stores::from_env().resolve(path.to_str().unwrap()).unwrap();
    let ledger = Ledger::new(location);
    let size = std::fs::metadata(path).unwrap().len();
    let hint = FooterHint::default();
    let footer = read_footer_and_indexes(&ledger, Some(size), hint, u64::MAX).await;
    let footer = footer.unwrap();
    let file = DataFile {
        path: ledger.url().to_owned(),
        size,
        version: None,
        record_count: None,
        footer_length: Some(footer.footer_length),
        page_index: footer.page_index,
    };
    (file, footer)
}

/// Fails unless these columns, put together, are those of the whole footer.
fn check(file: &DataFile, whole: &Footer, parts: &[FooterColumn], chosen: &[usize]) {
    let some: Vec<_> = chosen.iter().map(|at| parts[*at].clone()).collect();
    let joined = join("f", file, &some).unwrap();
    assert_eq!(
        joined.metadata.num_row_groups(),
        whole.metadata.num_row_groups()
    );
    assert_eq!(joined.rows(), whole.rows());
    assert_eq!(joined.footer_length, whole.footer_length);
    let (a, b) = (
        joined.metadata.file_metadata(),
        whole.metadata.file_metadata(),
    );
    assert_eq!(a.created_by(), b.created_by());
    assert_eq!(a.column_orders().is_some(), b.column_orders().is_some());
    let schema = arrow_schema("f", &whole.metadata).unwrap();
    let table = TableSchema::numbered(&schema);
    let mapping = ColumnMapping::ByName;
    let in_whole = match_columns("f", &whole.metadata, &table, mapping).unwrap();
    let in_joined = match_columns("f", &joined.metadata, &table, mapping).unwrap();
    let mut found = 0;
    for (expected, column) in in_whole.columns.iter().zip(&in_joined.columns) {
        let (Some(expected), Some(column)) = (expected, column) else {
            continue;
        };
        found += 1;
        assert_eq!(column.file_type, expected.file_type, "{:?}", file.path);
        assert_eq!(column.flat, expected.flat);
        let leaves = || column.leaves.clone().zip(expected.leaves.clone());
        for (leaf, same) in leaves() {
            assert_eq!(a.column_order(leaf), b.column_order(same));
        }
        let groups = joined.metadata.row_groups().iter();
        for (group, other) in groups.zip(whole.metadata.row_groups()) {
            assert_eq!(group.num_rows(), other.num_rows());
            for (leaf, same) in leaves() {
                let (chunk, other) = (group.column(leaf), other.column(same));
                assert_eq!(chunk, other, "{:?}", file.path);
                for range in [column_index(chunk), offset_index(chunk)]
                    .into_iter()
                    .flatten()
                {
                    let bytes = joined.tail.get(&range);
                    assert!(bytes.is_some() && bytes == whole.tail.get(&range));
                }
            }
        }
    }
    assert_eq!(found, chosen.len());
}

#[tokio::test]
async fn columns_by_themselves_are_those_of_the_footer() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = 0;
    for (_, written) in fixtures::write_tables(folder.path(), 2_000).unwrap() {
        for path in written.paths() {
            let (file, whole) = opened(path).await;
            let Some(parts) = split(&whole) else {
                panic!("{} has no columns", file.path);
            };
            let all: Vec<usize> = (0..parts.len()).collect();
            check(&file, &whole, &parts, &all);
            for one in &all {
                check(&file, &whole, &parts, &[*one]);
            }
            let some: Vec<usize> = all.into_iter().filter(|at| at % 3 != 1).collect();
            check(&file, &whole, &parts, &some);
            files += 1;
        }
    }
    assert!(files > 20, "{files}");
}

/// The footer of a file with this schema and one row group of no rows.
async fn of_schema(message: &str) -> Footer {
    let schema = Arc::new(parquet::schema::parser::parse_message_type(message).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let writer = parquet::file::writer::SerializedFileWriter::new(file, schema, Arc::default());
    writer.unwrap().close().unwrap();
    opened(&path).await.1
}

#[tokio::test]
async fn footers_that_could_be_understood_otherwise_stay_whole() {
    for (message, is_split) in [
        ("message m { optional int64 a; optional int64 b; }", true),
        (
            "message m { optional int64 a = 1; optional int64 b = 2; }",
            true,
        ),
        (
            "message m { optional int64 a = 1; optional int64 b; }",
            false,
        ),
        ("message m { optional int64 a; optional int32 a; }", false),
    ] {
        let footer = of_schema(message).await;
        assert_eq!(split(&footer).is_some(), is_split, "{message}");
        let large = Footer {
            footer_length: MOST_KEPT + 1,
            ..footer
        };
        assert!(split(&large).is_none() && is_too_large(&large));
    }
}

#[tokio::test]
async fn a_footer_without_its_page_indexes_is_not_taken_apart() {
    let folder = tempfile::tempdir().unwrap();
    let written = fixtures::orders_paged(folder.path(), 20_000).unwrap();
    let (file, whole) = opened(written.paths().next().unwrap()).await;
    let mut parts = split(&whole).unwrap();
    assert!(knows_pages(&join("f", &file, &parts).unwrap()));
    for part in &mut parts {
        part.offset_indexes.clear();
    }
    assert!(!knows_pages(&join("f", &file, &parts).unwrap()));
    let start = whole.size - whole.footer_length;
    let alone = whole.tail.get(&(start..whole.size)).unwrap();
    let tail = Fetched::of(vec![(start, alone)]);
    assert!(split(&Footer { tail, ..whole }).is_none());
}
