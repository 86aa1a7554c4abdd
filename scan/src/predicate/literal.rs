//! Literals of expressions as values of the model.

use arrow::datatypes::{TimeUnit, i256};
use datafusion::scalar::ScalarValue;
use model::Datum;

/// The value of a literal that is not null; `None` for types whose bounds are never known, and for NaN,
/// whose many forms no two libraries compare alike.
pub(super) fn datum(value: &ScalarValue) -> Option<Datum> {
    Some(match value {
        ScalarValue::Dictionary(_, value) => return datum(value),
        ScalarValue::Boolean(value) => Datum::Boolean((*value)?),
        ScalarValue::Int8(value) => Datum::Int((*value)?.into()),
        ScalarValue::Int16(value) => Datum::Int((*value)?.into()),
        ScalarValue::Int32(value) => Datum::Int((*value)?.into()),
        ScalarValue::Int64(value) => Datum::Int((*value)?),
        ScalarValue::UInt8(value) => Datum::UInt((*value)?.into()),
        ScalarValue::UInt16(value) => Datum::UInt((*value)?.into()),
        ScalarValue::UInt32(value) => Datum::UInt((*value)?.into()),
        ScalarValue::UInt64(value) => Datum::UInt((*value)?),
        ScalarValue::Float16(value) => return float((*value)?.to_f64()),
        ScalarValue::Float32(value) => return float((*value)?.into()),
        ScalarValue::Float64(value) => return float((*value)?),
        ScalarValue::Date32(value) => Datum::Date((*value)?),
        ScalarValue::FixedSizeBinary(_, value)
        | ScalarValue::Binary(value)
        | ScalarValue::BinaryView(value)
        | ScalarValue::LargeBinary(value) => Datum::Bytes(value.clone()?),
        _ => {
            return text(value)
                .map(Datum::text)
                .or_else(|| decimal(value))
                .or_else(|| time(value));
        }
    })
}

/// The string in a literal of any string type.
pub(super) fn text(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Dictionary(_, value) => text(value),
        value => value.try_as_str().flatten(),
    }
}

fn float(value: f64) -> Option<Datum> {
    (!value.is_nan()).then_some(Datum::Float(value))
}

fn decimal(value: &ScalarValue) -> Option<Datum> {
    let (unscaled, scale) = match value {
        ScalarValue::Decimal32(value, _, scale) => (i256::from_i128((*value)?.into()), *scale),
        ScalarValue::Decimal64(value, _, scale) => (i256::from_i128((*value)?.into()), *scale),
        ScalarValue::Decimal128(value, _, scale) => (i256::from_i128((*value)?), *scale),
        ScalarValue::Decimal256(value, _, scale) => ((*value)?, *scale),
        _ => return None,
    };
    Some(Datum::Decimal { unscaled, scale })
}

fn time(value: &ScalarValue) -> Option<Datum> {
    let of_day = |value, unit| Some(Datum::Time { value, unit });
    match value {
        ScalarValue::Time32Second(value) => of_day((*value)?.into(), TimeUnit::Second),
        ScalarValue::Time32Millisecond(value) => of_day((*value)?.into(), TimeUnit::Millisecond),
        ScalarValue::Time64Microsecond(value) => of_day((*value)?, TimeUnit::Microsecond),
        ScalarValue::Time64Nanosecond(value) => of_day((*value)?, TimeUnit::Nanosecond),
        _ => timestamp(value),
    }
}

fn timestamp(value: &ScalarValue) -> Option<Datum> {
    let (value, unit, zone) = match value {
        ScalarValue::TimestampSecond(value, zone) => (value, TimeUnit::Second, zone),
        ScalarValue::TimestampMillisecond(value, zone) => (value, TimeUnit::Millisecond, zone),
        ScalarValue::TimestampMicrosecond(value, zone) => (value, TimeUnit::Microsecond, zone),
        ScalarValue::TimestampNanosecond(value, zone) => (value, TimeUnit::Nanosecond, zone),
        _ => return None,
    };
    Some(Datum::Timestamp {
        value: (*value)?,
        unit,
        utc: zone.is_some(),
    })
}
