//! Conversions between the domain and the protocol. Encoding cannot fail; decoding is total and names
//! the field that was missing or odd.

mod datum;
mod predicate;
mod reason;
mod task;

use crate::category::{Categorized, Category};

pub use datum::{decode_bounds, encode_bounds};
pub use task::{decode_mapping, encode_mapping};

/// Bytes of another part that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct DecodeError {
    /// The field.
    pub field: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

impl DecodeError {
    /// An error about a field.
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self {
            field,
            reason: reason.into(),
        }
    }
}

impl Categorized for DecodeError {
    fn category(&self) -> Category {
        Category::Invalid
    }
}

/// The value of a field that must be there.
///
/// # Errors
/// When it is missing.
pub fn required<T>(value: Option<T>, field: &'static str) -> Result<T, DecodeError> {
    value.ok_or_else(|| DecodeError::new(field, "missing"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use arrow_buffer::i256;
    use arrow_schema::TimeUnit;
    use model::{Bound, ColumnBounds, ColumnPredicate, Datum, FieldId, Predicate, ValueSet};

    use super::*;
    use crate::proto;

    fn datum() -> impl Strategy<Value = Datum> {
        let unit = prop_oneof![
            Just(TimeUnit::Second),
            Just(TimeUnit::Millisecond),
            Just(TimeUnit::Microsecond),
            Just(TimeUnit::Nanosecond)
        ];
        prop_oneof![
            any::<bool>().prop_map(Datum::Boolean),
            any::<i64>().prop_map(Datum::Int),
            any::<u64>().prop_map(Datum::UInt),
            any::<f64>()
                .prop_filter("NaN is not equal to itself", |f| !f.is_nan())
                .prop_map(Datum::Float),
            (any::<i128>(), any::<i8>()).prop_map(|(value, scale)| Datum::Decimal {
                unscaled: i256::from_i128(value),
                scale
            }),
            any::<i32>().prop_map(Datum::Date),
            (any::<i64>(), unit.clone()).prop_map(|(value, unit)| Datum::Time { value, unit }),
            (any::<i64>(), unit, any::<bool>()).prop_map(|(value, unit, utc)| Datum::Timestamp {
                value,
                unit,
                utc
            }),
            any::<Vec<u8>>().prop_map(Datum::Bytes),
        ]
    }

    fn predicate() -> impl Strategy<Value = Predicate> {
        let leaf = prop_oneof![
            Just(Predicate::Always),
            Just(Predicate::Never),
            Just(Predicate::Unknown),
            (
                any::<i32>(),
                "[a-z]{1,4}",
                prop::collection::vec(datum(), 0..4),
                any::<bool>()
            )
                .prop_map(|(field, name, values, nulls)| {
                    Predicate::Column(ColumnPredicate {
                        field: FieldId(field),
                        name,
                        values: ValueSet::points(values),
                        nulls,
                    })
                }),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Predicate::And),
                prop::collection::vec(inner, 0..4).prop_map(Predicate::Or),
            ]
        })
    }

    proptest! {
        #[test]
        fn predicates_survive_the_way_there_and_back(predicate in predicate()) {
            let decoded = Predicate::try_from(proto::Predicate::from(&predicate));
            prop_assert_eq!(decoded, Ok(predicate));
        }

        #[test]
        fn bounds_survive_the_way_there_and_back(
            lower in prop::option::of(datum()),
            upper in prop::option::of(datum()),
            counts in any::<(Option<u64>, Option<u64>, Option<u64>)>(),
        ) {
            let bounds = ColumnBounds {
                lower: lower.map(Bound::outer),
                upper: upper.map(Bound::exact),
                null_count: counts.0,
                nan_count: counts.1,
                row_count: counts.2,
            };
            let decoded = decode_bounds(encode_bounds(FieldId(3), &bounds));
            prop_assert_eq!(decoded, Ok((FieldId(3), bounds)));
        }
    }
}
