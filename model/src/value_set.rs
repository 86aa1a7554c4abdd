//! Sets of values as unions of intervals. Owns set algebra; knows nothing of columns or bounds.

use std::fmt;

use crate::datum::Datum;
use crate::interval::{End, Interval};

/// A union of intervals over the non-null values of a column.
///
/// When all ends compare with each other, the intervals ascend and do not touch. Others, which no filter
/// over one column gives, are kept as they come: such a set is never intersected, and it is sound because
/// values that do not compare are never ruled out and never surely inside.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ValueSet {
    intervals: Vec<Interval>,
    /// Whether some ends do not compare.
    mixed: bool,
}

impl ValueSet {
    /// No value at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Every value.
    pub fn everything() -> Self {
        Self::of([Interval::everything()])
    }

    /// The union of the given intervals.
    pub fn of(intervals: impl IntoIterator<Item = Interval>) -> Self {
        let mut intervals: Vec<Interval> = intervals.into_iter().collect();
        let mixed = !all_alike(intervals.iter().flat_map(ends_of));
        if !mixed {
            intervals.sort_by(Interval::lower_order);
            intervals = joined(intervals);
        }
        Self { intervals, mixed }
    }

    /// The values of an `IN` list.
    pub fn points(values: impl IntoIterator<Item = Datum>) -> Self {
        Self::of(values.into_iter().map(Interval::point))
    }

    /// Every value but one (`!=`).
    pub fn all_but(value: Datum) -> Self {
        let below = Interval::new(End::Unbounded, End::Exclusive(value.clone()));
        let above = Interval::new(End::Exclusive(value), End::Unbounded);
        Self::of(below.into_iter().chain(above))
    }

    /// Every value but the given ones (`NOT IN`); `None` when they do not compare.
    pub fn except(values: impl IntoIterator<Item = Datum>) -> Option<Self> {
        let holes = Self::points(values);
        if holes.mixed {
            return None;
        }
        let mut between = Vec::with_capacity(holes.intervals.len() + 1);
        let mut lower = End::Unbounded;
        for hole in holes.intervals {
            let (start, end) = hole.into_ends();
            between.extend(Interval::new(lower, opposite(start)));
            lower = opposite(end);
        }
        between.extend(Interval::new(lower, End::Unbounded));
        Some(Self::of(between))
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

    /// Whether every value belongs to the set.
    pub fn is_everything(&self) -> bool {
        self.intervals.iter().any(Interval::is_everything)
    }

    /// The values in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::of(self.intervals.iter().chain(&other.intervals).cloned())
    }

    /// The values in both sets; `None` when they do not compare.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        if self.is_everything() {
            return Some(other.clone());
        }
        if other.is_everything() {
            return Some(self.clone());
        }
        let ends = self.intervals.iter().chain(&other.intervals);
        if self.mixed || other.mixed || !all_alike(ends.flat_map(ends_of)) {
            return None;
        }
        let mut both = Vec::new();
        let (mut left, mut right) = (self.intervals.as_slice(), other.intervals.as_slice());
        while let (Some((a, after_a)), Some((b, after_b))) =
            (left.split_first(), right.split_first())
        {
            both.extend(a.intersect(b));
            if a.upper_order(b).is_le() {
                left = after_a;
            } else {
                right = after_b;
            }
        }
        Some(Self::of(both))
    }

    /// The values between the least and the greatest of the set; all values when they do not compare.
    #[must_use]
    pub fn hull(&self) -> Self {
        match (self.intervals.first(), self.intervals.last()) {
            (Some(first), Some(last)) if !self.mixed => {
                Self::of(Interval::new(first.lower().clone(), last.upper().clone()))
            }
            (None, _) => Self::empty(),
            _ => Self::everything(),
        }
    }

    /// Whether a value in `[lower, upper]` could belong to the set.
    pub fn may_overlap(&self, lower: Option<&Datum>, upper: Option<&Datum>) -> bool {
        let overlaps = |interval: &Interval| interval.may_overlap(lower, upper);
        if self.mixed {
            return self.intervals.iter().any(overlaps);
        }
        let first = self
            .intervals
            .partition_point(|interval| interval.is_below(lower));
        self.intervals.get(first).is_some_and(overlaps)
    }

    /// Whether every value in `[lower, upper]` surely belongs to one interval of the set.
    pub fn surely_covers(&self, lower: Option<&Datum>, upper: Option<&Datum>) -> bool {
        let covers = |interval: &Interval| interval.surely_covers(lower, upper);
        if self.mixed {
            return self.intervals.iter().any(covers);
        }
        let after = self
            .intervals
            .partition_point(|interval| interval.begins_by(lower));
        let last = after
            .checked_sub(1)
            .and_then(|last| self.intervals.get(last));
        last.is_some_and(covers)
    }
}

fn ends_of(interval: &Interval) -> impl Iterator<Item = &Datum> {
    interval
        .lower()
        .value()
        .into_iter()
        .chain(interval.upper().value())
}

/// Whether all values compare with each other.
fn all_alike<'a>(values: impl IntoIterator<Item = &'a Datum>) -> bool {
    let mut kinds = values.into_iter().map(Datum::kind);
    match kinds.next() {
        Some(first) => kinds.all(|kind| kind == first),
        None => true,
    }
}

/// Ascending intervals, with those that overlap or touch made one.
fn joined(intervals: Vec<Interval>) -> Vec<Interval> {
    let mut joined: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match joined.last_mut() {
            Some(last) => match last.join(&interval) {
                Some(both) => *last = both,
                None => joined.push(interval),
            },
            None => joined.push(interval),
        }
    }
    joined
}

/// The end of what lies on the other side.
fn opposite(end: End) -> End {
    match end {
        End::Unbounded => End::Unbounded,
        End::Inclusive(value) => End::Exclusive(value),
        End::Exclusive(value) => End::Inclusive(value),
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

#[cfg(test)]
#[path = "value_set_tests.rs"]
mod tests;
