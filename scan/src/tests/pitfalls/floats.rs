use std::sync::Arc;

use arrow::array::Float32Array;

use super::{Case, Columns, check, floats, small};

const ZEROS: [&str; 13] = [
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
    "x IN (-0.0, 2.0, 3.0, 4.0, 5.0)",
    "x NOT IN (0.0, 2.0, 3.0, 4.0, 5.0)",
    "x IS DISTINCT FROM -0.0",
];

/// Pitfall 1: statistics leave NaN out, and the row filter orders it beyond every number.
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

/// Pitfall 1: a NaN in the place of a bound means that the bound is unknown, whichever NaN it is.
#[tokio::test]
async fn nan_in_the_place_of_a_bound_means_unknown() {
    let nan = f64::NAN;
    let values = [1.0, nan, 2.0, 3.0, -nan, 8.0, 9.0, 0.5];
    let bounds = [
        (0.5, nan),
        (nan, 9.0),
        (nan, nan),
        (-nan, -nan),
        (-nan, 9.0),
        (0.5, -nan),
    ];
    for (min, max) in bounds {
        let case = Case::odd(vec![("x", floats(&values))], small(), |file| {
            for chunk in &mut file.chunks {
                chunk.set_bounds(&min.to_le_bytes(), &max.to_le_bytes());
            }
        });
        let filters = [
            "x > 5",
            "x < 5",
            "x >= 9",
            "x <= 0.5",
            "x = 2",
            "x <> 2",
            "x > 100",
            "x < -100",
            "NOT (x > 5)",
            "NOT (x < 5)",
            "x BETWEEN 1 AND 3",
            "x IN (2, 9)",
            "x = 'NaN'::double",
            "x IS NOT NULL",
        ];
        case.await.check(&filters).await;
    }
}

/// Pitfall 2: zeros of both signs are equal, in ranges, in lists and in what excludes them.
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

/// Pitfall 2: a bound that is one zero bounds the other zero too, whichever of them a writer noted.
#[tokio::test]
async fn zeros_of_one_sign_bound_those_of_the_other() {
    let values = [0.0, -0.0, -0.0, -0.0, 0.0, 0.0, -0.0, 0.0];
    let bounds: [(f64, f64); 4] = [(0.0, 0.0), (-0.0, -0.0), (0.0, -0.0), (-0.0, 0.0)];
    for (min, max) in bounds {
        let case = Case::odd(vec![("x", floats(&values))], small(), |file| {
            for chunk in &mut file.chunks {
                chunk.set_bounds(&min.to_le_bytes(), &max.to_le_bytes());
            }
        });
        case.await.check(&ZEROS).await;
    }
}
