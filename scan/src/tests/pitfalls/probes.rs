use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int8Array, Int16Array, Int32Array,
    StringArray, TimestampMicrosecondArray,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

use super::{Case, Columns, check, floats, small, texts};
use crate::tests::odd_file::ENCODING_STATS;

const ROWS: i32 = 1_000;
const ROW_GROUP: i32 = 500;

/// Two row groups.
fn row_groups() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(usize::try_from(ROW_GROUP).ok())
        .set_data_page_row_count_limit(50)
        .set_write_batch_size(10)
}

/// Output that is dear enough for Bloom filters and dictionaries to be asked.
fn notes() -> ArrayRef {
    let notes = (0..ROWS).map(|row| format!("note {row:090}"));
    Arc::new(StringArray::from_iter_values(notes))
}

/// An even number between -500 and 498.
fn even(row: i32) -> i32 {
    row % ROW_GROUP * 2 - 500
}

fn decimals(precision: u8) -> ArrayRef {
    let values = (0..ROWS).map(|row| i128::from(even(row)));
    let values = Decimal128Array::from_iter_values(values);
    Arc::new(values.with_precision_and_scale(precision, 2).unwrap())
}

/// Both zeros, NaN with another payload than the usual one, and numbers.
fn float(row: i32) -> f64 {
    match row % 5 {
        0 => 0.0,
        1 => -0.0,
        2 => f64::from_bits(0x7ff8_0000_0000_0001),
        3 => f64::NAN,
        _ => f64::from(row),
    }
}

/// Pitfall 18: Bloom filters are asked for a value in the form that it has in the file, and not at all for
/// values of several forms or for what a function gives.
#[tokio::test]
async fn bloom_filters_are_asked_in_the_form_of_the_file() {
    let tiny = (0..ROWS).map(|row| i8::try_from(even(row) % 100).unwrap());
    let short = (0..ROWS).map(|row| i16::try_from(even(row)).unwrap());
    let at = (0..ROWS).map(|row| i64::from(even(row)) * 86_400_000_000);
    let texts = (0..ROWS).map(|row| format!("K {}", even(row)));
    let columns: Columns = vec![
        ("tiny", Arc::new(Int8Array::from_iter_values(tiny))),
        ("short", Arc::new(Int16Array::from_iter_values(short))),
        ("small", decimals(5)),
        ("middle", decimals(12)),
        ("large", decimals(30)),
        (
            "f",
            Arc::new(Float64Array::from_iter_values((0..ROWS).map(float))),
        ),
        (
            "day",
            Arc::new(Date32Array::from_iter_values((0..ROWS).map(even))),
        ),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(at)),
        ),
        ("text", Arc::new(StringArray::from_iter_values(texts))),
        ("note", notes()),
    ];
    let case = Case::new(columns, row_groups().set_bloom_filter_enabled(true)).await;
    let filters = [
        "tiny = 4",
        "tiny = -4",
        "tiny IN (-98, 7)",
        "CAST(tiny AS BIGINT) IN (5, 6)",
        "short = -2",
        "short = -1",
        "abs(short) IN (2, 3)",
        "small = 1.5",
        "small = 1.51",
        "middle IN (-1.5, 1.51)",
        "large = 1.5",
        "large = -1.5",
        "large = 1.51",
        "large IN (-4.98, 0.01)",
        "f = 0.0",
        "f = -0.0",
        "f IN (0.0, 5.5)",
        "f IN (-0.0, 5.5)",
        "f = 'NaN'::double",
        "f IN ('NaN'::double, 5.5)",
        "f = 4",
        "day = DATE '1970-01-03'",
        "day = DATE '1970-01-04'",
        "date_trunc('day', at) IN (TIMESTAMP '1970-01-05', TIMESTAMP '1970-01-06')",
        "CAST(at AS DATE) = DATE '1970-01-05'",
        "at = TIMESTAMP '1970-01-05'",
        "text IN ('K 6', 'K 7')",
        "lower(text) IN ('k 6', 'k 7')",
        "text || '' = 'K 6'",
    ];
    case.check(&filters).await;
    let mut excluded = 0;
    for odd in [1, 3, 5, 7, 9, 11] {
        let counts = case.sparing_counts(&format!("short = {odd}")).await;
        excluded += counts.row_groups_skipped_bloom;
    }
    assert!(excluded > 0, "no Bloom filter was asked");
}

/// Pitfall 19: a dictionary speaks for its chunk only when every data page is encoded with it, and never for
/// nulls.
#[tokio::test]
async fn dictionary_pruning_needs_every_page_and_leaves_nulls_apart() {
    let full = (0..ROWS).map(|row| ["blue", "green", "red"][usize::try_from(row % 3).unwrap()]);
    // The dictionary is full long before the last value.
    let part = (0..ROWS).map(|row| match row % ROW_GROUP {
        early @ 0..10 => format!("early {early}"),
        late => format!("late {late}"),
    });
    let mixed: StringArray = (0..ROWS)
        .map(|row| (row % 3 > 0).then_some("set"))
        .collect();
    let columns: Columns = vec![
        ("full", Arc::new(StringArray::from_iter_values(full))),
        ("part", Arc::new(StringArray::from_iter_values(part))),
        ("mixed", Arc::new(mixed)),
        ("note", notes()),
    ];
    let filters = [
        "full = 'grey'",
        "full = 'red'",
        "full IN ('grey', 'green')",
        "full > 'green' AND full < 'red'",
        "part = 'late 123'",
        "part = 'late'",
        "part IN ('late 11', 'late 499')",
        "part > 'late 2' AND part < 'late 21'",
        "part >= 'late 498'",
        "part LIKE 'late 33%'",
        "mixed = 'set'",
        "mixed <> 'set'",
        "mixed IS NULL",
        "mixed = 'other' OR mixed IS NULL",
        "mixed IS DISTINCT FROM 'set'",
        "mixed = 'set' OR mixed IS NULL",
    ];
    let properties = row_groups().set_dictionary_page_size_limit(200);
    let case = Case::new(columns.clone(), properties.clone()).await;
    case.check(&filters).await;
    let counts = case.sparing_counts("full = 'grey'").await;
    assert_eq!(counts.row_groups_skipped_dictionary, 2);
    // Older writers do not say how pages are encoded.
    let silent = Case::odd(columns, properties, |file| {
        for chunk in &mut file.chunks {
            chunk.meta.remove(&ENCODING_STATS);
        }
    });
    let silent = silent.await;
    silent.check(&filters).await;
    let counts = silent.sparing_counts("full = 'grey'").await;
    assert_eq!(counts.row_groups_skipped_dictionary, 0);
}

/// Pitfalls 18 and 19: a Bloom filter or a dictionary excludes single values of its own column only.
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
