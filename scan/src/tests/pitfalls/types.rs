use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int8Array,
    Int16Array, Int64Array, StringArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use datafusion::logical_expr::{col, lit};
use datafusion::scalar::ScalarValue;
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType};

use super::{Case, Columns, batch, check, small, texts, written_below_arrow};

/// Pitfall 6: unsigned numbers, small ones and decimals are ordered as themselves and not as they are stored.
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

/// Pitfall 6: decimals in byte arrays are numbers of any length, whose first bit is their sign.
#[tokio::test]
async fn logical_decimals_in_byte_arrays_are_numbers_and_no_bytes() {
    // Most are as short as they can be; eight cents are not.
    let row_groups: [[(i128, &[u8]); 4]; 2] = [
        [
            (-150, &[0xff, 0x6a]),
            (150, &[0x00, 0x96]),
            (0, &[0x00]),
            (-1, &[0xff]),
        ],
        [
            (5, &[0x05]),
            (600, &[0x02, 0x58]),
            (-7000, &[0xe4, 0xa8]),
            (8, &[0x00, 0x00, 0x00, 0x08]),
        ],
    ];
    let stored = row_groups.map(|values| values.map(|(_, bytes)| ByteArray::from(bytes.to_vec())));
    let file =
        written_below_arrow::<ByteArrayType>("binary d (DECIMAL(9,2))", &[&stored[0], &stored[1]]);
    let unscaled: Vec<i128> = row_groups
        .concat()
        .iter()
        .map(|(value, _)| *value)
        .collect();
    let decimals = Decimal128Array::from(unscaled).with_precision_and_scale(9, 2);
    let rows = batch(vec![("d", Arc::new(decimals.unwrap()))]);
    // The bounds are stated here: our writer takes -1 for less than -150.
    let bounds: [[&[u8]; 2]; 2] = [
        [&[0xff, 0x6a], &[0x00, 0x96]],
        [&[0xe4, 0xa8], &[0x02, 0x58]],
    ];
    let case = Case::changed(rows, &file, |file| {
        for chunk in &mut file.chunks {
            let [min, max] = bounds[chunk.row_group];
            chunk.set_bounds(min, max);
        }
    });
    let case = case.await;
    let filters = [
        "d < 0",
        "d < -1",
        "d = 1.5",
        "d = -1.5",
        "d = 0.08",
        "d = 0.05",
        "d > 5.99",
        "d <= -70",
        "d >= 1.51",
        "d <> 0",
        "d IN (-0.01, 6)",
        "d BETWEEN -1.5 AND 0",
    ];
    case.check(&filters).await;
    let counts = case.counts("d >= 1.51").await;
    assert_eq!(counts.row_groups_skipped_statistics, 1);
}

/// Pitfall 6: a UUID is ordered by its bytes, without a sign.
#[tokio::test]
async fn logical_uuids_are_ordered_by_unsigned_bytes() {
    let uuid = |first: u8| [&[first][..], &[0x11; 15]].concat();
    let row_groups = [[0x01, 0x7f, 0x80, 0x81], [0x90, 0xfe, 0xff, 0xa0]];
    let values = row_groups.map(|firsts| firsts.map(uuid));
    let stored = values
        .clone()
        .map(|row_group| row_group.map(FixedLenByteArray::from));
    let column = "fixed_len_byte_array(16) u (UUID)";
    let file = written_below_arrow::<FixedLenByteArrayType>(column, &[&stored[0], &stored[1]]);
    let uuids = FixedSizeBinaryArray::try_from_iter(values.concat().into_iter()).unwrap();
    let rows = batch(vec![("u", Arc::new(uuids))]);
    let case = Case::of(rows, &file, &file).await;
    for first in [0x00, 0x01, 0x7f, 0x80, 0x82, 0x90, 0xff] {
        let value = || lit(ScalarValue::FixedSizeBinary(16, Some(uuid(first))));
        for filter in [
            col("u").eq(value()),
            col("u").not_eq(value()),
            col("u").lt(value()),
            col("u").lt_eq(value()),
            col("u").gt(value()),
            col("u").gt_eq(value()),
        ] {
            case.check_expr(&filter).await;
        }
    }
}

/// Pitfall 10: a literal is compared at the unit of the column, and rounds toward no row.
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

/// Pitfall 11: text and numbers are not ordered alike, so a cast between them is not undone.
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

/// Pitfall 11: a cast that is not monotone is not undone: text to time, a narrower type, a fraction cut off.
#[tokio::test]
async fn casts_that_are_not_monotone_are_not_undone() {
    // In the order of time, these are not in the order of text.
    let times = StringArray::from(vec![
        "2024-03-01T01:00:00+02:00",
        "2024-03-01T02:00:00+03:00",
        "2024-02-29T23:30:00-02:00",
        "2024-02-29T22:30:00-03:00",
        "2024-03-01",
        "2024-02-29T12:00:00",
        "2024-03-02T00:30:00+01:00",
        "2024-03-02",
    ]);
    let numbers = Int64Array::from(vec![265, 521, 300, -129, 9, 127, 128, -5]);
    let fractions = Float64Array::from(vec![2.2, 2.9, -0.5, -0.9, 3.0, 1.9, -2.7, 2.0]);
    let columns: Columns = vec![
        ("t", Arc::new(times)),
        ("n", Arc::new(numbers)),
        ("f", Arc::new(fractions)),
    ];
    let filters = [
        "CAST(t AS TIMESTAMP) < TIMESTAMP '2024-03-01'",
        "CAST(t AS TIMESTAMP) = TIMESTAMP '2024-03-01'",
        "CAST(t AS TIMESTAMP) = TIMESTAMP '2024-02-29T23:00:00'",
        "CAST(t AS TIMESTAMP) >= TIMESTAMP '2024-03-01T23:30:00'",
        "TRY_CAST(n AS TINYINT) IS NULL",
        "TRY_CAST(n AS TINYINT) IS NOT NULL",
        "TRY_CAST(n AS TINYINT) = 9",
        "TRY_CAST(n AS TINYINT) < 0",
        "TRY_CAST(n AS TINYINT) <> 9",
        "CAST(f AS BIGINT) = 2",
        "CAST(f AS BIGINT) = 0",
        "CAST(f AS BIGINT) < 0",
        "CAST(f AS BIGINT) >= 2",
        "CAST(n AS VARCHAR) < '2'",
        "CAST(n AS VARCHAR) LIKE '2%'",
    ];
    check(columns, small(), &filters).await;
}
