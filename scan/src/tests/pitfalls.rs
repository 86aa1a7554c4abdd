//! Where pruning goes wrong in systems that others run: for each such place, rows that provoke it, and
//! filters under which pruned, unpruned and plain reading must give the same.
//!
//! Places that need a file no writer of ours makes (legacy statistics, missing counts, INT96) are tested
//! where statistics are read, in `store`, and with files made by others, in `tests/clients`.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Int64Type};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};

use super::table::Table;
use crate::Limits;

type Columns = Vec<(&'static str, ArrayRef)>;

/// Small pages and row groups, with every index and Bloom filter.
fn small() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(8))
        .set_data_page_row_count_limit(2)
        .set_write_batch_size(2)
        .set_bloom_filter_enabled(true)
}

async fn check(columns: Columns, properties: WriterPropertiesBuilder, filters: &[&str]) {
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    let rows = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part-0.parquet");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties.build())).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let table = Table::of_files("pitfall", [path.as_path()].into_iter(), Limits::default()).await;
    let schema = table.visible();
    let all: Vec<usize> = (0..schema.fields().len()).collect();
    for sql in filters {
        table.check(&rows, &table.filter(sql), &all).await;
    }
}

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[tokio::test]
async fn nan_of_either_sign_is_beyond_every_bound() {
    let nan = f64::NAN;
    let values = [
        1.0, nan, 2.0, 3.0, -nan, 1.0, nan, nan, -nan, -nan, 9.0, 9.0,
    ];
    let halves = Float32Array::from_iter_values([1.0, f32::NAN, -f32::NAN, 0.5].repeat(3));
    let columns: Columns = vec![("x", floats(&values)), ("y", Arc::new(halves))];
    let filters = [
        "x > 5",
        "x >= 9",
        "x < 1",
        "x <= 1",
        "x <> 9",
        "x = 9",
        "NOT (x < 5)",
        "NOT (x > 5)",
        "x BETWEEN 1 AND 3",
        "x NOT BETWEEN 1 AND 3",
        "x = 'NaN'::double",
        "x <> 'NaN'::double",
        "x IN (9, 1)",
        "x NOT IN (9, 1)",
        "y > 0.5",
        "y < 0.5",
        "y <> 0.5",
    ];
    check(columns, small(), &filters).await;
}

#[tokio::test]
async fn the_two_zeros_are_one_value() {
    let values = [0.0, -0.0, -0.0, -0.0, 0.0, 0.0, 1.0, -1.0];
    let filters = [
        "x = 0.0",
        "x = -0.0",
        "x < 0.0",
        "x <= -0.0",
        "x >= 0.0",
        "x > -0.0",
        "x <> 0.0",
        "x BETWEEN 0.0 AND -0.0",
        "x IN (0.0, 5.0)",
        "x NOT IN (-0.0, 5.0)",
        "x IN (0.0, 2.0, 3.0, 4.0, 5.0)",
        "x NOT IN (-0.0, 2.0, 3.0, 4.0, 5.0)",
    ];
    check(vec![("x", floats(&values))], small(), &filters).await;
}

#[tokio::test]
async fn bounds_that_were_cut_are_outer_bounds() {
    let top = "\u{10ffff}\u{10ffff}\u{10ffff}";
    let values = [
        "aaaaaaaaaa",
        "aaaaaaaaab",
        "aaaaab",
        "aaaaaa",
        top,
        "\u{10ffff}",
        "zzzzzzzzzz",
        "zzzzzz",
        "ÿÿÿÿÿÿ",
        "ÿÿÿÿÿÿÿÿ",
        "",
        "a",
    ];
    let cut = small()
        .set_column_index_truncate_length(Some(6))
        .set_statistics_truncate_length(Some(6));
    let top_itself = format!("s = '{top}'");
    let above = "s > '\u{10ffff}\u{10ffff}'".to_owned();
    let filters = [
        "s = 'aaaaaaaaab'",
        "s > 'aaaaaa'",
        "s < 'aaaaab'",
        "s >= 'zzzzzzz'",
        "s <> 'aaaaaa'",
        "s LIKE 'aaaaaa%'",
        "s LIKE 'zzzzzz_%'",
        "s LIKE 'ÿÿÿÿÿÿÿ%'",
        "s = ''",
        "s > 'zzzzzz'",
        &top_itself,
        &above,
    ];
    check(vec![("s", texts(&values))], cut, &filters).await;
}

#[tokio::test]
async fn numbers_are_ordered_by_their_own_kind() {
    let unsigned = UInt64Array::from(vec![0, 1, u64::MAX, 1 << 63, 5, (1 << 63) - 1, 7, 8]);
    let tiny = Int8Array::from(vec![-128, 127, 0, -1, 5, 6, 7, 8]);
    let short = Int16Array::from(vec![-32_768, 32_767, 0, -1, 5, 6, 7, 8]);
    let decimals = |precision, scale| -> ArrayRef {
        let values = Decimal128Array::from(vec![-150, 150, 0, -1, 5, 600, -7000, 8]);
        Arc::new(values.with_precision_and_scale(precision, scale).unwrap())
    };
    let columns: Columns = vec![
        ("u", Arc::new(unsigned)),
        ("tiny", Arc::new(tiny)),
        ("short", Arc::new(short)),
        ("small", decimals(5, 2)),
        ("middle", decimals(12, 2)),
        ("large", decimals(30, 2)),
    ];
    let filters = [
        "u > 9223372036854775807",
        "u = 18446744073709551615",
        "u < 5",
        "tiny < 0",
        "tiny = -1",
        "tiny IN (-128, 5)",
        "short = -1",
        "short > 100",
        "small < 0",
        "small = 1.5",
        "small IN (-1.5, 6)",
        "middle < -1",
        "middle = -70",
        "large > 1.499",
        "large = 1.5",
        "large <= -1.50",
    ];
    check(columns, small(), &filters).await;
}

#[tokio::test]
async fn strings_are_ordered_by_their_bytes() {
    // By UTF-16 units, an emoji comes before U+FFFD; by bytes it comes after.
    let values = [
        "\u{fffd}",
        "\u{1f600}",
        "\u{ffff}",
        "e",
        "é",
        "z",
        "\u{1f601}",
        "Z",
    ];
    let filters = [
        "s > '\u{fffd}'",
        "s < '\u{fffd}'",
        "s = '\u{1f600}'",
        "s >= '\u{ffff}'",
        "s > 'z'",
        "s < 'e'",
        "s LIKE '\u{1f600}%'",
    ];
    check(vec![("s", texts(&values))], small(), &filters).await;
}

#[tokio::test]
async fn literals_are_compared_at_the_unit_of_the_column() {
    let seconds =
        TimestampSecondArray::from(vec![-1, 0, 1, 59, 60, 61, 1_700_000_000, 1_700_000_001]);
    let millis = TimestampMillisecondArray::from(vec![-1, 0, 1, 999, 1_000, 1_001, 60_000, 60_001]);
    let nanos = TimestampNanosecondArray::from(vec![
        -1,
        0,
        1,
        999,
        1_000,
        1_001,
        1_000_000_000,
        1_000_000_001,
    ])
    .with_timezone("+02:00");
    let days = Date32Array::from(vec![-1, 0, 1, 19_782, 19_783, 19_784, 30, 31]);
    let columns: Columns = vec![
        ("s", Arc::new(seconds)),
        ("ms", Arc::new(millis)),
        ("ns", Arc::new(nanos)),
        ("day", Arc::new(days)),
    ];
    let filters = [
        "s > TIMESTAMP '1970-01-01T00:00:00.5'",
        "s = TIMESTAMP '1970-01-01T00:01:00'",
        "s < TIMESTAMP '1970-01-01'",
        "ms >= TIMESTAMP '1970-01-01T00:00:00.9995'",
        "ms = TIMESTAMP '1970-01-01T00:00:01.000000001'",
        "ns > TIMESTAMP '1970-01-01T00:00:00.000001'",
        "day >= DATE '2024-03-01'",
        "day = TIMESTAMP '2024-03-01'",
        "day < TIMESTAMP '2024-03-01T12:00:00'",
        "CAST(s AS DATE) = DATE '1969-12-31'",
        "CAST(s AS DATE) <= TIMESTAMP '1970-01-01'",
        "date_trunc('minute', s) = TIMESTAMP '1970-01-01T00:01:00'",
    ];
    check(columns, small(), &filters).await;
}

#[tokio::test]
async fn casts_that_lose_the_order_prune_nothing_wrong() {
    let values = ["10", "9", "100", "1", "-5", "+7", "007", "3"];
    let filters = [
        "CAST(s AS BIGINT) > 9",
        "CAST(s AS BIGINT) = 7",
        "CAST(s AS BIGINT) < 0",
        "CAST(CAST(n AS VARCHAR) AS BIGINT) >= 10",
        "CAST(n AS VARCHAR) > '2'",
        "CAST(n AS SMALLINT) = 9",
        "CAST(n AS DOUBLE) > 9.5",
    ];
    let numbers = Int64Array::from(vec![10, 9, 100, 1, -5, 7, 7, 3]);
    check(
        vec![("s", texts(&values)), ("n", Arc::new(numbers))],
        small(),
        &filters,
    )
    .await;
}

#[tokio::test]
async fn patterns_have_escapes_and_ends() {
    let values = StringArray::from(vec![
        Some("100%"),
        Some("100"),
        None,
        Some("a_b"),
        Some("axb"),
        Some("\u{10ffff}"),
        Some("\u{10ffff}x"),
        Some(""),
        Some("A_B"),
        None,
        None,
        None,
    ]);
    let filters = [
        "s LIKE '100\\%'",
        "s LIKE '100%'",
        "s LIKE 'a\\_b'",
        "s LIKE 'a_b'",
        "s NOT LIKE 'a%'",
        "s NOT LIKE '100\\%'",
        "s LIKE '\u{10ffff}%'",
        "s LIKE ''",
        "s LIKE '%'",
        "s ILIKE 'a\\_b'",
        "s NOT LIKE '%'",
        "s LIKE NULL",
    ];
    check(vec![("s", Arc::new(values))], small(), &filters).await;
}

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

#[tokio::test]
async fn dictionaries_and_bloom_filters_answer_only_what_they_know() {
    let colours: Vec<&str> = ["red", "green", "blue", "red"].repeat(10);
    let many: Vec<String> = (0..40).map(|row| format!("text {row}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mixed: StringArray = (0..40).map(|row| (row % 3 > 0).then_some("set")).collect();
    let numbers = Int32Array::from_iter_values((0..40).map(|row| row * 2));
    let columns: Columns = vec![
        ("colour", texts(&colours)),
        ("many", texts(&many)),
        ("mixed", Arc::new(mixed)),
        ("even", Arc::new(numbers)),
        ("zero", floats(&[0.0, -0.0].repeat(20))),
    ];
    let filters = [
        "colour = 'grey'",
        "colour IN ('grey', 'green')",
        "colour <> 'red'",
        "many = 'text 7'",
        "many = 'text 7x'",
        "mixed = 'unset'",
        "mixed IS NULL",
        "mixed = 'set' OR mixed IS NULL",
        "even = 13",
        "even = 14",
        "even IN (13, 15)",
        "zero = 0.0",
        "zero = -0.0",
        "colour || 'x' = 'redx'",
        "colour > 'blue' AND colour < 'green'",
    ];
    let fallback = small()
        .set_max_row_group_row_count(Some(40))
        .set_dictionary_page_size_limit(64)
        .set_dictionary_enabled(true);
    check(columns.clone(), small(), &filters).await;
    check(columns, fallback, &filters).await;
}

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
