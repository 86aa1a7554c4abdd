//! Single values and their order. Owns comparison; knows nothing of columns or files.

use std::cmp::Ordering;
use std::fmt;

use arrow_buffer::i256;
use arrow_schema::TimeUnit;

/// One non-null value of a column, a literal of a predicate or a bound.
///
/// Values of one variant have a total order which is the order of DataFusion's row filter: floats
/// follow IEEE 754 `totalOrder` (`-NaN < -inf … -0.0 < +0.0 … +inf < NaN`; the filter takes the zeros for
/// one value, and so do [`crate::Interval`]s), strings and binary follow
/// their bytes. Different variants do not compare.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A boolean; `false < true`.
    Boolean(bool),
    /// Signed integers of any width.
    Int(i64),
    /// Unsigned integers of any width.
    UInt(u64),
    /// Floats of any width, widened without loss.
    Float(f64),
    /// A decimal of any width: `unscaled * 10^-scale`.
    Decimal {
        /// The integer before the scale is applied.
        unscaled: i256,
        /// Digits after the point; may be negative.
        scale: i8,
    },
    /// Days since 1970-01-01.
    Date(i32),
    /// Time since midnight.
    Time {
        /// Units since midnight.
        value: i64,
        /// The unit of `value`.
        unit: TimeUnit,
    },
    /// An instant, or a wall-clock time when the column has no zone.
    Timestamp {
        /// Units since 1970-01-01T00:00:00.
        value: i64,
        /// The unit of `value`.
        unit: TimeUnit,
        /// Whether the column has a zone, so that `value` is an instant.
        utc: bool,
    },
    /// Strings as UTF-8 and binary. A bound may be cut in the middle of a character, so this is
    /// never assumed to be valid UTF-8.
    Bytes(Vec<u8>),
}

impl Datum {
    /// A string value.
    pub fn text(value: &str) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }

    /// The order of two values, or `None` when they are of different kinds and do not compare.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::UInt(a), Self::UInt(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::UInt(a), Self::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::Float(a), Self::Float(b)) => Some(a.total_cmp(b)),
            (
                Self::Decimal {
                    unscaled: a,
                    scale: sa,
                },
                Self::Decimal {
                    unscaled: b,
                    scale: sb,
                },
            ) => Some(compare_decimals(*a, *sa, *b, *sb)),
            (Self::Date(a), Self::Date(b)) => Some(a.cmp(b)),
            (Self::Time { value: a, unit: ua }, Self::Time { value: b, unit: ub }) => {
                Some(nanoseconds(*a, *ua).cmp(&nanoseconds(*b, *ub)))
            }
            (
                Self::Timestamp {
                    value: a,
                    unit: ua,
                    utc: za,
                },
                Self::Timestamp {
                    value: b,
                    unit: ub,
                    utc: zb,
                },
            ) if za == zb => Some(nanoseconds(*a, *ua).cmp(&nanoseconds(*b, *ub))),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// Which values this one compares with: those of the same number.
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Boolean(_) => 0,
            Self::Int(_) | Self::UInt(_) => 1,
            Self::Float(_) => 2,
            Self::Decimal { .. } => 3,
            Self::Date(_) => 4,
            Self::Time { .. } => 5,
            Self::Timestamp { utc: false, .. } => 6,
            Self::Timestamp { utc: true, .. } => 7,
            Self::Bytes(_) => 8,
        }
    }

    /// Whether this is a float that is not a number, of either sign.
    pub fn is_nan(&self) -> bool {
        matches!(self, Self::Float(value) if value.is_nan())
    }

    /// Of a time or timestamp, the nanoseconds since midnight or 1970.
    pub(crate) fn nanoseconds(&self) -> Option<i128> {
        match self {
            Self::Time { value, unit } | Self::Timestamp { value, unit, .. } => {
                Some(nanoseconds(*value, *unit))
            }
            _ => None,
        }
    }

    /// The smallest value above this one, for kinds whose values can be counted (integers, dates,
    /// booleans). `None` for other kinds and at the top of the range.
    pub fn successor(&self) -> Option<Self> {
        match self {
            Self::Boolean(false) => Some(Self::Boolean(true)),
            Self::Int(value) => value.checked_add(1).map(Self::Int),
            Self::UInt(value) => value.checked_add(1).map(Self::UInt),
            Self::Date(value) => value.checked_add(1).map(Self::Date),
            _ => None,
        }
    }

    /// The largest value below this one; the mirror of [`Datum::successor`].
    pub fn predecessor(&self) -> Option<Self> {
        match self {
            Self::Boolean(true) => Some(Self::Boolean(false)),
            Self::Int(value) => value.checked_sub(1).map(Self::Int),
            Self::UInt(value) => value.checked_sub(1).map(Self::UInt),
            Self::Date(value) => value.checked_sub(1).map(Self::Date),
            _ => None,
        }
    }
}

fn nanoseconds(value: i64, unit: TimeUnit) -> i128 {
    let factor = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    i128::from(value) * factor
}

fn compare_decimals(a: i256, scale_a: i8, b: i256, scale_b: i8) -> Ordering {
    let scale = scale_a.max(scale_b);
    match (rescale(a, scale_a, scale), rescale(b, scale_b, scale)) {
        (Some(a), Some(b)) => a.cmp(&b),
        // What has no room at the common scale is beyond all that has. Only one of the two is rescaled.
        (None, _) => a.cmp(&i256::ZERO),
        (_, None) => i256::ZERO.cmp(&b),
    }
}

/// The unscaled value at a greater scale; `None` when it has no room there.
fn rescale(value: i256, from: i8, to: i8) -> Option<i256> {
    let digits = u32::try_from(i16::from(to) - i16::from(from)).ok()?;
    if digits == 0 || value == i256::ZERO {
        return Some(value);
    }
    let factor = i256::from_i128(10).checked_pow(digits)?;
    value.checked_mul(factor)
}

impl fmt::Display for Datum {
    /// The value as a person would write it in SQL, without type names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::UInt(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Decimal { unscaled, scale } => write_decimal(f, *unscaled, *scale),
            Self::Date(days) => write_date(f, i64::from(*days)),
            Self::Time { value, unit } => write_clock(f, nanoseconds(*value, *unit)),
            Self::Timestamp { value, unit, utc } => {
                let total = nanoseconds(*value, *unit);
                let day = 86_400_000_000_000;
                let days = i64::try_from(total.div_euclid(day)).unwrap_or_default();
                write_date(f, days)?;
                f.write_str("T")?;
                write_clock(f, total.rem_euclid(day))?;
                f.write_str(if *utc { "Z" } else { "" })
            }
            Self::Bytes(bytes) => write_bytes(f, bytes),
        }
    }
}

fn write_decimal(f: &mut fmt::Formatter<'_>, unscaled: i256, scale: i8) -> fmt::Result {
    let negative = unscaled < i256::ZERO;
    let digits = unscaled.to_string();
    let digits = digits.trim_start_matches('-');
    let sign = if negative { "-" } else { "" };
    match usize::try_from(scale) {
        Ok(0) => write!(f, "{sign}{digits}"),
        Ok(places) => {
            let padded = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = padded.split_at(padded.len() - places);
            write!(f, "{sign}{whole}.{fraction}")
        }
        Err(_) => write!(f, "{sign}{digits}e{}", -i16::from(scale)),
    }
}

/// Writes a day count as a proleptic Gregorian date (days-from-civil, inverted).
fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    write!(f, "{year:04}-{month:02}-{day:02}")
}

fn write_clock(f: &mut fmt::Formatter<'_>, nanos: i128) -> fmt::Result {
    let seconds = nanos / 1_000_000_000;
    let fraction = nanos % 1_000_000_000;
    write!(
        f,
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )?;
    if fraction != 0 {
        let digits = format!("{fraction:09}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    Ok(())
}

/// Longest string shown whole in a message; reasons must stay readable.
const SHOWN_BYTES: usize = 64;

fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let (shown, more) = match bytes.get(..SHOWN_BYTES) {
        Some(head) if bytes.len() > SHOWN_BYTES => (head, "…"),
        _ => (bytes, ""),
    };
    let text = String::from_utf8_lossy(shown);
    if text.chars().any(|c| c.is_control() && c != '\u{fffd}') {
        f.write_str("0x")?;
        shown.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        return f.write_str(more);
    }
    write!(
        f,
        "'{}{more}'",
        text.trim_end_matches('\u{fffd}').replace('\'', "''")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_follow_the_total_order_of_the_row_filter() {
        let ascending = [
            -f64::NAN,
            f64::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            1.0,
            f64::INFINITY,
            f64::NAN,
        ];
        for pair in ascending.windows(2) {
            let (a, b) = (Datum::Float(pair[0]), Datum::Float(pair[1]));
            assert_eq!(a.compare(&b), Some(Ordering::Less), "{a} < {b}");
        }
    }

    #[test]
    fn decimals_compare_at_their_common_scale() {
        let decimal = |unscaled, scale| Datum::Decimal { unscaled, scale };
        let small = |unscaled, scale| decimal(i256::from_i128(unscaled), scale);
        let ascending = [
            decimal(i256::MIN, -128),
            small(-1, -100),
            decimal(i256::MIN, 0),
            small(-150, 2),
            small(-1, 127),
            small(0, 3),
            small(1, 127),
            small(14, 1),
            small(150, 2),
            decimal(i256::MAX, 1),
            decimal(i256::MAX, 0),
            small(1, -100),
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(a.compare(b), Some(i.cmp(&j)), "{a} and {b}");
            }
        }
        assert_eq!(small(150, 2).compare(&small(15, 1)), Some(Ordering::Equal));
        assert_eq!(
            small(0, -128).compare(&small(0, 127)),
            Some(Ordering::Equal)
        );
    }

    #[test]
    fn values_of_different_kinds_do_not_compare() {
        assert_eq!(Datum::Int(1).compare(&Datum::Date(1)), None);
        let local = Datum::Timestamp {
            value: 0,
            unit: TimeUnit::Second,
            utc: false,
        };
        let utc = Datum::Timestamp {
            value: 0,
            unit: TimeUnit::Second,
            utc: true,
        };
        assert_eq!(local.compare(&utc), None);
    }

    #[test]
    fn values_print_as_people_write_them() {
        let cases = [
            (Datum::Date(19_783), "2024-03-01"),
            (Datum::Date(-1), "1969-12-31"),
            (
                Datum::Timestamp {
                    value: 1,
                    unit: TimeUnit::Millisecond,
                    utc: true,
                },
                "1970-01-01T00:00:00.001Z",
            ),
            (
                Datum::Decimal {
                    unscaled: i256::from_i128(-5),
                    scale: 2,
                },
                "-0.05",
            ),
            (Datum::text("it's"), "'it''s'"),
            (Datum::Bytes(vec![0, 255]), "0x00ff"),
        ];
        for (datum, text) in cases {
            assert_eq!(datum.to_string(), text);
        }
    }
}
