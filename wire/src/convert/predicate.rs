//! Predicates.

use model::interval::End;
use model::{ColumnPredicate, Datum, FieldId, Interval, Predicate, ValueSet};

use super::{DecodeError, required};
use crate::proto;

fn encode_end(end: &End) -> proto::End {
    match end {
        End::Unbounded => proto::End {
            value: None,
            exclusive: false,
        },
        End::Inclusive(value) => proto::End {
            value: Some(value.into()),
            exclusive: false,
        },
        End::Exclusive(value) => proto::End {
            value: Some(value.into()),
            exclusive: true,
        },
    }
}

fn decode_end(end: Option<proto::End>) -> Result<End, DecodeError> {
    let end = required(end, "end of interval")?;
    Ok(match end.value.map(Datum::try_from).transpose()? {
        None => End::Unbounded,
        Some(value) if end.exclusive => End::Exclusive(value),
        Some(value) => End::Inclusive(value),
    })
}

impl From<&Interval> for proto::Interval {
    fn from(interval: &Interval) -> Self {
        Self {
            lower: Some(encode_end(interval.lower())),
            upper: Some(encode_end(interval.upper())),
        }
    }
}

/// Decodes intervals; one that is empty adds nothing.
fn decode_intervals(intervals: Vec<proto::Interval>) -> Result<ValueSet, DecodeError> {
    let mut decoded = Vec::with_capacity(intervals.len());
    for interval in intervals {
        decoded.extend(Interval::new(
            decode_end(interval.lower)?,
            decode_end(interval.upper)?,
        ));
    }
    Ok(ValueSet::of(decoded))
}

impl From<&Predicate> for proto::Predicate {
    fn from(predicate: &Predicate) -> Self {
        use proto::predicate::Kind;
        let parts = |parts: &[Predicate]| proto::Predicates {
            parts: parts.iter().map(Into::into).collect(),
        };
        let kind = match predicate {
            Predicate::Always => Kind::Always(proto::Unit {}),
            Predicate::Never => Kind::Never(proto::Unit {}),
            Predicate::Unknown => Kind::Unknown(proto::Unit {}),
            Predicate::Column(column) => Kind::Column(proto::ColumnPredicate {
                field_id: column.field.0,
                name: column.name.clone(),
                values: column.values.intervals().iter().map(Into::into).collect(),
                nulls: column.nulls,
            }),
            Predicate::And(inner) => Kind::And(parts(inner)),
            Predicate::Or(inner) => Kind::Or(parts(inner)),
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<proto::Predicate> for Predicate {
    type Error = DecodeError;

    /// Nesting is bounded by the protobuf decoder's own recursion limit.
    fn try_from(predicate: proto::Predicate) -> Result<Self, DecodeError> {
        use proto::predicate::Kind;
        Ok(match required(predicate.kind, "predicate")? {
            Kind::Always(_) => Self::Always,
            Kind::Never(_) => Self::Never,
            Kind::Unknown(_) => Self::Unknown,
            Kind::Column(column) => Self::Column(ColumnPredicate {
                field: FieldId(column.field_id),
                name: column.name,
                values: decode_intervals(column.values)?,
                nulls: column.nulls,
            }),
            Kind::And(inner) => Self::And(decode_parts(inner)?),
            Kind::Or(inner) => Self::Or(decode_parts(inner)?),
        })
    }
}

fn decode_parts(inner: proto::Predicates) -> Result<Vec<Predicate>, DecodeError> {
    inner.parts.into_iter().map(Predicate::try_from).collect()
}
