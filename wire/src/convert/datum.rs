//! Values and bounds.

use arrow_buffer::i256;
use arrow_schema::TimeUnit;
use model::{Bound, ColumnBounds, Datum, FieldId};

use super::{DecodeError, required};
use crate::proto;

fn encode_unit(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => proto::TimeUnit::Second,
        TimeUnit::Millisecond => proto::TimeUnit::Millisecond,
        TimeUnit::Microsecond => proto::TimeUnit::Microsecond,
        TimeUnit::Nanosecond => proto::TimeUnit::Nanosecond,
    }
    .into()
}

fn decode_unit(unit: i32) -> Result<TimeUnit, DecodeError> {
    match proto::TimeUnit::try_from(unit) {
        Ok(proto::TimeUnit::Second) => Ok(TimeUnit::Second),
        Ok(proto::TimeUnit::Millisecond) => Ok(TimeUnit::Millisecond),
        Ok(proto::TimeUnit::Microsecond) => Ok(TimeUnit::Microsecond),
        Ok(proto::TimeUnit::Nanosecond) => Ok(TimeUnit::Nanosecond),
        _ => Err(DecodeError::new(
            "time unit",
            format!("unknown value {unit}"),
        )),
    }
}

impl From<&Datum> for proto::Datum {
    fn from(datum: &Datum) -> Self {
        use proto::datum::Kind;
        let kind = match datum {
            Datum::Boolean(value) => Kind::Boolean(*value),
            Datum::Int(value) => Kind::Int(*value),
            Datum::UInt(value) => Kind::Uint(*value),
            Datum::Float(value) => Kind::Float(*value),
            Datum::Decimal { unscaled, scale } => Kind::Decimal(proto::Decimal {
                unscaled: unscaled.to_le_bytes().to_vec(),
                scale: i32::from(*scale),
            }),
            Datum::Date(days) => Kind::Date(*days),
            Datum::Time { value, unit } => Kind::Time(proto::Time {
                value: *value,
                unit: encode_unit(*unit),
            }),
            Datum::Timestamp { value, unit, utc } => Kind::Timestamp(proto::Timestamp {
                value: *value,
                unit: encode_unit(*unit),
                utc: *utc,
            }),
            Datum::Bytes(bytes) => Kind::Bytes(bytes.clone()),
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<proto::Datum> for Datum {
    type Error = DecodeError;

    fn try_from(datum: proto::Datum) -> Result<Self, DecodeError> {
        use proto::datum::Kind;
        Ok(match required(datum.kind, "value")? {
            Kind::Boolean(value) => Self::Boolean(value),
            Kind::Int(value) => Self::Int(value),
            Kind::Uint(value) => Self::UInt(value),
            Kind::Float(value) => Self::Float(value),
            Kind::Decimal(decimal) => decode_decimal(&decimal)?,
            Kind::Date(days) => Self::Date(days),
            Kind::Time(time) => Self::Time {
                value: time.value,
                unit: decode_unit(time.unit)?,
            },
            Kind::Timestamp(timestamp) => Self::Timestamp {
                value: timestamp.value,
                unit: decode_unit(timestamp.unit)?,
                utc: timestamp.utc,
            },
            Kind::Bytes(bytes) => Self::Bytes(bytes),
        })
    }
}

fn decode_decimal(decimal: &proto::Decimal) -> Result<Datum, DecodeError> {
    let bytes: [u8; 32] = decimal
        .unscaled
        .as_slice()
        .try_into()
        .map_err(|_| DecodeError::new("decimal", "must have 32 bytes"))?;
    let scale = i8::try_from(decimal.scale)
        .map_err(|_| DecodeError::new("decimal scale", decimal.scale.to_string()))?;
    Ok(Datum::Decimal {
        unscaled: i256::from_le_bytes(bytes),
        scale,
    })
}

impl From<&Bound> for proto::Bound {
    fn from(bound: &Bound) -> Self {
        Self {
            value: Some((&bound.value).into()),
            exact: bound.exact,
        }
    }
}

impl TryFrom<proto::Bound> for Bound {
    type Error = DecodeError;

    fn try_from(bound: proto::Bound) -> Result<Self, DecodeError> {
        Ok(Self {
            value: required(bound.value, "bound")?.try_into()?,
            exact: bound.exact,
        })
    }
}

/// Encodes the bounds of a column.
pub fn encode_bounds(field: FieldId, bounds: &ColumnBounds) -> proto::ColumnBounds {
    proto::ColumnBounds {
        field_id: field.0,
        lower: bounds.lower.as_ref().map(Into::into),
        upper: bounds.upper.as_ref().map(Into::into),
        null_count: bounds.null_count,
        nan_count: bounds.nan_count,
        row_count: bounds.row_count,
    }
}

/// Decodes the bounds of a column.
///
/// # Errors
/// When a value cannot be understood.
pub fn decode_bounds(bounds: proto::ColumnBounds) -> Result<(FieldId, ColumnBounds), DecodeError> {
    let decoded = ColumnBounds {
        lower: bounds.lower.map(TryInto::try_into).transpose()?,
        upper: bounds.upper.map(TryInto::try_into).transpose()?,
        null_count: bounds.null_count,
        nan_count: bounds.nan_count,
        row_count: bounds.row_count,
    };
    Ok((FieldId(bounds.field_id), decoded))
}
