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
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    fn end(literal: impl Strategy<Value = Datum> + Clone) -> impl Strategy<Value = End> {
        prop_oneof![
            1 => Just(End::Unbounded),
            3 => literal.clone().prop_map(End::Inclusive),
            3 => literal.prop_map(End::Exclusive),
        ]
    }

    type Ends = Vec<(End, End)>;

    fn lists(literal: impl Strategy<Value = Datum> + Clone) -> impl Strategy<Value = Ends> {
        prop::collection::vec((end(literal.clone()), end(literal)), 0..6)
    }

    /// Two lists of intervals of one kind. Values are few, so that ends meet often; floats leave room
    /// between neighbours, integers do not.
    fn pairs() -> impl Strategy<Value = (Ends, Ends)> {
        let ints = || lists((-5_i64..6).prop_map(Datum::Int));
        let floats = || lists((-5_i8..6).prop_map(|n| Datum::Float(n.into())));
        prop_oneof![(ints(), ints()), (floats(), floats())]
    }

    fn set(ends: &[(End, End)]) -> ValueSet {
        ValueSet::of(
            ends.iter()
                .filter_map(|(lower, upper)| Interval::new(lower.clone(), upper.clone())),
        )
    }

    fn naive(ends: &[(End, End)], value: &Datum) -> bool {
        let inside = |end: &End, outward: Ordering| match end {
            End::Unbounded => true,
            End::Inclusive(limit) => value.compare(limit) != Some(outward),
            End::Exclusive(limit) => value.compare(limit) == Some(outward.reverse()),
        };
        ends.iter()
            .any(|(lower, upper)| inside(lower, Ordering::Less) && inside(upper, Ordering::Greater))
    }

    fn contains(set: &ValueSet, value: &Datum) -> bool {
        let may = set.may_overlap(Some(value), Some(value));
        assert_eq!(
            may,
            set.surely_covers(Some(value), Some(value)),
            "{set} {value}"
        );
        may
    }

    /// Values of the kind of the ends, on them and between them.
    fn values(ends: &[(End, End)]) -> Vec<Datum> {
        let is_int = |end: &End| matches!(end.value(), Some(Datum::Int(_)));
        if ends.iter().any(|(a, b)| is_int(a) || is_int(b)) {
            return (-7..8).map(Datum::Int).collect();
        }
        (-14..15_i8)
            .map(|n| Datum::Float(f64::from(n) / 2.0))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        #[test]
        fn a_set_holds_what_its_intervals_hold((ends, _) in pairs()) {
            let set = set(&ends);
            for value in values(&ends) {
                prop_assert_eq!(contains(&set, &value), naive(&ends, &value), "{} {}", set, value);
            }
            let apart = set.intervals().windows(2).all(|pair| pair[0].join(&pair[1]).is_none());
            prop_assert!(apart, "{}", set);
        }

        #[test]
        fn sets_are_united_and_intersected_value_by_value((a, b) in pairs()) {
            let (one, two) = (set(&a), set(&b));
            let both = one.intersect(&two).unwrap();
            let either = one.union(&two);
            for value in values(&[a.as_slice(), b.as_slice()].concat()) {
                let (in_a, in_b) = (naive(&a, &value), naive(&b, &value));
                prop_assert_eq!(contains(&both, &value), in_a && in_b, "{} {}", both, value);
                prop_assert_eq!(contains(&either, &value), in_a || in_b, "{} {}", either, value);
            }
        }

        #[test]
        fn bounds_are_judged_as_their_values_are(
            (ends, _) in pairs(), lower in -14..15_i8, length in 0..12_usize
        ) {
            let set = set(&ends);
            let values: Vec<Datum> = values(&ends)
                .into_iter()
                .skip_while(|value| match value {
                    Datum::Int(value) => *value < i64::from(lower),
                    Datum::Float(value) => *value < f64::from(lower),
                    _ => false,
                })
                .take(length + 1)
                .collect();
            if let (Some(lower), Some(upper)) = (values.first(), values.last()) {
                let held = values.iter().filter(|value| naive(&ends, value)).count();
                let may = set.may_overlap(Some(lower), Some(upper));
                let sure = set.surely_covers(Some(lower), Some(upper));
                prop_assert!(may || held == 0, "{} {} {}", set, lower, upper);
                prop_assert!(!sure || held == values.len(), "{} {} {}", set, lower, upper);
                let all = set.intervals().iter();
                let slow = all.clone().any(|one| one.may_overlap(Some(lower), Some(upper)));
                prop_assert_eq!(may, slow);
                let slow = all.clone().any(|one| one.surely_covers(Some(lower), Some(upper)));
                prop_assert_eq!(sure, slow);
            }
        }

        #[test]
        fn exceptions_cut_holes(holes in prop::collection::vec(-5_i8..6, 0..6)) {
            let set = ValueSet::except(holes.iter().map(|hole| Datum::Int((*hole).into()))).unwrap();
            for value in -7..8_i8 {
                prop_assert_eq!(contains(&set, &Datum::Int(value.into())), !holes.contains(&value));
            }
            let floats = holes.iter().map(|hole| Datum::Float((*hole).into()));
            let set = ValueSet::except(floats).unwrap();
            for value in -14..15_i8 {
                let value = f64::from(value) / 2.0;
                let hole = holes.iter().any(|hole| f64::from(*hole) == value);
                prop_assert_eq!(contains(&set, &Datum::Float(value)), !hole);
            }
        }
    }

    #[test]
    fn integers_leave_no_room_between_neighbours() {
        let set = |lower, upper| ValueSet::of(Interval::new(lower, upper));
        let above = set(End::Exclusive(Datum::Int(5)), End::Unbounded);
        let below = set(End::Unbounded, End::Exclusive(Datum::Int(6)));
        assert!(above.intersect(&below).unwrap().is_empty());
    }

    #[test]
    fn prefixes_end_before_their_successor() {
        let bytes = |bytes: &[u8]| Datum::Bytes(bytes.to_vec());
        let prefix = ValueSet::starting_with(b"ab\xff");
        assert!(contains(&prefix, &bytes(b"ab\xff\xff")));
        assert!(!contains(&prefix, &bytes(b"ac")));
        let open = ValueSet::starting_with(b"\xff");
        assert!(contains(&open, &bytes(b"\xff\xff\xff")));
        assert!(contains(&ValueSet::starting_with(b""), &bytes(b"")));
    }

    #[test]
    fn values_of_another_kind_are_neither_ruled_out_nor_sure() {
        let date = Datum::Date(9);
        let other = ValueSet::points([Datum::Int(3)]);
        let mixed = ValueSet::points([Datum::Int(3), Datum::Bytes(vec![1])]);
        for set in [
            other.clone(),
            mixed.clone(),
            ValueSet::all_but(Datum::Int(9)),
        ] {
            assert!(set.may_overlap(Some(&date), Some(&date)), "{set}");
            assert!(!set.surely_covers(Some(&date), Some(&date)), "{set}");
            assert_eq!(set.intersect(&ValueSet::points([date.clone()])), None);
        }
        assert!(mixed.may_overlap(Some(&Datum::Int(4)), Some(&Datum::Int(4))));
        assert!(mixed.surely_covers(Some(&Datum::Int(3)), Some(&Datum::Int(3))));
        assert_eq!(ValueSet::except([Datum::Int(3), date]), None);
        assert_eq!(mixed.hull(), ValueSet::everything());
    }
}
