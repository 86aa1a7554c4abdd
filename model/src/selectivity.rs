//! How many rows a predicate may leave: an estimate from bounds, for decisions of cost only. It proves
//! nothing; verdicts do.

use crate::bounds::{ColumnBounds, StatsSource};
use crate::datum::Datum;
use crate::interval::{End, Interval};
use crate::predicate::{ColumnPredicate, Predicate};

/// What is assumed of a test that bounds say nothing of.
const UNKNOWN: f64 = 0.2;

/// What is assumed of equality with one value of a kind that cannot be counted, such as a string.
const ONE_VALUE: f64 = 0.05;

impl Predicate {
    /// The fraction of rows that is expected to pass, from 0 to 1, as if values were spread evenly
    /// between their bounds and columns were independent.
    pub fn selectivity<S: StatsSource + ?Sized>(&self, stats: &S) -> f64 {
        match self {
            Self::Always => 1.0,
            Self::Never => 0.0,
            Self::Unknown => UNKNOWN,
            Self::Column(column) => match stats.bounds(column.field) {
                Some(bounds) => column.selectivity(&bounds),
                None => UNKNOWN,
            },
            Self::And(parts) => parts.iter().map(|part| part.selectivity(stats)).product(),
            Self::Or(parts) => {
                let none: f64 = parts
                    .iter()
                    .map(|part| 1.0 - part.selectivity(stats))
                    .product();
                1.0 - none
            }
        }
    }
}

impl ColumnPredicate {
    /// The fraction of rows that is expected to pass; see [`Predicate::selectivity`].
    pub fn selectivity(&self, bounds: &ColumnBounds) -> f64 {
        let nulls = match (bounds.null_count, bounds.row_count) {
            (Some(nulls), Some(rows)) if rows > 0 => (as_float(nulls) / as_float(rows)).min(1.0),
            _ => 0.0,
        };
        let passing = self
            .values
            .intervals()
            .iter()
            .map(|interval| share(interval, bounds))
            .sum::<f64>()
            .min(1.0);
        (1.0 - nulls) * passing + if self.nulls { nulls } else { 0.0 }
    }
}

/// The part of the values between the bounds that lies in the interval.
fn share(interval: &Interval, bounds: &ColumnBounds) -> f64 {
    if interval.is_everything() {
        return 1.0;
    }
    let lower = bounds.lower.as_ref().map(|bound| &bound.value);
    let upper = bounds.upper.as_ref().map(|bound| &bound.value);
    if !interval.may_overlap(lower, upper) {
        return 0.0;
    }
    if interval.surely_covers(lower, upper) {
        return 1.0;
    }
    let point = matches!((interval.lower(), interval.upper()), (End::Inclusive(a), End::Inclusive(b)) if a == b);
    let between = lower.zip(upper).and_then(|(lower, upper)| {
        let step = step(lower);
        let (lower, upper) = (number(lower)?, number(upper)?);
        let from = end(interval.lower(), lower)?.max(lower);
        let to = end(interval.upper(), upper)?.min(upper);
        let whole = upper - lower + step;
        (whole > 0.0).then(|| ((to - from + step) / whole).clamp(0.0, 1.0))
    });
    match between {
        Some(share) if share > 0.0 => share,
        _ if point => ONE_VALUE,
        _ => UNKNOWN,
    }
}

/// The end as a number, or `open` when the side is; `None` when the end is none.
fn end(end: &End, open: f64) -> Option<f64> {
    match end {
        End::Unbounded => Some(open),
        End::Inclusive(value) | End::Exclusive(value) => number(value),
    }
}

/// The distance between neighbours, for kinds that can be counted.
fn step(value: &Datum) -> f64 {
    match value {
        Datum::Boolean(_) | Datum::Int(_) | Datum::UInt(_) | Datum::Date(_) => 1.0,
        _ => 0.0,
    }
}

/// The value on a line, near enough for an estimate.
#[allow(clippy::cast_precision_loss)]
fn number(value: &Datum) -> Option<f64> {
    match value {
        Datum::Boolean(value) => Some(f64::from(u8::from(*value))),
        Datum::Int(value) => Some(*value as f64),
        Datum::UInt(value) => Some(*value as f64),
        Datum::Float(value) => Some(*value).filter(|value| value.is_finite()),
        Datum::Decimal { unscaled, scale } => {
            let unscaled: f64 = unscaled.to_string().parse().ok()?;
            Some(unscaled * 10f64.powi(-i32::from(*scale)))
        }
        Datum::Date(days) => Some(f64::from(*days)),
        Datum::Time { .. } | Datum::Timestamp { .. } => {
            value.nanoseconds().map(|nanos| nanos as f64)
        }
        Datum::Bytes(bytes) => {
            let head = bytes.iter().chain(std::iter::repeat(&0)).take(6);
            Some(head.fold(0.0, |number, byte| number * 256.0 + f64::from(*byte)))
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bound;
    use crate::schema::FieldId;
    use crate::value_set::ValueSet;

    fn bounds(lower: Datum, upper: Datum) -> ColumnBounds {
        ColumnBounds {
            lower: Some(Bound::exact(lower)),
            upper: Some(Bound::exact(upper)),
            null_count: Some(0),
            nan_count: Some(0),
            row_count: Some(100),
        }
    }

    fn expected(values: ValueSet, bounds: ColumnBounds) -> f64 {
        let predicate = Predicate::column(FieldId(1), "x", values, false);
        predicate.selectivity([(FieldId(1), bounds)].as_slice())
    }

    fn between(lower: Datum, upper: Datum) -> ValueSet {
        ValueSet::of(Interval::new(End::Inclusive(lower), End::Inclusive(upper)))
    }

    #[test]
    fn the_part_of_the_range_is_the_part_of_the_rows() {
        let year = || bounds(Datum::Date(0), Datum::Date(365));
        let cases = [
            (
                expected(between(Datum::Date(10), Datum::Date(23)), year()),
                14.0 / 366.0,
            ),
            (
                expected(ValueSet::points([Datum::Date(3)]), year()),
                1.0 / 366.0,
            ),
            (
                expected(between(Datum::Date(-5), Datum::Date(999)), year()),
                1.0,
            ),
            (
                expected(between(Datum::Date(400), Datum::Date(999)), year()),
                0.0,
            ),
            (
                expected(
                    between(Datum::Float(0.0), Datum::Float(2.5)),
                    bounds(Datum::Float(0.0), Datum::Float(10.0)),
                ),
                0.25,
            ),
            (
                expected(
                    ValueSet::points([Datum::Float(1.5)]),
                    bounds(Datum::Float(0.0), Datum::Float(10.0)),
                ),
                ONE_VALUE,
            ),
            (
                expected(
                    ValueSet::except([Datum::Int(3)]).unwrap(),
                    bounds(Datum::Int(0), Datum::Int(9)),
                ),
                0.9,
            ),
            (
                expected(ValueSet::points([Datum::Int(1)]), ColumnBounds::default()),
                ONE_VALUE,
            ),
        ];
        for (number, (found, wanted)) in cases.into_iter().enumerate() {
            assert!(
                (found - wanted).abs() < 1e-9,
                "case {number}: {found} is not {wanted}"
            );
        }
    }

    #[test]
    fn nulls_count_as_the_test_says() {
        let half = ColumnBounds {
            null_count: Some(50),
            ..bounds(Datum::Int(0), Datum::Int(9))
        };
        let stats = [(FieldId(1), half)];
        let is_null = Predicate::column(FieldId(1), "x", ValueSet::empty(), true);
        assert!((is_null.selectivity(stats.as_slice()) - 0.5).abs() < 1e-9);
        let any = Predicate::column(FieldId(1), "x", ValueSet::everything(), false);
        assert!((any.selectivity(stats.as_slice()) - 0.5).abs() < 1e-9);
    }
}
