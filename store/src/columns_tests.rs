//! Columns are found by exact name or by id, and never by a nested leaf.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use parquet::file::metadata::FileMetaData;
use parquet::schema::parser::parse_message_type;

use super::*;

fn file(message: &str) -> ParquetMetaData {
    let root = Arc::new(parse_message_type(message).unwrap());
    let descriptor = Arc::new(SchemaDescriptor::new(root));
    ParquetMetaData::new(
        FileMetaData::new(1, 0, None, None, descriptor, None),
        vec![],
    )
}

fn table(names: &[&str]) -> TableSchema {
    let fields = names
        .iter()
        .map(|name| Field::new(*name, DataType::Int64, true));
    TableSchema::numbered(&Schema::new(fields.collect::<Vec<_>>()))
}

fn found(message: &str, names: &[&str], mapping: ColumnMapping) -> Vec<Option<(usize, bool)>> {
    let columns = match_columns("f", &file(message), &table(names), mapping).unwrap();
    let leaf = |column: Option<FileColumn>| column.map(|c| (c.leaves.start, c.flat));
    columns.columns.into_iter().map(leaf).collect()
}

const NESTED: &str = "message m {
    optional group s { optional int64 a; optional int64 b; }
    optional int64 b;
    optional int64 s.a;
    repeated int64 r;
}";

#[test]
fn names_match_exactly_and_only_at_the_top() {
    let names = ["b", "s.a", "s", "B", "a", "r"];
    let expected = [
        Some((2, true)),
        Some((3, true)),
        Some((0, false)),
        None,
        None,
        Some((4, false)),
    ];
    assert_eq!(found(NESTED, &names, ColumnMapping::ByName), expected);
}

#[test]
fn ids_match_when_a_file_has_them_and_names_when_it_has_none() {
    let with_ids = "message m { optional int64 b = 1; optional int64 a = 9; }";
    let expected = [Some((0, true)), None];
    assert_eq!(
        found(with_ids, &["a", "b"], ColumnMapping::ByFieldId),
        expected
    );
    let expected = [Some((1, true)), Some((0, true))];
    assert_eq!(
        found(with_ids, &["a", "b"], ColumnMapping::ByName),
        expected
    );
    let without = "message m { optional int64 b; optional int64 a; }";
    assert_eq!(
        found(without, &["a", "b"], ColumnMapping::ByFieldId),
        expected
    );
}

#[test]
fn of_two_columns_with_one_name_the_first_counts() {
    let twice = "message m { optional int64 a; optional int64 a; }";
    assert_eq!(
        found(twice, &["a"], ColumnMapping::ByName),
        [Some((0, true))]
    );
}
