//! Which rows of a row group are left, as ranges or as a bit for each row. Pure.

use std::ops::Range;

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;

use crate::rows::RowSet;

/// The rows that are left.
#[derive(Clone, Debug)]
pub(crate) enum Left {
    /// Long runs of rows: what verdicts left.
    Runs(RowSet),
    /// Any rows: what a filter left. One bit for each row of the row group.
    Bits(BooleanBuffer),
}

impl Left {
    /// The rows as ranges; those closer to each other than `gap` are one range.
    pub(crate) fn runs(&self, gap: u64) -> RowSet {
        match self {
            Self::Runs(rows) => rows.clone(),
            Self::Bits(bits) => {
                let mut runs: Vec<Range<u64>> = Vec::new();
                for (start, end) in bits.set_slices() {
                    let (start, end) = (start as u64, end as u64);
                    match runs.last_mut() {
                        Some(last) if start - last.end < gap => last.end = end,
                        _ => runs.push(start..end),
                    }
                }
                RowSet::of(runs)
            }
        }
    }

    /// Which rows of `ranges`, one after the other, are left; `None` when all are.
    pub(crate) fn over(&self, ranges: &[Range<u64>]) -> Option<BooleanBuffer> {
        let mut bits = BooleanBufferBuilder::new(ranges.iter().map(length).sum());
        for range in ranges {
            self.append(range, &mut bits);
        }
        let bits = bits.finish();
        (bits.count_set_bits() < bits.len()).then_some(bits)
    }

    fn append(&self, range: &Range<u64>, to: &mut BooleanBufferBuilder) {
        match self {
            Self::Bits(bits) => to.append_buffer(&bits.slice(place(range.start), length(range))),
            Self::Runs(rows) => {
                let inside = rows.intersect(&RowSet::range(range.clone()));
                let mut end = range.start;
                for run in inside.ranges() {
                    to.append_n(place(run.start - end), false);
                    to.append_n(length(run), true);
                    end = run.end;
                }
                to.append_n(place(range.end - end), false);
            }
        }
    }
}

/// Collects, batch by batch, which rows a stage lets through.
#[derive(Debug)]
pub(crate) struct LeftBuilder {
    bits: BooleanBufferBuilder,
    rows: u64,
    next: u64,
    count: u64,
}

impl LeftBuilder {
    /// For a row group of `rows` rows.
    pub(crate) fn new(rows: u64) -> Self {
        Self {
            bits: BooleanBufferBuilder::new(place(rows)),
            rows,
            next: 0,
            count: 0,
        }
    }

    /// Adds `ranges`, which come after all earlier ones: of their rows, `given` were looked at, and of
    /// those, `passed` pass. `None` means all.
    pub(crate) fn add(
        &mut self,
        ranges: &[Range<u64>],
        given: Option<&BooleanBuffer>,
        passed: Option<&BooleanBuffer>,
    ) {
        let bits = match (given, passed) {
            (None, None) => None,
            (Some(bits), None) | (None, Some(bits)) => Some(bits.clone()),
            (Some(given), Some(passed)) => Some(nested(given, passed)),
        };
        let mut offset = 0;
        for range in ranges {
            self.bits.append_n(place(range.start - self.next), false);
            match &bits {
                None => self.bits.append_n(length(range), true),
                Some(bits) => self.bits.append_buffer(&bits.slice(offset, length(range))),
            }
            offset += length(range);
            self.next = range.end;
        }
        self.count += bits.map_or(offset, |bits| bits.count_set_bits()) as u64;
    }

    /// How many rows pass so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The rows that are left.
    pub(crate) fn finish(mut self) -> Left {
        self.bits
            .append_n(place(self.rows.saturating_sub(self.next)), false);
        Left::Bits(self.bits.finish())
    }
}

/// `passed` speaks of the rows that `given` has: the bits of both over all rows of `given`.
fn nested(given: &BooleanBuffer, passed: &BooleanBuffer) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(given.len());
    let mut offset = 0;
    for (start, end) in given.set_slices() {
        bits.append_n(start - bits.len(), false);
        bits.append_buffer(&passed.slice(offset, end - start));
        offset += end - start;
    }
    bits.append_n(given.len() - bits.len(), false);
    bits.finish()
}

fn place(row: u64) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}

fn length(range: &Range<u64>) -> usize {
    place(range.end.saturating_sub(range.start))
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(bits: &[bool]) -> Left {
        Left::Bits(BooleanBuffer::from(bits.to_vec()))
    }

    #[test]
    fn near_rows_are_one_run() {
        let left = set(&[true, false, true, false, false, false, true]);
        assert_eq!(left.runs(1), RowSet::of([0..1, 2..3, 6..7]));
        assert_eq!(left.runs(2), RowSet::of([0..3, 6..7]));
        assert_eq!(left.runs(9), RowSet::of([0..7]));
    }

    #[test]
    fn all_rows_of_a_range_need_no_bits() {
        let left = Left::Runs(RowSet::of([2..5, 8..9]));
        assert_eq!(left.over(&[2..4, 8..9]), None);
        let bits = left.over(&[1..4, 8..10]).unwrap();
        assert_eq!(
            bits,
            BooleanBuffer::from(vec![false, true, true, true, false])
        );
    }

    proptest! {
        #[test]
        fn rows_pass_that_were_given_and_passed(
            rows in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 1..200)
        ) {
            // Decoded, given, passed.
            let ranges: Vec<Range<u64>> = rows.iter().enumerate()
                .filter(|(_, row)| row.0)
                .map(|(number, _)| number as u64..number as u64 + 1)
                .collect();
            let ranges = RowSet::of(ranges).ranges().to_vec();
            let decoded: Vec<_> = rows.iter().filter(|row| row.0).collect();
            let given = decoded.iter().map(|row| row.1).collect::<BooleanBuffer>();
            let passed = decoded.iter().filter(|row| row.1).map(|row| row.2).collect::<BooleanBuffer>();
            let mut left = LeftBuilder::new(rows.len() as u64);
            left.add(&ranges, Some(&given), Some(&passed));
            let expected: Vec<bool> = rows.iter().map(|row| row.0 && row.1 && row.2).collect();
            prop_assert_eq!(left.count(), expected.iter().filter(|bit| **bit).count() as u64);
            let Left::Bits(bits) = left.finish() else { unreachable!() };
            prop_assert_eq!(bits.iter().collect::<Vec<_>>(), expected);
        }
    }
}
