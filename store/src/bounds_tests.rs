//! Bounds from statistics as writers give them: deprecated, cut, missing or odd ones.

use std::sync::Arc;

use arrow_buffer::i256;
use arrow_schema::{Field, Schema};
use model::{ColumnMapping, TableSchema};
use parquet::data_type::{ByteArray, Int96};
use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
use parquet::file::statistics::ValueStatistics;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::*;
use crate::columns::match_columns;

const ROWS: i64 = 10;

/// A file with one column and one row group for each of the statistics.
fn file(column: &str, ordered: bool, statistics: &[Option<Statistics>]) -> ParquetMetaData {
    let root = parse_message_type(&format!("message m {{ {column} }}")).unwrap();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(root)));
    let order = || {
        let leaf = schema.column(0);
        ColumnOrder::TYPE_DEFINED_ORDER(ColumnOrder::sort_order_for_type(
            leaf.logical_type_ref(),
            leaf.converted_type(),
            leaf.physical_type(),
        ))
    };
    let orders = ordered.then(|| vec![order()]);
    let group = |statistics: &Option<Statistics>| {
        let mut chunk = ColumnChunkMetaData::builder(schema.column(0));
        if let Some(statistics) = statistics {
            chunk = chunk.set_statistics(statistics.clone());
        }
        RowGroupMetaData::builder(Arc::clone(&schema))
            .set_num_rows(ROWS)
            .set_column_metadata(vec![chunk.build().unwrap()])
            .build()
            .unwrap()
    };
    let groups = statistics.iter().map(group).collect();
    let total = ROWS * i64::try_from(statistics.len()).unwrap();
    ParquetMetaData::new(
        FileMetaData::new(1, total, None, None, Arc::clone(&schema), orders),
        groups,
    )
}

fn bounds(file: &ParquetMetaData, table: DataType) -> Option<ColumnBounds> {
    let schema = Schema::new(vec![Field::new("x", table, true)]);
    let table = TableSchema::numbered(&schema);
    let columns = match_columns("f", file, &table, ColumnMapping::ByName).unwrap();
    file_bounds(file, &columns)
        .into_iter()
        .next()
        .map(|(_, bounds)| bounds)
}

fn limits_of(column: &str, statistics: Statistics, table: DataType) -> Option<[Option<Bound>; 2]> {
    let bounds = bounds(&file(column, true, &[Some(statistics)]), table)?;
    Some([bounds.lower, bounds.upper])
}

#[allow(clippy::unnecessary_wraps)] // as the cases want it
fn int(min: i32, max: i32, nulls: Option<u64>) -> Option<Statistics> {
    Some(Statistics::int32(Some(min), Some(max), None, nulls, false))
}

fn text(min: &str, max: &str, deprecated: bool) -> ValueStatistics<ByteArray> {
    let bytes = |text: &str| Some(ByteArray::from(text.as_bytes().to_vec()));
    ValueStatistics::new(bytes(min), bytes(max), None, Some(0), deprecated)
}

#[allow(clippy::unnecessary_wraps)] // as the cases want it
fn outer(text: &str) -> Option<Bound> {
    Some(Bound::outer(Datum::text(text)))
}

#[allow(clippy::unnecessary_wraps)] // as the cases want it
fn exact(text: &str) -> Option<Bound> {
    Some(Bound::exact(Datum::text(text)))
}

#[test]
fn a_file_is_bounded_by_the_extremes_of_its_row_groups() {
    let file = file(
        "optional int32 x;",
        true,
        &[int(3, 9, Some(1)), int(-4, 5, Some(2))],
    );
    let expected = ColumnBounds {
        lower: Some(Bound::exact(Datum::Int(-4))),
        upper: Some(Bound::exact(Datum::Int(9))),
        null_count: Some(3),
        nan_count: None,
        row_count: Some(20),
    };
    assert_eq!(bounds(&file, DataType::Int32), Some(expected.clone()));
    assert_eq!(bounds(&file, DataType::Int64), Some(expected));
}

#[test]
fn one_row_group_without_statistics_leaves_the_file_without_bounds() {
    let file = file("optional int32 x;", true, &[int(3, 9, Some(1)), None]);
    let expected = ColumnBounds {
        row_count: Some(20),
        ..ColumnBounds::default()
    };
    assert_eq!(bounds(&file, DataType::Int32), Some(expected));
}

#[test]
fn a_row_group_of_nulls_bounds_nothing_and_spoils_nothing() {
    let nulls = Some(Statistics::int32(None, None, None, Some(10), false));
    let file = file("optional int32 x;", true, &[int(3, 9, Some(0)), nulls]);
    let bounds = bounds(&file, DataType::Int32).unwrap();
    assert_eq!(bounds.lower, Some(Bound::exact(Datum::Int(3))));
    assert_eq!(bounds.null_count, Some(10));
}

#[test]
fn a_missing_or_impossible_null_count_is_unknown_and_a_required_column_has_none() {
    let cases = [
        ("optional int32 x;", None, None),
        ("optional int32 x;", Some(11), None),
        ("optional int32 x;", Some(10), Some(10)),
        ("required int32 x;", None, Some(0)),
    ];
    for (column, stated, expected) in cases {
        let bounds = bounds(&file(column, true, &[int(3, 9, stated)]), DataType::Int32).unwrap();
        assert_eq!(bounds.null_count, expected, "{column} {stated:?}");
    }
}

#[test]
fn deprecated_and_unordered_statistics_count_for_signed_numbers_only() {
    let signed = Statistics::int32(Some(1), Some(2), None, Some(0), true);
    let bytes = Statistics::ByteArray(text("a", "b", true));
    let cases = [
        ("optional int32 x;", &signed, DataType::Int32, true),
        (
            "optional int32 x (INTEGER(32,false));",
            &signed,
            DataType::UInt32,
            false,
        ),
        ("optional binary x (STRING);", &bytes, DataType::Utf8, false),
        ("optional binary x;", &bytes, DataType::Binary, false),
    ];
    for (column, statistics, table, kept) in cases {
        for ordered in [true, false] {
            let file = file(column, ordered, &[Some(statistics.clone())]);
            let bounds = bounds(&file, table.clone()).unwrap();
            assert_eq!(bounds.lower.is_some(), kept, "{column}");
            assert_eq!(bounds.null_count, Some(0));
        }
    }
    let current = Statistics::ByteArray(text("a", "b", false));
    let unordered = file("optional binary x (STRING);", false, &[Some(current)]);
    assert_eq!(bounds(&unordered, DataType::Utf8).unwrap().lower, None);
}

#[test]
fn cut_bounds_are_outer_ones_and_stay_bytes() {
    let cut = text("abc", "abd", false)
        .with_min_is_exact(false)
        .with_max_is_exact(false);
    let cut = limits_of(
        "optional binary x (STRING);",
        Statistics::ByteArray(cut),
        DataType::Utf8,
    );
    assert_eq!(cut, Some([outer("abc"), outer("abd")]));
    let whole = Statistics::ByteArray(text("abc", "abd", false));
    let whole = limits_of("optional binary x (STRING);", whole, DataType::LargeUtf8);
    assert_eq!(whole, Some([exact("abc"), exact("abd")]));
    let broken = ValueStatistics::new(Some(ByteArray::from(vec![0xc3])), None, None, None, false);
    let broken = limits_of(
        "optional binary x (STRING);",
        Statistics::ByteArray(broken),
        DataType::Utf8,
    );
    assert_eq!(
        broken,
        Some([Some(Bound::exact(Datum::Bytes(vec![0xc3]))), None])
    );
}

#[test]
fn unsigned_numbers_are_read_as_such() {
    let statistics = Statistics::int32(Some(1), Some(-1), None, Some(0), false);
    let limits = limits_of(
        "optional int32 x (INTEGER(32,false));",
        statistics,
        DataType::UInt32,
    );
    let expected = [Datum::UInt(1), Datum::UInt(4_294_967_295)].map(|v| Some(Bound::exact(v)));
    assert_eq!(limits, Some(expected));
}

#[test]
fn nan_and_crossed_bounds_are_dropped_and_a_zero_need_not_occur() {
    let double = |min: f64, max: f64| {
        let statistics = Statistics::double(Some(min), Some(max), None, Some(0), false);
        limits_of("optional double x;", statistics, DataType::Float64).unwrap()
    };
    assert_eq!(double(f64::NAN, 1.0), [None, None]);
    assert_eq!(double(1.0, f64::NAN), [None, None]);
    assert_eq!(double(2.0, 1.0), [None, None]);
    let zero = Some(Bound::outer(Datum::Float(0.0)));
    assert_eq!(
        double(0.0, 1.0),
        [zero, Some(Bound::exact(Datum::Float(1.0)))]
    );
    let [lower, upper] = double(0.0, -0.0);
    assert!(lower.is_some() && upper.is_some());
}

#[test]
fn int96_and_types_that_do_not_widen_give_no_bounds() {
    let int96 = Int96::from(vec![1, 2, 3]);
    let statistics = Statistics::int96(Some(int96), Some(int96), None, Some(0), false);
    let timestamp = DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None);
    let limits = limits_of("optional int96 x;", statistics, timestamp);
    assert_eq!(limits, Some([None, None]));
    let narrow = limits_of(
        "optional int64 x;",
        Statistics::int64(Some(1), Some(2), None, None, false),
        DataType::Int32,
    );
    assert_eq!(narrow, None);
    let other = limits_of(
        "optional int32 x;",
        int(1, 2, None).unwrap(),
        DataType::Utf8,
    );
    assert_eq!(other, None);
}

#[test]
fn decimals_are_numbers_and_must_be_whole() {
    let decimal = |unscaled: i128| Datum::Decimal {
        unscaled: i256::from_i128(unscaled),
        scale: 2,
    };
    let fixed = |bytes: Vec<u8>| {
        let value = || Some(ByteArray::from(bytes.clone()).into());
        let values = ValueStatistics::new(value(), value(), None, None, false);
        let statistics = Statistics::FixedLenByteArray(values.with_min_is_exact(false));
        let column = "optional fixed_len_byte_array(2) x (DECIMAL(4,2));";
        limits_of(column, statistics, DataType::Decimal128(4, 2)).unwrap()
    };
    let [lower, upper] = fixed(vec![0xff, 0x9c]);
    assert_eq!(lower, Some(Bound::outer(decimal(-100))));
    assert_eq!(upper, Some(Bound::exact(decimal(-100))));
    assert_eq!(fixed(vec![0xff]), [None, None]);
    let cut = text("\u{1}", "\u{1}", false)
        .with_min_is_exact(false)
        .with_max_is_exact(true);
    let column = "optional binary x (DECIMAL(4,2));";
    let limits = limits_of(
        column,
        Statistics::ByteArray(cut),
        DataType::Decimal128(4, 2),
    );
    assert_eq!(limits, Some([None, Some(Bound::exact(decimal(1)))]));
}

#[test]
fn nested_and_absent_columns_are_not_mentioned() {
    let nested = file(
        "optional group x { optional int32 y; }",
        true,
        &[int(1, 2, Some(0))],
    );
    let of_struct = DataType::Struct(vec![Field::new("y", DataType::Int32, true)].into());
    assert_eq!(bounds(&nested, of_struct), None);
    let other = file("optional int32 y;", true, &[int(1, 2, Some(0))]);
    assert_eq!(bounds(&other, DataType::Int32), None);
}

#[test]
fn times_are_bounded_in_every_finer_unit_of_the_table() {
    use arrow_schema::TimeUnit;
    let micros = Statistics::int64(Some(-1_500), Some(2_500), None, Some(0), false);
    let column = "optional int64 x (TIMESTAMP(MICROS,false));";
    let limits = |unit| limits_of(column, micros.clone(), DataType::Timestamp(unit, None));
    let time = |value| {
        let unit = TimeUnit::Microsecond;
        let utc = false;
        Some(Bound::exact(Datum::Timestamp { value, unit, utc }))
    };
    assert_eq!(
        limits(TimeUnit::Nanosecond),
        Some([time(-1_500), time(2_500)])
    );
    assert_eq!(limits(TimeUnit::Millisecond), None);
}
