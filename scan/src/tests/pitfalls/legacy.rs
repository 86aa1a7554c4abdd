use std::sync::Arc;

use arrow::array::{TimestampMicrosecondArray, UInt32Array};
use parquet::data_type::{Int96, Int96Type};

use super::{Case, Columns, batch, small, texts, written_below_arrow};
use crate::tests::compact::Value;
use crate::tests::odd_file::{COLUMN_ORDERS, NULL_COUNT, OLD_MAX, OLD_MIN};

/// Pitfall 5: deprecated bounds, and those of a file that states no order of its columns, were compared as
/// signed; of byte arrays and unsigned numbers they are ignored.
#[tokio::test]
async fn legacy_bounds_of_byte_arrays_and_unsigned_numbers_are_ignored() {
    // As signed bytes, é begins before z.
    let words = ["aé", "az", "b", "aé", "az", "b", "az", "aé"];
    let numbers = UInt32Array::from(vec![1, u32::MAX, 7, 5, 3_000_000_000, 2, 9, 1]);
    let signed_bounds = [
        ["aé".as_bytes().to_vec(), b"b".to_vec()],
        [3_000_000_000_u32, 9].map(|bound| bound.to_le_bytes().to_vec()),
    ];
    for deprecated in [true, false] {
        let columns: Columns = vec![("s", texts(&words)), ("u", Arc::new(numbers.clone()))];
        let case = Case::odd(columns, small(), |file| {
            if !deprecated {
                file.footer.remove(&COLUMN_ORDERS);
            }
            for chunk in &mut file.chunks {
                let [min, max] = signed_bounds[chunk.leaf].clone();
                if deprecated {
                    chunk.forget_pages();
                    let statistics = chunk.statistics();
                    statistics.retain(|id, _| *id == NULL_COUNT);
                    statistics.insert(OLD_MIN, Value::Bytes(min));
                    statistics.insert(OLD_MAX, Value::Bytes(max));
                } else {
                    chunk.set_bounds(&min, &max);
                }
            }
        });
        let filters = [
            "s = 'az'",
            "s < 'aé'",
            "s <= 'az'",
            "s > 'az'",
            "s >= 'aé'",
            "s <> 'b'",
            "s LIKE 'az%'",
            "s NOT LIKE 'a%'",
            "u = 4294967295",
            "u > 100",
            "u < 3",
            "u >= 5",
            "u = 2",
            "u IN (9, 3000000000)",
            "s = 'az' AND u > 100",
        ];
        case.await.check(&filters).await;
    }
}

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The days from 4714 BC, where Julian days begin, to 1970.
const JULIAN_1970: i64 = 2_440_588;

fn int96(micros: i64) -> Int96 {
    let nanos = u64::try_from(micros.rem_euclid(DAY) * 1_000).unwrap();
    let words = [
        nanos & 0xffff_ffff,
        nanos >> 32,
        u64::try_from(micros.div_euclid(DAY) + JULIAN_1970).unwrap(),
    ];
    Int96::from(words.map(|word| u32::try_from(word).unwrap()).to_vec())
}

fn stored(value: &Int96) -> Vec<u8> {
    let words = value.data().iter();
    words.flat_map(|word| word.to_le_bytes()).collect()
}

/// Pitfall 7: statistics of INT96 compare the time of day before the day, and are ignored.
#[tokio::test]
async fn int96_statistics_are_ignored() {
    let hours = |day: i64, hours: i64| day * DAY + hours * DAY / 24;
    // 2024-01-01 is day 19,723. In each row group, times of day ascend.
    let row_groups = [
        [hours(19_724, 6), hours(19_723, 12), hours(19_725, 18)],
        [hours(0, 1), hours(-1, 2), hours(-2, 23)],
    ];
    let values = row_groups.map(|row_group| row_group.map(int96));
    let file = written_below_arrow::<Int96Type>("int96 t", &[&values[0], &values[1]]);
    let micros = TimestampMicrosecondArray::from(row_groups.concat());
    let rows = batch(vec![("t", Arc::new(micros))]);
    let case = Case::changed(rows, &file, |file| {
        for chunk in &mut file.chunks {
            let [first, _, last] = &values[chunk.row_group];
            chunk.set_bounds(&stored(first), &stored(last));
        }
    });
    let filters = [
        "t < TIMESTAMP '2024-01-02'",
        "t = TIMESTAMP '2024-01-01T12:00:00'",
        "t >= TIMESTAMP '2024-01-02'",
        "t > TIMESTAMP '2024-01-03T18:00:00'",
        "t < TIMESTAMP '1970-01-01'",
        "t = TIMESTAMP '1970-01-01T01:00:00'",
        "t <> TIMESTAMP '1969-12-30T23:00:00'",
        "t BETWEEN TIMESTAMP '1969-12-31' AND TIMESTAMP '2024-01-02'",
        "t IS NULL",
        "CAST(t AS DATE) = DATE '2024-01-01'",
    ];
    case.await.check(&filters).await;
}
