//! Ranges of values. Knows nothing of columns or bounds.

use std::cmp::Ordering;
use std::fmt;

use crate::datum::Datum;

/// One end of an [`Interval`].
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// No limit on this side.
    Unbounded,
    /// The value itself belongs to the interval.
    Inclusive(Datum),
    /// The value itself does not belong to the interval.
    Exclusive(Datum),
}

impl End {
    /// The value at which the interval ends.
    pub fn value(&self) -> Option<&Datum> {
        match self {
            Self::Unbounded => None,
            Self::Inclusive(value) | Self::Exclusive(value) => Some(value),
        }
    }

    fn excludes(&self) -> bool {
        matches!(self, Self::Exclusive(_))
    }
}

/// All values between two ends. Integers, dates and booleans are kept with inclusive ends, so that
/// `x > 5 AND x < 6` is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    lower: End,
    upper: End,
}

impl Interval {
    /// Every value.
    pub fn everything() -> Self {
        Self {
            lower: End::Unbounded,
            upper: End::Unbounded,
        }
    }

    /// The values between two ends, or `None` when there is none.
    pub fn new(lower: End, upper: End) -> Option<Self> {
        let lower = count_up(lower)?;
        let upper = count_down(upper)?;
        let interval = Self { lower, upper };
        (!interval.is_empty()).then_some(interval)
    }

    /// Just one value; of a zero, both zeros.
    pub fn point(value: Datum) -> Self {
        if let Datum::Float(0.0) = value {
            return Self {
                lower: End::Inclusive(Datum::Float(-0.0)),
                upper: End::Inclusive(Datum::Float(0.0)),
            };
        }
        Self {
            lower: End::Inclusive(value.clone()),
            upper: End::Inclusive(value),
        }
    }

    /// The lower end.
    pub fn lower(&self) -> &End {
        &self.lower
    }

    /// The upper end.
    pub fn upper(&self) -> &End {
        &self.upper
    }

    /// The one value that belongs to it, when there is just one.
    pub fn as_point(&self) -> Option<&Datum> {
        match (&self.lower, &self.upper) {
            (End::Inclusive(lower), End::Inclusive(upper)) if lower == upper => Some(lower),
            _ => None,
        }
    }

    pub(crate) fn into_ends(self) -> (End, End) {
        (self.lower, self.upper)
    }

    /// Whether both ends are open, so that every value (NaN too) belongs to it.
    pub fn is_everything(&self) -> bool {
        self.lower == End::Unbounded && self.upper == End::Unbounded
    }

    /// The values in both, whose ends must compare.
    pub(crate) fn intersect(&self, other: &Self) -> Option<Self> {
        let lower = if self.lower_order(other).is_ge() {
            &self.lower
        } else {
            &other.lower
        };
        let upper = if self.upper_order(other).is_le() {
            &self.upper
        } else {
            &other.upper
        };
        Self::new(lower.clone(), upper.clone())
    }

    /// The values from the lower end of `self` to the greater of the upper ends, when no value between
    /// is in neither. `other` must not begin before `self`, and ends must compare.
    pub(crate) fn join(&self, other: &Self) -> Option<Self> {
        if let (Some(end), Some(start)) = (self.upper.value(), other.lower.value()) {
            let gap = match order(end, start) {
                Ordering::Less => true,
                Ordering::Equal => self.upper.excludes() && other.lower.excludes(),
                Ordering::Greater => false,
            };
            if gap {
                return None;
            }
        }
        let upper = if self.upper_order(other).is_ge() {
            &self.upper
        } else {
            &other.upper
        };
        Some(Self {
            lower: self.lower.clone(),
            upper: upper.clone(),
        })
    }

    /// Which begins first; ends must compare.
    pub(crate) fn lower_order(&self, other: &Self) -> Ordering {
        match (self.lower.value(), other.lower.value()) {
            (Some(a), Some(b)) => {
                order(a, b).then(self.lower.excludes().cmp(&other.lower.excludes()))
            }
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }

    /// Which ends first; ends must compare.
    pub(crate) fn upper_order(&self, other: &Self) -> Ordering {
        match (self.upper.value(), other.upper.value()) {
            (Some(a), Some(b)) => {
                order(a, b).then(other.upper.excludes().cmp(&self.upper.excludes()))
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    fn is_empty(&self) -> bool {
        let (Some(lower), Some(upper)) = (self.lower.value(), self.upper.value()) else {
            return false;
        };
        match lower.compare(upper) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => self.lower.excludes() || self.upper.excludes(),
            _ => false,
        }
    }

    /// Whether a value in `[lower, upper]` (missing: no limit) could belong to the interval. `true`
    /// when the values do not compare.
    pub fn may_overlap(&self, lower: Option<&Datum>, upper: Option<&Datum>) -> bool {
        !self.is_below(lower) && !self.is_above(upper)
    }

    /// Whether all of the interval is surely below `lower`.
    pub(crate) fn is_below(&self, lower: Option<&Datum>) -> bool {
        let (Some(end), Some(lower)) = (self.upper.value(), lower) else {
            return false;
        };
        match end.compare(lower) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => self.upper.excludes(),
            _ => false,
        }
    }

    fn is_above(&self, upper: Option<&Datum>) -> bool {
        let (Some(end), Some(upper)) = (self.lower.value(), upper) else {
            return false;
        };
        match end.compare(upper) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => self.lower.excludes(),
            _ => false,
        }
    }

    /// Whether every value in `[lower, upper]` surely belongs to the interval. A missing limit can
    /// only be covered by an open end.
    pub fn surely_covers(&self, lower: Option<&Datum>, upper: Option<&Datum>) -> bool {
        self.begins_by(lower) && covers_end(&self.upper, upper, Ordering::Less)
    }

    /// Whether the interval surely begins with `lower` or before it.
    pub(crate) fn begins_by(&self, lower: Option<&Datum>) -> bool {
        covers_end(&self.lower, lower, Ordering::Greater)
    }
}

/// The order of values that are known to compare.
fn order(a: &Datum, b: &Datum) -> Ordering {
    a.compare(b).unwrap_or(Ordering::Equal)
}

fn covers_end(end: &End, limit: Option<&Datum>, inside: Ordering) -> bool {
    match (end.value(), limit) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(end_value), Some(limit)) => match limit.compare(end_value) {
            Some(Ordering::Equal) => !end.excludes(),
            Some(order) => order == inside,
            None => false,
        },
    }
}

fn count_up(lower: End) -> Option<End> {
    match lower {
        // Comparisons take the two zeros for one value.
        End::Inclusive(Datum::Float(0.0)) => Some(End::Inclusive(Datum::Float(-0.0))),
        End::Exclusive(Datum::Float(0.0)) => Some(End::Exclusive(Datum::Float(0.0))),
        End::Exclusive(value) if counts(&value) => value.successor().map(End::Inclusive),
        end => Some(end),
    }
}

fn count_down(upper: End) -> Option<End> {
    match upper {
        End::Inclusive(Datum::Float(0.0)) => Some(End::Inclusive(Datum::Float(0.0))),
        End::Exclusive(Datum::Float(0.0)) => Some(End::Exclusive(Datum::Float(-0.0))),
        End::Exclusive(value) if counts(&value) => value.predecessor().map(End::Inclusive),
        end => Some(end),
    }
}

fn counts(value: &Datum) -> bool {
    matches!(
        value,
        Datum::Boolean(_) | Datum::Int(_) | Datum::UInt(_) | Datum::Date(_)
    )
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (End::Inclusive(lower), End::Inclusive(upper)) = (&self.lower, &self.upper)
            && lower == upper
        {
            return write!(f, "= {lower}");
        }
        let lower = match &self.lower {
            End::Unbounded => None,
            End::Inclusive(value) => Some(format!(">= {value}")),
            End::Exclusive(value) => Some(format!("> {value}")),
        };
        let upper = match &self.upper {
            End::Unbounded => None,
            End::Inclusive(value) => Some(format!("<= {value}")),
            End::Exclusive(value) => Some(format!("< {value}")),
        };
        match (lower, upper) {
            (None, None) => f.write_str("is any value"),
            (Some(end), None) | (None, Some(end)) => f.write_str(&end),
            (Some(lower), Some(upper)) => write!(f, "{lower} AND {upper}"),
        }
    }
}
