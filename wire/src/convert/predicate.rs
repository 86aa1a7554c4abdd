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

/// How deep a predicate nests when it travels. Each level is two messages within each other, and the
/// protobuf decoder reads a hundred, of which those around the predicate need some.
const DEEPEST: usize = 20;

impl From<&Predicate> for proto::Predicate {
    /// What is nested too deep travels as [`Predicate::Unknown`]: it then rules no row out and proves none
    /// to match, so that pruning stays sound and only loses some of its force.
    fn from(predicate: &Predicate) -> Self {
        encode(predicate, DEEPEST)
    }
}

fn encode(predicate: &Predicate, levels: usize) -> proto::Predicate {
    use proto::predicate::Kind;
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
        Predicate::And(_) | Predicate::Or(_) if levels == 0 => Kind::Unknown(proto::Unit {}),
        Predicate::And(parts) => Kind::And(encode_parts(parts, levels - 1)),
        Predicate::Or(parts) => Kind::Or(encode_parts(parts, levels - 1)),
    };
    proto::Predicate { kind: Some(kind) }
}

fn encode_parts(parts: &[Predicate], levels: usize) -> proto::Predicates {
    proto::Predicates {
        parts: parts.iter().map(|part| encode(part, levels)).collect(),
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

#[cfg(test)]
mod tests {
    use model::{Bound, ColumnBounds, Verdict};
    use prost::Message;

    use super::*;

    #[test]
    fn a_predicate_nested_too_deep_arrives_and_still_prunes() {
        let test = |name: &str, value| {
            let values = ValueSet::points([Datum::Int(value)]);
            Predicate::column(FieldId(1), name, values, false)
        };
        let mut predicate = test("x", 0);
        for level in 1..200 {
            let parts = vec![test("x", level), predicate];
            predicate = if level % 2 == 0 {
                Predicate::And(parts)
            } else {
                Predicate::Or(parts)
            };
        }
        let bytes = proto::Predicate::from(&Predicate::And(vec![test("x", 7), predicate]));
        let decoded = proto::Predicate::decode(bytes.encode_to_vec().as_slice()).unwrap();
        let arrived = Predicate::try_from(decoded).unwrap();
        let over = |value| {
            let bound = Some(Bound::exact(Datum::Int(value)));
            let bounds = ColumnBounds {
                lower: bound.clone(),
                upper: bound,
                ..ColumnBounds::default()
            };
            arrived.verdict([(FieldId(1), bounds)].as_slice())
        };
        assert_eq!(over(-1), Verdict::None);
        assert_ne!(over(7), Verdict::All);
    }
}
