//! Sets of values as unions of intervals. Owns set algebra; knows nothing of columns or bounds.

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
    fn value(&self) -> Option<&Datum> {
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

    /// Just one value.
    pub fn point(value: Datum) -> Self {
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

    /// Whether both ends are open, so that every value (NaN too) belongs to it.
    pub fn is_everything(&self) -> bool {
        self.lower == End::Unbounded && self.upper == End::Unbounded
    }

    /// The values in both. Ends that do not compare are kept from `self`, which can only widen the
    /// result.
    fn intersect(&self, other: &Self) -> Option<Self> {
        let lower = tighter(&self.lower, &other.lower, Ordering::Less);
        let upper = tighter(&self.upper, &other.upper, Ordering::Greater);
        Self::new(lower, upper)
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
        let above = match (self.lower.value(), upper) {
            (Some(end), Some(upper)) => match upper.compare(end) {
                Some(Ordering::Less) => false,
                Some(Ordering::Equal) => !self.lower.excludes(),
                _ => true,
            },
            _ => true,
        };
        let below = match (self.upper.value(), lower) {
            (Some(end), Some(lower)) => match lower.compare(end) {
                Some(Ordering::Greater) => false,
                Some(Ordering::Equal) => !self.upper.excludes(),
                _ => true,
            },
            _ => true,
        };
        above && below
    }

    /// Whether every value in `[lower, upper]` surely belongs to the interval. A missing limit can
    /// only be covered by an open end.
    pub fn surely_covers(&self, lower: Option<&Datum>, upper: Option<&Datum>) -> bool {
        let from_below = covers_end(&self.lower, lower, Ordering::Greater);
        let from_above = covers_end(&self.upper, upper, Ordering::Less);
        from_below && from_above
    }

    /// Whether the value surely belongs to the interval.
    pub fn contains(&self, value: &Datum) -> bool {
        self.surely_covers(Some(value), Some(value))
    }
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
        End::Exclusive(value) if counts(&value) => value.successor().map(End::Inclusive),
        end => Some(end),
    }
}

fn count_down(upper: End) -> Option<End> {
    match upper {
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

/// The end that admits fewer values; `looser` is how the looser value compares to the tighter one.
fn tighter(a: &End, b: &End, looser: Ordering) -> End {
    let (Some(va), Some(vb)) = (a.value(), b.value()) else {
        return if a.value().is_none() {
            b.clone()
        } else {
            a.clone()
        };
    };
    match va.compare(vb) {
        Some(Ordering::Equal) => {
            if b.excludes() {
                b.clone()
            } else {
                a.clone()
            }
        }
        Some(order) if order == looser => b.clone(),
        _ => a.clone(),
    }
}

/// A union of intervals over the non-null values of a column.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ValueSet {
    intervals: Vec<Interval>,
}

impl ValueSet {
    /// No value at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Every value.
    pub fn everything() -> Self {
        Self {
            intervals: vec![Interval::everything()],
        }
    }

    /// The union of the given intervals.
    pub fn of(intervals: impl IntoIterator<Item = Interval>) -> Self {
        Self {
            intervals: intervals.into_iter().collect(),
        }
    }

    /// The values of an `IN` list.
    pub fn points(values: impl IntoIterator<Item = Datum>) -> Self {
        Self::of(values.into_iter().map(Interval::point))
    }

    /// Every value but the given ones (`!=`, `NOT IN`).
    pub fn except(values: impl IntoIterator<Item = Datum>) -> Self {
        values.into_iter().fold(Self::everything(), |set, value| {
            let below = Interval::new(End::Unbounded, End::Exclusive(value.clone()));
            let above = Interval::new(End::Exclusive(value), End::Unbounded);
            set.intersect(&Self::of(below.into_iter().chain(above)))
        })
    }

    /// Strings or binary that start with `prefix` (`LIKE 'prefix%'`): from the prefix up to its
    /// successor in byte order, without an upper end when there is none.
    pub fn starting_with(prefix: &[u8]) -> Self {
        let mut above = prefix.to_vec();
        while above.last() == Some(&u8::MAX) {
            above.pop();
        }
        let upper = above
            .last_mut()
            .map(|last| *last += 1)
            .map_or(End::Unbounded, |()| End::Exclusive(Datum::Bytes(above)));
        Self::of(Interval::new(
            End::Inclusive(Datum::Bytes(prefix.to_vec())),
            upper,
        ))
    }

    /// The intervals of the union.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Whether no value belongs to the set.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The values in both sets.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        if self.intervals.iter().any(Interval::is_everything) {
            return other.clone();
        }
        if other.intervals.iter().any(Interval::is_everything) {
            return self.clone();
        }
        Self::of(
            self.intervals
                .iter()
                .flat_map(|a| other.intervals.iter().filter_map(move |b| a.intersect(b))),
        )
    }

    /// Whether a value in `[lower, upper]` could belong to the set.
    pub fn may_overlap(&self, lower: Option<&Datum>, upper: Option<&Datum>) -> bool {
        self.intervals
            .iter()
            .any(|interval| interval.may_overlap(lower, upper))
    }

    /// Whether every value in `[lower, upper]` surely belongs to one interval of the set.
    pub fn surely_covers(&self, lower: Option<&Datum>, upper: Option<&Datum>) -> bool {
        self.intervals
            .iter()
            .any(|interval| interval.surely_covers(lower, upper))
    }

    /// Whether the value surely belongs to the set.
    pub fn contains(&self, value: &Datum) -> bool {
        self.intervals
            .iter()
            .any(|interval| interval.contains(value))
    }
}

/// Writes the set as conditions on `x`-less tests: `>= 5 AND < 7`, `= 3`, `IN (…)`.
impl fmt::Display for ValueSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        if self.intervals.is_empty() {
            return f.write_str("matches nothing");
        }
        for (position, interval) in self.intervals.iter().take(SHOWN).enumerate() {
            if position > 0 {
                f.write_str(" OR ")?;
            }
            write!(f, "{interval}")?;
        }
        match self.intervals.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => write!(f, " OR {more} more"),
            _ => Ok(()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(lower: End, upper: End) -> ValueSet {
        ValueSet::of(Interval::new(lower, upper))
    }

    #[test]
    fn integers_leave_no_room_between_neighbours() {
        let above = set(End::Exclusive(Datum::Int(5)), End::Unbounded);
        let below = set(End::Unbounded, End::Exclusive(Datum::Int(6)));
        assert!(above.intersect(&below).is_empty());
    }

    #[test]
    fn prefixes_end_before_their_successor() {
        let prefix = ValueSet::starting_with(b"ab\xff");
        assert!(prefix.contains(&Datum::Bytes(b"ab\xff\xff".to_vec())));
        assert!(!prefix.contains(&Datum::Bytes(b"ac".to_vec())));
        let open = ValueSet::starting_with(b"\xff");
        assert!(open.contains(&Datum::Bytes(b"\xff\xff\xff".to_vec())));
        assert!(ValueSet::starting_with(b"").contains(&Datum::Bytes(vec![])));
    }

    #[test]
    fn exceptions_cut_holes() {
        let set = ValueSet::except([Datum::Int(3), Datum::Int(5)]);
        for (value, inside) in [(2, true), (3, false), (4, true), (5, false), (6, true)] {
            assert_eq!(set.contains(&Datum::Int(value)), inside, "{value}");
        }
    }

    #[test]
    fn values_of_another_kind_are_never_ruled_out() {
        let set = ValueSet::points([Datum::Int(3)]);
        assert!(set.may_overlap(Some(&Datum::Date(9)), Some(&Datum::Date(9))));
        assert!(!set.surely_covers(Some(&Datum::Date(3)), Some(&Datum::Date(3))));
    }
}
