//! Values of Arrow arrays as domain values, for comparison with bounds.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::*;
use arrow_buffer::i256;
use model::Datum;

/// Whether the value is a float zero of either sign.
pub(crate) fn is_zero(value: &Datum) -> bool {
    matches!(value, Datum::Float(float) if *float == 0.0)
}

/// The non-null values of an array; none of a type that bounds are not kept for.
pub(crate) fn values(array: &ArrayRef) -> Vec<Datum> {
    (0..array.len())
        .filter(|row| array.is_valid(*row))
        .filter_map(|row| value(array, row))
        .collect()
}

macro_rules! primitive {
    ($array:expr, $row:expr, $type:ty) => {
        $array.as_primitive::<$type>().value($row)
    };
}

fn value(array: &ArrayRef, row: usize) -> Option<Datum> {
    Some(match array.data_type() {
        DataType::Boolean => Datum::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => Datum::Int(primitive!(array, row, Int8Type).into()),
        DataType::Int16 => Datum::Int(primitive!(array, row, Int16Type).into()),
        DataType::Int32 => Datum::Int(primitive!(array, row, Int32Type).into()),
        DataType::Int64 => Datum::Int(primitive!(array, row, Int64Type)),
        DataType::UInt8 => Datum::UInt(primitive!(array, row, UInt8Type).into()),
        DataType::UInt16 => Datum::UInt(primitive!(array, row, UInt16Type).into()),
        DataType::UInt32 => Datum::UInt(primitive!(array, row, UInt32Type).into()),
        DataType::UInt64 => Datum::UInt(primitive!(array, row, UInt64Type)),
        DataType::Float16 => Datum::Float(primitive!(array, row, Float16Type).to_f64()),
        DataType::Float32 => Datum::Float(primitive!(array, row, Float32Type).into()),
        DataType::Float64 => Datum::Float(primitive!(array, row, Float64Type)),
        DataType::Date32 => Datum::Date(primitive!(array, row, Date32Type)),
        DataType::Decimal32(_, scale) => decimal(primitive!(array, row, Decimal32Type), *scale),
        DataType::Decimal64(_, scale) => decimal(primitive!(array, row, Decimal64Type), *scale),
        DataType::Decimal128(_, scale) => decimal(primitive!(array, row, Decimal128Type), *scale),
        DataType::Decimal256(_, scale) => Datum::Decimal {
            unscaled: primitive!(array, row, Decimal256Type),
            scale: *scale,
        },
        DataType::Utf8 => Datum::text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Datum::text(array.as_string::<i64>().value(row)),
        DataType::Binary => Datum::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Datum::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => {
            Datum::Bytes(array.as_fixed_size_binary().value(row).to_vec())
        }
        _ => return time(array, row),
    })
}

fn decimal(unscaled: impl Into<i128>, scale: i8) -> Datum {
    Datum::Decimal {
        unscaled: i256::from_i128(unscaled.into()),
        scale,
    }
}

fn time(array: &ArrayRef, row: usize) -> Option<Datum> {
    let time = |value: i64, unit: &TimeUnit| Datum::Time { value, unit: *unit };
    Some(match array.data_type() {
        DataType::Time32(unit @ TimeUnit::Second) => {
            time(primitive!(array, row, Time32SecondType).into(), unit)
        }
        DataType::Time32(unit) => time(primitive!(array, row, Time32MillisecondType).into(), unit),
        DataType::Time64(unit @ TimeUnit::Microsecond) => {
            time(primitive!(array, row, Time64MicrosecondType), unit)
        }
        DataType::Time64(unit) => time(primitive!(array, row, Time64NanosecondType), unit),
        DataType::Timestamp(unit, zone) => Datum::Timestamp {
            value: match unit {
                TimeUnit::Second => primitive!(array, row, TimestampSecondType),
                TimeUnit::Millisecond => primitive!(array, row, TimestampMillisecondType),
                TimeUnit::Microsecond => primitive!(array, row, TimestampMicrosecondType),
                TimeUnit::Nanosecond => primitive!(array, row, TimestampNanosecondType),
            },
            unit: *unit,
            utc: zone.is_some(),
        },
        _ => return None,
    })
}
