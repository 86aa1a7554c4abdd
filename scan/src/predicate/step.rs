//! What may be done to a column before it is compared: functions that keep the order of values. Each can
//! be undone for sets of values, and so can any chain of them.

use arrow::datatypes::{DataType, TimeUnit};
use chrono::{Datelike, NaiveDate};
use datafusion::logical_expr::Expr;
use model::interval::End;
use model::{Datum, Interval, ValueSet};

use super::literal;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// A function that never turns the order of two values round, and gives null for null only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The result compares with other values as the value itself does.
    Keep,
    /// Integers that a float holds exactly.
    Float,
    /// A date to the time at which it begins.
    Midnight,
    /// A time, counted in the unit, to its date.
    Date(TimeUnit),
    /// A time, counted in the unit, to the start of the period in which it lies.
    Truncate(Period, TimeUnit),
}

/// What `date_trunc` cuts time into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Period {
    /// Equal periods of so many nanoseconds, one of which begins so many before 1970.
    Equal(i128, i128),
    /// Calendar periods of so many months.
    Months(i32),
}

/// Where a value lies among the results of a [`Step`].
struct Cut {
    /// The least input whose result is not below the value.
    first: Datum,
    /// The least input whose result is above the value.
    after: Datum,
}

impl Step {
    /// What a cast does, or `None` when it loses the order of values or turns some into null.
    pub(super) fn cast(from: &DataType, to: &DataType) -> Option<Self> {
        use DataType::{Date32, Float32, Float64, Timestamp};
        if from == to || (is_text(from) && is_text(to)) || (is_binary(from) && is_binary(to)) {
            return Some(Self::Keep);
        }
        match (from, to) {
            (from, to) if from.is_integer() && to.is_integer() => {
                let fits = bits(from) < bits(to);
                (fits && (from.is_unsigned_integer() || to.is_signed_integer()))
                    .then_some(Self::Keep)
            }
            (from, Float64) if from.is_integer() => (bits(from) <= 32).then_some(Self::Float),
            (Float32, Float64) => Some(Self::Keep),
            (Date32, Timestamp(_, None)) => Some(Self::Midnight),
            (Timestamp(unit, None), Date32) => Some(Self::Date(*unit)),
            (Timestamp(from, from_zone), Timestamp(to, to_zone)) => {
                (from <= to && from_zone.is_some() == to_zone.is_some()).then_some(Self::Keep)
            }
            (from, to) if from.is_decimal() && to.is_decimal() => {
                let ((whole, scale), (to_whole, to_scale)) = (digits(from)?, digits(to)?);
                (whole <= to_whole && scale <= to_scale).then_some(Self::Keep)
            }
            _ => None,
        }
    }

    /// `date_trunc` over times of this type. Those with a zone are cut by its clock, whose days are not
    /// equally long.
    pub(super) fn truncate(period: &Expr, of: &DataType) -> Option<Self> {
        let (Expr::Literal(period, _), DataType::Timestamp(unit, None)) = (period, of) else {
            return None;
        };
        let equal = |length| Some(Period::Equal(length, 0));
        let period = match literal::text(period)?.to_lowercase().as_str() {
            "microsecond" => equal(1_000),
            "millisecond" => equal(1_000_000),
            "second" => equal(SECOND),
            "minute" => equal(60 * SECOND),
            "hour" => equal(3_600 * SECOND),
            "day" => equal(DAY),
            // Weeks begin on a Monday, and 1970 began on a Thursday.
            "week" => Some(Period::Equal(7 * DAY, 3 * DAY)),
            "month" => Some(Period::Months(1)),
            "quarter" => Some(Period::Months(3)),
            "year" => Some(Period::Months(12)),
            _ => None,
        }?;
        Some(match period {
            Period::Equal(length, _) if length <= nanoseconds(*unit) => Self::Keep,
            period => Self::Truncate(period, *unit),
        })
    }

    /// The values whose results are in `results`; `None` when that cannot be told.
    pub(super) fn inputs(self, results: &ValueSet) -> Option<ValueSet> {
        if self == Self::Keep {
            return Some(results.clone());
        }
        let mut inputs = Vec::with_capacity(results.intervals().len());
        for interval in results.intervals() {
            let lower = self.lower(interval.lower())?;
            let upper = self.upper(interval.upper())?;
            inputs.extend(Interval::new(lower, upper));
        }
        Some(ValueSet::of(inputs))
    }

    fn lower(self, end: &End) -> Option<End> {
        Some(match end {
            End::Unbounded => End::Unbounded,
            End::Inclusive(value) => End::Inclusive(self.cut(value)?.first),
            End::Exclusive(value) => End::Inclusive(self.cut(value)?.after),
        })
    }

    fn upper(self, end: &End) -> Option<End> {
        Some(match end {
            End::Unbounded => End::Unbounded,
            End::Inclusive(value) => End::Exclusive(self.cut(value)?.after),
            End::Exclusive(value) => End::Exclusive(self.cut(value)?.first),
        })
    }

    fn cut(self, value: &Datum) -> Option<Cut> {
        match (self, value) {
            (Self::Float, Datum::Float(value)) => among_integers(*value),
            (Self::Midnight, value) => among_dates(time(value)?),
            (Self::Date(unit), Datum::Date(day)) => {
                let midnight = |day: i64| stored_time(i128::from(day) * DAY, unit);
                let day = i64::from(*day);
                Some(Cut {
                    first: midnight(day)?,
                    after: midnight(day + 1)?,
                })
            }
            (Self::Truncate(period, unit), value) => {
                let value = time(value)?;
                let (start, next) = period.around(value)?;
                let first = if start == value { start } else { next };
                Some(Cut {
                    first: stored_time(first, unit)?,
                    after: stored_time(next, unit)?,
                })
            }
            _ => None,
        }
    }
}

impl Period {
    /// When the period that holds a time begins and when the next one does.
    fn around(self, time: i128) -> Option<(i128, i128)> {
        match self {
            Self::Equal(length, before) => {
                let start = time - (time + before).rem_euclid(length);
                Some((start, start + length))
            }
            Self::Months(months) => {
                let date = NaiveDate::from_epoch_days(i32::try_from(time.div_euclid(DAY)).ok()?)?;
                let month = date.year().checked_mul(12)? + i32::try_from(date.month0()).ok()?;
                let first = month - month.rem_euclid(months);
                Some((month_start(first)?, month_start(first + months)?))
            }
        }
    }
}

/// When a month, counted from year zero, begins.
fn month_start(month: i32) -> Option<i128> {
    let in_year = u32::try_from(month.rem_euclid(12)).ok()?;
    let first = NaiveDate::from_ymd_opt(month.div_euclid(12), in_year + 1, 1)?;
    Some(i128::from(first.to_epoch_days()) * DAY)
}

/// `None` out of the range in which floats hold every integer.
fn among_integers(value: f64) -> Option<Cut> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.is_nan() || value.abs() >= EXACT {
        return None;
    }
    // Within the range checked above the casts are exact.
    #[allow(clippy::cast_possible_truncation)]
    let (ceiling, floor) = (value.ceil() as i64, value.floor() as i64);
    // An integer becomes +0.0 and never -0.0, which is just below it.
    let below_zero = value == 0.0 && value.is_sign_negative();
    Some(Cut {
        first: Datum::Int(ceiling),
        after: Datum::Int(if below_zero { 0 } else { floor + 1 }),
    })
}

fn among_dates(time: i128) -> Option<Cut> {
    let day = i32::try_from(time.div_euclid(DAY)).ok()?;
    let next = day.checked_add(1)?;
    let exact = time.rem_euclid(DAY) == 0;
    Some(Cut {
        first: Datum::Date(if exact { day } else { next }),
        after: Datum::Date(next),
    })
}

/// Nanoseconds since 1970, by the clock of no zone.
fn time(value: &Datum) -> Option<i128> {
    match value {
        Datum::Timestamp {
            value,
            unit,
            utc: false,
        } => Some(i128::from(*value) * nanoseconds(*unit)),
        _ => None,
    }
}

/// A time that a column of this unit can hold; `None` beyond its range.
fn stored_time(time: i128, unit: TimeUnit) -> Option<Datum> {
    let value = i64::try_from(time.div_euclid(nanoseconds(unit))).ok()?;
    let utc = false;
    Some(Datum::Timestamp { value, unit, utc })
}

fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => SECOND,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

pub(super) fn is_text(kind: &DataType) -> bool {
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
