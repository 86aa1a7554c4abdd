//! Sets of rows of one row group. Pure set algebra over ranges; knows no pages.

use std::ops::Range;

/// Rows of a row group: ascending, disjoint, non-empty ranges that do not touch.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct RowSet(Vec<Range<u64>>);

impl RowSet {
    /// No row.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    /// The rows of one range.
    pub(crate) fn range(rows: Range<u64>) -> Self {
        Self::of([rows])
    }

    /// The rows of ascending ranges, which may touch or overlap.
    pub(crate) fn of(ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                _ if range.start >= range.end => {}
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many rows these are.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// All rows from the first to the last.
    pub(crate) fn span(&self) -> Self {
        match (self.ranges().first(), self.ranges().last()) {
            (Some(first), Some(last)) => Self::range(first.start..last.end),
            _ => self.clone(),
        }
    }

    /// The rows in both sets.
    pub(crate) fn intersect(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let (start, end) = (x.start.max(y.start), x.end.min(y.end));
            if start < end {
                both.push(start..end);
            }
            if x.end <= y.end {
                a.next();
            } else {
                b.next();
            }
        }
        Self(both)
    }

    /// The rows that are not in the other set.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut others = other.0.iter().peekable();
        for range in &self.0 {
            let mut start = range.start;
            while let Some(next) = others.peek() {
                if next.start >= range.end {
                    break;
                }
                left.push(start..next.start.max(start));
                start = next.end.max(start);
                if next.end > range.end {
                    break;
                }
                others.next();
            }
            left.push(start..range.end);
        }
        Self::of(left)
    }

    /// The same rows in so many sets of about as many rows each, in order.
    pub(crate) fn pieces(&self, count: u64) -> Vec<Self> {
        let each = self.count().div_ceil(count.max(1)).max(1);
        let mut pieces: Vec<Vec<Range<u64>>> = vec![Vec::new()];
        let mut room = each;
        for range in &self.0 {
            let mut start = range.start;
            while start < range.end {
                if room == 0 {
                    pieces.push(Vec::new());
                    room = each;
                }
                let end = range.end.min(start + room);
                room -= end - start;
                if let Some(last) = pieces.last_mut() {
                    last.push(start..end);
                }
                start = end;
            }
        }
        pieces.into_iter().map(Self::of).collect()
    }

    /// The rows in either set.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut all: Vec<Range<u64>> = self.0.iter().chain(&other.0).cloned().collect();
        all.sort_unstable_by_key(|range| range.start);
        Self::of(all)
    }

    /// Whether a row of `rows` is in the set.
    pub(crate) fn overlaps(&self, rows: &Range<u64>) -> bool {
        let after = self.0.partition_point(|range| range.end <= rows.start);
        let next = self.0.get(after);
        rows.start < rows.end && next.is_some_and(|range| range.start < rows.end)
    }

    /// Whether all rows of `rows` are in the set.
    pub(crate) fn covers(&self, rows: &Range<u64>) -> bool {
        let after = self.0.partition_point(|range| range.end <= rows.start);
        let next = self.0.get(after);
        rows.start >= rows.end
            || next.is_some_and(|range| range.start <= rows.start && rows.end <= range.end)
    }

    /// The set with the gaps filled that are shorter than `gap`, those before the first and after the
    /// last of `rows` rows included.
    pub(crate) fn without_gaps_below(&self, gap: u64, rows: u64) -> Self {
        let mut filled: Vec<Range<u64>> = Vec::with_capacity(self.0.len());
        for range in &self.0 {
            match filled.last_mut() {
                Some(last) if range.start - last.end < gap => last.end = range.end,
                _ => filled.push(range.clone()),
            }
        }
        if let Some(first) = filled.first_mut()
            && first.start < gap
        {
            first.start = 0;
        }
        if let Some(last) = filled.last_mut()
            && rows.saturating_sub(last.end) < gap
        {
            last.end = last.end.max(rows);
        }
        Self::of(filled)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marks(set: &RowSet) -> Vec<bool> {
        (0..100).map(|row| set.covers(&(row..row + 1))).collect()
    }

    prop_compose! {
        fn sets()(mut ends in prop::collection::vec(0u64..100, 0..20)) -> RowSet {
            ends.sort_unstable();
            RowSet::of(ends.chunks_exact(2).map(|pair| pair[0]..pair[1]))
        }
    }

    proptest! {
        #[test]
        fn sets_hold_the_rows_that_their_parts_hold(a in sets(), b in sets(), start in 0u64..100, length in 0u64..50) {
            let zipped = |join: fn(bool, bool) -> bool| -> Vec<bool> {
                marks(&a).into_iter().zip(marks(&b)).map(|(x, y)| join(x, y)).collect()
            };
            prop_assert_eq!(marks(&a.intersect(&b)), zipped(|x, y| x && y));
            prop_assert_eq!(marks(&a.union(&b)), zipped(|x, y| x || y));
            prop_assert_eq!(marks(&a.difference(&b)), zipped(|x, y| x && !y));
            for count in 1..5 {
                let pieces = a.pieces(count);
                prop_assert!(pieces.len() as u64 <= count);
                let whole = pieces.iter().fold(RowSet::empty(), |whole, piece| whole.union(piece));
                prop_assert_eq!(&whole, &a);
                prop_assert_eq!(pieces.iter().map(RowSet::count).sum::<u64>(), a.count());
            }
            prop_assert_eq!(a.count(), marks(&a).into_iter().filter(|marked| *marked).count() as u64);
            let rows = start..(start + length).min(100);
            let inside: Vec<bool> = rows.clone().map(|row| a.covers(&(row..row + 1))).collect();
            prop_assert_eq!(a.overlaps(&rows), inside.iter().any(|marked| *marked));
            prop_assert_eq!(a.covers(&rows), inside.iter().all(|marked| *marked));
        }

        #[test]
        fn filling_gaps_keeps_every_row_and_leaves_no_short_gap(a in sets(), gap in 1u64..20) {
            let filled = a.without_gaps_below(gap, 100);
            prop_assert_eq!(a.intersect(&filled), a);
            for pair in filled.ranges().windows(2) {
                prop_assert!(pair[1].start - pair[0].end >= gap);
            }
        }
    }
}
