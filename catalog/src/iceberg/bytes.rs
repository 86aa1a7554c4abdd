//! Single values in Iceberg's binary form (spec, appendix D), there and back. Pure.

use arrow_schema::{DataType, TimeUnit};
use iceberg::spec::PrimitiveType;
use model::Datum;

/// Which bound a value is: some forms round away from the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Lower,
    Upper,
}

/// The value in its binary form, or `None` when the type cannot hold it.
pub(super) fn encode(value: &Datum, kind: &PrimitiveType, side: Side) -> Option<Vec<u8>> {
    Some(match (kind, value) {
        (PrimitiveType::Boolean, Datum::Boolean(value)) => vec![u8::from(*value)],
        (PrimitiveType::Int, _) => i32::try_from(integer(value)?).ok()?.to_le_bytes().to_vec(),
        (PrimitiveType::Long, _) => integer(value)?.to_le_bytes().to_vec(),
        (PrimitiveType::Float, Datum::Float(value)) => {
            narrow(both_zeros(*value, side))?.to_le_bytes().to_vec()
        }
        (PrimitiveType::Double, Datum::Float(value)) => {
            both_zeros(*value, side).to_le_bytes().to_vec()
        }
        (PrimitiveType::Date, Datum::Date(days)) => days.to_le_bytes().to_vec(),
        (PrimitiveType::Time, Datum::Time { value, unit })
        | (
            PrimitiveType::Timestamp | PrimitiveType::Timestamptz,
            Datum::Timestamp { value, unit, .. },
        ) => microseconds(*value, *unit)?.to_le_bytes().to_vec(),
        (
            PrimitiveType::Decimal { scale, .. },
            Datum::Decimal {
                unscaled,
                scale: own,
            },
        ) => {
            if u32::try_from(*own).ok()? != *scale {
                return None;
            }
            shortest(unscaled.to_i128()?)
        }
        (PrimitiveType::String, Datum::Bytes(bytes)) => text(bytes, side)?,
        (PrimitiveType::Binary | PrimitiveType::Fixed(_), Datum::Bytes(bytes)) => bytes.clone(),
        _ => return None,
    })
}

fn integer(value: &Datum) -> Option<i64> {
    match value {
        Datum::Int(value) => Some(*value),
        Datum::UInt(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

/// A bound of zero covers both zeros, whatever order a reader has for them.
fn both_zeros(value: f64, side: Side) -> f64 {
    match side {
        _ if value != 0.0 => value,
        Side::Lower => -0.0,
        Side::Upper => 0.0,
    }
}

#[allow(clippy::cast_possible_truncation)] // checked right after
fn narrow(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (f64::from(narrow).to_bits() == value.to_bits()).then_some(narrow)
}

fn microseconds(value: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Millisecond => value.checked_mul(1000),
        TimeUnit::Microsecond => Some(value),
        TimeUnit::Second | TimeUnit::Nanosecond => None,
    }
}

/// Big-endian two's complement without bytes that only repeat the sign.
fn shortest(value: i128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let fill = if value < 0 { 0xff } else { 0 };
    let repeats = |pair: &[u8]| matches!(pair, [a, b] if *a == fill && (b ^ fill) & 0x80 == 0);
    let skip = bytes.windows(2).take_while(|pair| repeats(pair)).count();
    bytes.get(skip..).unwrap_or(&bytes).to_vec()
}

/// A bound that was cut within a character: a lower one may be cut further, an upper one may not.
fn text(bytes: &[u8], side: Side) -> Option<Vec<u8>> {
    match (std::str::from_utf8(bytes), side) {
        (Ok(_), _) => Some(bytes.to_vec()),
        (Err(error), Side::Lower) => Some(bytes.get(..error.valid_up_to())?.to_vec()),
        (Err(_), Side::Upper) => None,
    }
}

/// The value of a column of this type, by its length and then by the type: a bound may be as wide as the
/// column once was. `None` when the bytes make no sense. Text need not be UTF-8.
pub(super) fn decode(bytes: &[u8], data_type: &DataType) -> Option<Datum> {
    Some(match data_type {
        DataType::Boolean => Datum::Boolean(bytes.first().is_some_and(|byte| *byte != 0)),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            Datum::Int(number(bytes)?)
        }
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            Datum::UInt(u64::try_from(number(bytes)?).ok()?)
        }
        DataType::Float32 | DataType::Float64 => Datum::Float(float(bytes)?),
        DataType::Date32 => Datum::Date(i32::try_from(number(bytes)?).ok()?),
        DataType::Time64(_) => Datum::Time {
            value: number(bytes)?,
            unit: TimeUnit::Microsecond,
        },
        DataType::Timestamp(_, zone) => Datum::Timestamp {
            value: number(bytes)?,
            unit: TimeUnit::Microsecond,
            utc: zone.is_some(),
        },
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => Datum::Decimal {
            unscaled: arrow_buffer::i256::from_i128(signed(bytes)?),
            scale: *scale,
        },
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::FixedSizeBinary(_) => Datum::Bytes(bytes.to_vec()),
        _ => return None,
    })
}

fn number(bytes: &[u8]) -> Option<i64> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(i32::from_le_bytes(bytes).into());
    }
    <[u8; 8]>::try_from(bytes).ok().map(i64::from_le_bytes)
}

fn float(bytes: &[u8]) -> Option<f64> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(f32::from_le_bytes(bytes).into());
    }
    <[u8; 8]>::try_from(bytes).ok().map(f64::from_le_bytes)
}

fn signed(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut whole = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
    let start = whole.len().checked_sub(bytes.len())?;
    whole.get_mut(start..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(whole))
}

#[cfg(test)]
mod tests {
    use arrow_buffer::i256;

    use super::*;

    fn decimal(unscaled: i128) -> Datum {
        Datum::Decimal {
            unscaled: i256::from_i128(unscaled),
            scale: 2,
        }
    }

    #[test]
    fn values_take_the_form_of_the_spec_and_come_back() {
        let decimals = PrimitiveType::Decimal {
            precision: 20,
            scale: 2,
        };
        let stamp = |value, unit| Datum::Timestamp {
            value,
            unit,
            utc: true,
        };
        let stamps = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let of_decimal = DataType::Decimal128(20, 2);
        let cases = [
            (
                Datum::Boolean(true),
                PrimitiveType::Boolean,
                vec![1],
                DataType::Boolean,
            ),
            (
                Datum::Int(-1),
                PrimitiveType::Int,
                vec![0xff; 4],
                DataType::Int8,
            ),
            (
                Datum::UInt(7),
                PrimitiveType::Long,
                vec![7, 0, 0, 0, 0, 0, 0, 0],
                DataType::UInt32,
            ),
            (
                Datum::Float(1.5),
                PrimitiveType::Float,
                vec![0, 0, 0xc0, 0x3f],
                DataType::Float32,
            ),
            (
                Datum::Date(1),
                PrimitiveType::Date,
                vec![1, 0, 0, 0],
                DataType::Date32,
            ),
            (
                decimal(127),
                decimals.clone(),
                vec![0x7f],
                of_decimal.clone(),
            ),
            (
                decimal(128),
                decimals.clone(),
                vec![0, 0x80],
                of_decimal.clone(),
            ),
            (
                decimal(-128),
                decimals.clone(),
                vec![0x80],
                of_decimal.clone(),
            ),
            (
                decimal(-129),
                decimals.clone(),
                vec![0xff, 0x7f],
                of_decimal.clone(),
            ),
            (decimal(0), decimals, vec![0], of_decimal),
            (
                stamp(2, TimeUnit::Microsecond),
                PrimitiveType::Timestamptz,
                vec![2, 0, 0, 0, 0, 0, 0, 0],
                stamps,
            ),
            (
                Datum::text("é"),
                PrimitiveType::String,
                vec![0xc3, 0xa9],
                DataType::Utf8,
            ),
        ];
        for (value, kind, bytes, data_type) in cases {
            assert_eq!(
                encode(&value, &kind, Side::Lower),
                Some(bytes.clone()),
                "{value}"
            );
            assert_eq!(decode(&bytes, &data_type), Some(value));
        }
        let milliseconds = encode(
            &stamp(2, TimeUnit::Millisecond),
            &PrimitiveType::Timestamptz,
            Side::Upper,
        );
        assert_eq!(milliseconds, Some(2000i64.to_le_bytes().to_vec()));
    }

    #[test]
    fn bounds_round_away_from_the_values() {
        let zero = Datum::Float(0.0);
        let encoded = |side| encode(&zero, &PrimitiveType::Double, side);
        assert_eq!(encoded(Side::Lower), Some((-0.0f64).to_le_bytes().to_vec()));
        assert_eq!(encoded(Side::Upper), Some(0.0f64.to_le_bytes().to_vec()));
        let cut = Datum::Bytes(vec![b'a', 0xc3]);
        assert_eq!(
            encode(&cut, &PrimitiveType::String, Side::Lower),
            Some(vec![b'a'])
        );
        assert_eq!(encode(&cut, &PrimitiveType::String, Side::Upper), None);
        assert_eq!(
            encode(&Datum::Int(1 << 40), &PrimitiveType::Int, Side::Upper),
            None
        );
    }

    #[test]
    fn bounds_of_another_width_and_broken_text_are_read() {
        assert_eq!(decode(&[0xff; 4], &DataType::Int64), Some(Datum::Int(-1)));
        assert_eq!(
            decode(&[0, 0, 0xc0, 0x3f], &DataType::Float64),
            Some(Datum::Float(1.5))
        );
        assert_eq!(
            decode(&[0xc3], &DataType::Utf8),
            Some(Datum::Bytes(vec![0xc3]))
        );
        assert_eq!(decode(&[1, 2, 3], &DataType::Int64), None);
        assert_eq!(decode(&[], &DataType::Decimal128(9, 2)), None);
    }
}
