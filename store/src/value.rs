//! Values of Parquet statistics as domain values. Pure.

use arrow::datatypes::{ArrowPrimitiveType, Float16Type};
use arrow_buffer::i256;
use arrow_schema::DataType;
use model::Datum;

/// A value of a statistic, by physical type. INT96 has none: its statistics are not to be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Raw<'a> {
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
}

/// The value in a column of this type, or `None` when the two do not fit together.
pub(crate) fn datum(raw: Raw<'_>, data_type: &DataType) -> Option<Datum> {
    use DataType as T;
    Some(match (data_type, raw) {
        (T::Boolean, Raw::Boolean(value)) => Datum::Boolean(value),
        (T::Int8 | T::Int16 | T::Int32, Raw::Int32(value)) => Datum::Int(value.into()),
        (T::Int64, Raw::Int64(value)) => Datum::Int(value),
        (T::UInt8 | T::UInt16 | T::UInt32, Raw::Int32(value)) => {
            Datum::UInt(value.cast_unsigned().into())
        }
        (T::UInt64, Raw::Int64(value)) => Datum::UInt(value.cast_unsigned()),
        (T::Float16, Raw::Bytes(bytes)) => half(bytes)?,
        (T::Float32, Raw::Float(value)) => Datum::Float(value.into()),
        (T::Float64, Raw::Double(value)) => Datum::Float(value),
        (T::Date32, Raw::Int32(value)) => Datum::Date(value),
        (T::Time32(unit), Raw::Int32(value)) => Datum::Time {
            value: value.into(),
            unit: *unit,
        },
        (T::Time64(unit), Raw::Int64(value)) => Datum::Time { value, unit: *unit },
        (T::Timestamp(unit, zone), Raw::Int64(value)) => Datum::Timestamp {
            value,
            unit: *unit,
            utc: zone.is_some(),
        },
        (
            T::Decimal32(_, scale)
            | T::Decimal64(_, scale)
            | T::Decimal128(_, scale)
            | T::Decimal256(_, scale),
            raw,
        ) => Datum::Decimal {
            unscaled: unscaled(raw)?,
            scale: *scale,
        },
        (
            T::Utf8 | T::LargeUtf8 | T::Binary | T::LargeBinary | T::FixedSizeBinary(_),
            Raw::Bytes(bytes),
        ) => Datum::Bytes(bytes.to_vec()),
        _ => return None,
    })
}

fn half(bytes: &[u8]) -> Option<Datum> {
    let bytes: [u8; 2] = bytes.try_into().ok()?;
    let value = <Float16Type as ArrowPrimitiveType>::Native::from_le_bytes(bytes);
    Some(Datum::Float(value.to_f64()))
}

fn unscaled(raw: Raw<'_>) -> Option<i256> {
    match raw {
        Raw::Int32(value) => Some(i256::from_i128(value.into())),
        Raw::Int64(value) => Some(i256::from_i128(value.into())),
        Raw::Bytes(bytes) => big_endian(bytes),
        _ => None,
    }
}

/// Big-endian two's complement of any length up to 32 bytes, sign-extended.
fn big_endian(bytes: &[u8]) -> Option<i256> {
    let first = *bytes.first()?;
    let fill = if first & 0x80 == 0 { 0 } else { 0xff };
    let mut whole = [fill; 32];
    let start = whole.len().checked_sub(bytes.len())?;
    whole.get_mut(start..)?.copy_from_slice(bytes);
    Some(i256::from_be_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_kind_of_their_column() {
        let decimal = |unscaled: i128| Datum::Decimal {
            unscaled: i256::from_i128(unscaled),
            scale: 2,
        };
        let cases = [
            (Raw::Int32(-1), DataType::Int8, Some(Datum::Int(-1))),
            (
                Raw::Int32(-1),
                DataType::UInt32,
                Some(Datum::UInt(4_294_967_295)),
            ),
            (
                Raw::Int64(-1),
                DataType::UInt64,
                Some(Datum::UInt(u64::MAX)),
            ),
            (Raw::Int32(7), DataType::Date32, Some(Datum::Date(7))),
            (
                Raw::Bytes(&[0x00, 0x3c]),
                DataType::Float16,
                Some(Datum::Float(1.0)),
            ),
            (
                Raw::Bytes(&[0xff, 0x00]),
                DataType::Decimal128(9, 2),
                Some(decimal(-256)),
            ),
            (
                Raw::Bytes(&[0x00, 0x80]),
                DataType::Decimal256(50, 2),
                Some(decimal(128)),
            ),
            (Raw::Int32(-5), DataType::Decimal32(9, 2), Some(decimal(-5))),
            (Raw::Bytes(&[]), DataType::Decimal128(9, 2), None),
            (Raw::Bytes(&[0; 33]), DataType::Decimal256(9, 2), None),
            (Raw::Int32(1), DataType::Int64, None),
            (Raw::Int64(1), DataType::Date64, None),
            (
                Raw::Bytes(&[0xc3]),
                DataType::Utf8,
                Some(Datum::Bytes(vec![0xc3])),
            ),
        ];
        for (raw, data_type, expected) in cases {
            assert_eq!(datum(raw, &data_type), expected, "{raw:?} as {data_type}");
        }
    }
}
