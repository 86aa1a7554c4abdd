//! The column side of a comparison: a column, or a cast of one that keeps values and their order.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::logical_expr::Expr;
use model::interval::End;
use model::{Datum, FieldId, Interval, Predicate, TableSchema, ValueSet};

/// A column whose values are compared, as the type that the comparison sees.
#[derive(Debug)]
pub(super) struct Operand<'a> {
    field: FieldId,
    name: &'a str,
    /// Of the column, without a dictionary.
    stored: &'a DataType,
    /// Of the comparison.
    seen: &'a DataType,
}

impl<'a> Operand<'a> {
    /// The column in `expr`, or `None` when there is none, it is nested, or a cast changes its values.
    pub(super) fn of(expr: &'a Expr, schema: &'a TableSchema) -> Option<Self> {
        match expr {
            Expr::Alias(alias) => Self::of(&alias.expr, schema),
            Expr::Column(column) => {
                let field = schema.id_of(&column.name)?;
                let (_, column) = schema.field(field)?;
                let stored = values_of(column.data_type());
                (!stored.is_nested()).then_some(Self {
                    field,
                    name: column.name(),
                    stored,
                    seen: stored,
                })
            }
            Expr::Cast(cast) => {
                let inner = Self::of(&cast.expr, schema)?;
                let seen = values_of(cast.field.data_type());
                keeps_values(inner.seen, seen).then_some(Self { seen, ..inner })
            }
            _ => None,
        }
    }

    pub(super) fn is_boolean(&self) -> bool {
        *self.stored == DataType::Boolean && *self.seen == DataType::Boolean
    }

    pub(super) fn is_text(&self) -> bool {
        is_text(self.stored) && is_text(self.seen)
    }

    /// The rows whose values, as the comparison sees them, are in `values`.
    pub(super) fn passes(&self, values: ValueSet, nulls: bool) -> Predicate {
        let values = if self.stored == self.seen {
            Some(values)
        } else {
            self.stored_values(&values)
        };
        match values {
            Some(values) => Predicate::column(self.field, self.name, values, nulls),
            None => Predicate::Unknown,
        }
    }

    /// The stored values that the cast turns into `values`.
    fn stored_values(&self, values: &ValueSet) -> Option<ValueSet> {
        let mut stored = Vec::with_capacity(values.intervals().len());
        for interval in values.intervals() {
            let lower = self.stored_end(interval.lower(), Side::Lower)?;
            let upper = self.stored_end(interval.upper(), Side::Upper)?;
            stored.extend(Interval::new(lower, upper));
        }
        Some(ValueSet::of(stored))
    }

    fn stored_end(&self, end: &End, side: Side) -> Option<End> {
        let value = match end {
            End::Unbounded => return Some(End::Unbounded),
            End::Inclusive(value) | End::Exclusive(value) => value,
        };
        if let (DataType::Timestamp(unit, None), Datum::Date(day)) = (self.stored, value) {
            return end_of_day(end, side, *day, *unit);
        }
        let (floor, exact) = match (self.stored, value) {
            (
                DataType::Date32,
                Datum::Timestamp {
                    value,
                    unit,
                    utc: false,
                },
            ) => days(*value, *unit)?,
            (kind, Datum::Float(value)) if kind.is_integer() => whole(*value)?,
            // All other casts give values that compare with stored ones as they are.
            _ => return Some(end.clone()),
        };
        // A value between two stored ones is above the floor, and what is below it is at most the floor.
        let exclusive = if exact {
            matches!(end, End::Exclusive(_))
        } else {
            matches!(side, Side::Lower)
        };
        Some(if exclusive {
            End::Exclusive(floor)
        } else {
            End::Inclusive(floor)
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Lower,
    Upper,
}

/// The end, over instants, of what is an end over their dates.
fn end_of_day(end: &End, side: Side, day: i32, unit: TimeUnit) -> Option<End> {
    let midnight = |day: i64| {
        let value = day.checked_mul(per_day(unit))?;
        let utc = false;
        Some(Datum::Timestamp { value, unit, utc })
    };
    let day = i64::from(day);
    Some(match (end, side) {
        (End::Unbounded, _) => End::Unbounded,
        (End::Inclusive(_), Side::Lower) => End::Inclusive(midnight(day)?),
        (End::Exclusive(_), Side::Lower) => End::Inclusive(midnight(day + 1)?),
        (End::Inclusive(_), Side::Upper) => End::Exclusive(midnight(day + 1)?),
        (End::Exclusive(_), Side::Upper) => End::Exclusive(midnight(day)?),
    })
}

fn per_day(unit: TimeUnit) -> i64 {
    86_400
        * match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        }
}

/// The last midnight not after an instant, and whether it is that instant.
fn days(value: i64, unit: TimeUnit) -> Option<(Datum, bool)> {
    let per_day = per_day(unit);
    let day = i32::try_from(value.div_euclid(per_day)).ok()?;
    Some((Datum::Date(day), value.rem_euclid(per_day) == 0))
}

/// The greatest integer not above a float, and whether it is that float; `None` out of the range in
/// which floats hold every integer.
fn whole(value: f64) -> Option<(Datum, bool)> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.is_nan() || value.abs() >= EXACT {
        return None;
    }
    let floor = value.floor();
    // Within the range checked above the cast is exact.
    #[allow(clippy::cast_possible_truncation)]
    let integer = floor as i64;
    // An integer becomes +0.0 and never -0.0, which is just below it.
    let below_zero = value == 0.0 && value.is_sign_negative();
    let is_whole = value.total_cmp(&floor).is_eq();
    let exact = is_whole && !below_zero;
    let integer = integer - i64::from(below_zero);
    Some((Datum::Int(integer), exact))
}

fn values_of(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

/// Whether [`Operand::stored_values`] can undo a cast: it keeps every value and the order of values, or
/// takes an instant to its date.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use DataType::{Date32, Float32, Float64, Timestamp};
    if from == to || (is_text(from) && is_text(to)) || (is_binary(from) && is_binary(to)) {
        return true;
    }
    match (from, to) {
        (from, to) if from.is_integer() && to.is_integer() => {
            bits(from) < bits(to) && (from.is_unsigned_integer() || to.is_signed_integer())
        }
        (from, Float64) if from.is_integer() => bits(from) <= 32,
        (Float32, Float64) | (Date32, Timestamp(_, None)) | (Timestamp(_, None), Date32) => true,
        (Timestamp(from, from_zone), Timestamp(to, to_zone)) => {
            from <= to && from_zone.is_some() == to_zone.is_some()
        }
        (from, to) if from.is_decimal() && to.is_decimal() => match (digits(from), digits(to)) {
            (Some((whole, scale)), Some((to_whole, to_scale))) => {
                whole <= to_whole && scale <= to_scale
            }
            _ => false,
        },
        _ => false,
    }
}

fn bits(kind: &DataType) -> usize {
    kind.primitive_width().unwrap_or_default() * 8
}

/// The digits before and after the point of a decimal type.
fn digits(kind: &DataType) -> Option<(i16, i16)> {
    match kind {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            Some((i16::from(*precision) - i16::from(*scale), i16::from(*scale)))
        }
        _ => None,
    }
}
