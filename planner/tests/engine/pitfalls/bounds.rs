//! Bounds and counts in manifests. Column ids count from 1 in the order of the columns.

use std::sync::Arc;

use arrow::array::{
    Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
};

use super::{batch, check, skipped, write};
use crate::lake::Lake;
use crate::metadata::{Metadata, data_file, field, is_about, missing, set_metric};

/// Pitfall 8: a bound may be as wide as the column was before it was promoted.
#[tokio::test(flavor = "multi_thread")]
async fn bound_width_differs_from_the_type_after_promotion() {
    let lake = Lake::start(1).await;
    lake.create("t", |folder| {
        write(
            &folder.join("a.parquet"),
            vec![
                ("x", Arc::new(Int32Array::from(vec![-1, 2, 3]))),
                ("f", Arc::new(Float32Array::from(vec![0.5, 1.5, 2.5]))),
            ],
        );
        write(
            &folder.join("b.parquet"),
            vec![
                ("x", Arc::new(Int64Array::from(vec![1 << 40, 5]))),
                ("f", Arc::new(Float64Array::from(vec![1e300, -1.0]))),
            ],
        );
    })
    .await;
    let metadata = Metadata::of_adopted(&lake, "t").await;
    metadata.change_entries(|entry| {
        if is_about(entry, "/a.parquet") {
            set_metric(entry, "lower_bounds", 1, Some(&(-1_i32).to_le_bytes()));
            set_metric(entry, "upper_bounds", 1, Some(&3_i32.to_le_bytes()));
            set_metric(entry, "lower_bounds", 2, Some(&0.5_f32.to_le_bytes()));
            set_metric(entry, "upper_bounds", 2, Some(&2.5_f32.to_le_bytes()));
        }
    });
    let rows = batch(vec![
        ("x", Arc::new(Int64Array::from(vec![-1, 2, 3, 1 << 40, 5]))),
        (
            "f",
            Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5, 1e300, -1.0])),
        ),
    ]);
    let filters = [
        "x = 2",
        "x = -1",
        "x < 0",
        "x > 3",
        "x = 1099511627776",
        "x BETWEEN 3 AND 5",
        "x IN (2, 5)",
        "f = 1.5",
        "f >= 2.5",
        "f < 0",
        "f BETWEEN 0.5 AND 1.5",
    ];
    check(&lake, &rows, &filters).await;
    assert_eq!(skipped(&lake, "bounds", "x > 3").await, 1);
    assert_eq!(skipped(&lake, "bounds", "f BETWEEN 3 AND 4").await, 1);
}

/// Pitfall 4: in a manifest too, a bound may end within a character or be missing, and fails nothing.
#[tokio::test(flavor = "multi_thread")]
async fn truncated_bounds_in_manifests_are_compared_as_bytes() {
    let lake = Lake::start(1).await;
    let words = [["éa", "éz"], ["a", "\u{10ffff}b"]];
    lake.create("t", |folder| {
        for (name, words) in ["a", "b"].iter().zip(words) {
            let column = StringArray::from(words.to_vec());
            let path = folder.join(format!("{name}.parquet"));
            write(&path, vec![("s", Arc::new(column))]);
        }
    })
    .await;
    let metadata = Metadata::of_adopted(&lake, "t").await;
    metadata.change_entries(|entry| {
        if is_about(entry, "/a.parquet") {
            set_metric(entry, "lower_bounds", 1, Some(&[0xc3]));
            set_metric(entry, "upper_bounds", 1, Some(&[0xc4]));
        } else {
            set_metric(entry, "upper_bounds", 1, None);
        }
    });
    let rows = batch(vec![("s", Arc::new(StringArray::from(words.concat())))]);
    let filters = [
        "s = 'éz'",
        "s = 'é'",
        "s > 'z'",
        "s < 'b'",
        "s >= 'a'",
        "s = '\u{10ffff}b'",
        "s LIKE 'é%'",
        "s NOT LIKE 'é%'",
        "s NOT LIKE 'a%'",
        "s <> 'éa'",
        "s BETWEEN 'b' AND 'ê'",
    ];
    check(&lake, &rows, &filters).await;
    assert_eq!(skipped(&lake, "bounds", "s = 'a'").await, 1);
    assert_eq!(skipped(&lake, "bounds", "s = 'A'").await, 2);
}

/// Pitfall 9: bounds of a manifest that cross by bytes were found in the order of UTF-16 units, and bound nothing.
#[tokio::test(flavor = "multi_thread")]
async fn strings_ordered_by_utf16_units_have_bounds_that_cross_in_manifests() {
    let lake = Lake::start(1).await;
    let words = ["\u{fffd}", "\u{1f600}"];
    lake.create("t", |folder| {
        let column = StringArray::from(words.to_vec());
        write(&folder.join("a.parquet"), vec![("s", Arc::new(column))]);
    })
    .await;
    let metadata = Metadata::of_adopted(&lake, "t").await;
    metadata.change_entries(|entry| {
        set_metric(entry, "lower_bounds", 1, Some("\u{1f600}".as_bytes()));
        set_metric(entry, "upper_bounds", 1, Some("\u{fffd}".as_bytes()));
    });
    let rows = batch(vec![("s", Arc::new(StringArray::from(words.to_vec())))]);
    let filters = [
        "s = '\u{fffd}'",
        "s = '\u{1f600}'",
        "s > '\u{fffd}'",
        "s < '\u{1f600}'",
        "s <> '\u{fffd}'",
    ];
    check(&lake, &rows, &filters).await;
}

/// Pitfalls 3 and 1: counts that a manifest does not state are unknown and not zero, those of NaN too.
#[tokio::test(flavor = "multi_thread")]
async fn missing_counts_in_manifests_are_unknown_and_not_zero() {
    let lake = Lake::start(1).await;
    let numbers = [[Some(1), None], [None, None], [Some(7), Some(8)]];
    let nan = f64::NAN;
    let floats = [[1.0, nan], [-nan, 2.0], [3.0, 4.0]];
    lake.create("t", |folder| {
        for (number, (x, f)) in numbers.iter().zip(&floats).enumerate() {
            write(
                &folder.join(format!("{number}.parquet")),
                vec![
                    ("x", Arc::new(Int64Array::from(x.to_vec()))),
                    ("f", Arc::new(Float64Array::from(f.to_vec()))),
                ],
            );
        }
    })
    .await;
    let metadata = Metadata::of_adopted(&lake, "t").await;
    metadata.change_entries(|entry| {
        for counts in ["null_value_counts", "nan_value_counts"] {
            *field(data_file(entry), counts) = missing();
        }
    });
    let rows = batch(vec![
        ("x", Arc::new(Int64Array::from(numbers.concat()))),
        ("f", Arc::new(Float64Array::from(floats.concat()))),
    ]);
    let filters = [
        "x IS NULL",
        "x IS NOT NULL",
        "x >= 0",
        "NOT (x < 0)",
        "x < 5 OR x IS NULL",
        "x IS DISTINCT FROM 1",
        "x <> 1",
        "x = 7",
        "f > 5",
        "f < 0",
        "f <= 4",
        "f >= 1",
        "f <> 1",
        "NOT (f > 2)",
        "f = 'NaN'::double",
        "f BETWEEN 3 AND 4",
    ];
    check(&lake, &rows, &filters).await;
    assert_eq!(skipped(&lake, "bounds", "x = 7").await, 1);
}

/// Pitfall 6: a decimal in a manifest is a big-endian number as short as it can be, with a sign.
#[tokio::test(flavor = "multi_thread")]
async fn logical_decimals_in_manifests_are_short_numbers_with_a_sign() {
    let lake = Lake::start(1).await;
    let decimals = |unscaled: &[i128]| {
        let values = Decimal128Array::from(unscaled.to_vec());
        Arc::new(values.with_precision_and_scale(12, 2).unwrap())
    };
    let files: [&[i128]; 4] = [&[-129, -128], &[127, 128], &[0, 1_000_000], &[-1]];
    lake.create("t", |folder| {
        for (number, &unscaled) in files.iter().enumerate() {
            let path = folder.join(format!("{number}.parquet"));
            write(&path, vec![("d", decimals(unscaled))]);
        }
    })
    .await;
    Metadata::of_adopted(&lake, "t").await;
    let rows = batch(vec![("d", decimals(files.concat().as_slice()))]);
    let filters = [
        "d < 0",
        "d < -1.28",
        "d = -1.29",
        "d = 1.27",
        "d > 1.27",
        "d >= 10000",
        "d <= -1.28",
        "d = 0",
        "d = -0.01",
        "d IN (1.28, -1.28)",
        "d BETWEEN -1.28 AND 1.27",
        "d > 1.275",
    ];
    check(&lake, &rows, &filters).await;
    assert_eq!(skipped(&lake, "bounds", "d < -1.28").await, 3);
    assert_eq!(skipped(&lake, "bounds", "d > 1.28").await, 3);
}
