//! What reading from a store costs, and the coalescing of ranges that follows from it. Pure.

use std::ops::Range;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// How a store wants to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreProfile {
    /// The longest run of unneeded bytes that is cheaper to read than a second request: time to the
    /// first byte times bandwidth.
    pub hole: u64,
    /// The longest request that coalescing makes.
    pub max_request: u64,
    /// The tail that is read of a file whose footer's length is not known.
    pub tail: u64,
    /// Requests of one wave under way at once.
    pub parallel: usize,
    /// How often a failed request is sent again.
    pub retries: u32,
}

impl StoreProfile {
    /// Files on this machine: a request costs next to nothing.
    pub const LOCAL: Self = Self {
        hole: 64 * KIB,
        max_request: 16 * MIB,
        tail: 64 * KIB,
        parallel: 8,
        retries: 0,
    };

    /// An object store: 30 ms to the first byte at 80 MB/s make a hole of 2.4 MB.
    pub const REMOTE: Self = Self {
        hole: 2_400_000,
        max_request: 16 * MIB,
        tail: 512 * KIB,
        parallel: 32,
        retries: 3,
    };

    /// The profile of the store in which a URL lies.
    pub fn of(url: &str) -> Self {
        if url.starts_with("file:") || url.starts_with("memory:") || !url.contains("://") {
            Self::LOCAL
        } else {
            Self::REMOTE
        }
    }
}

/// Merges ranges whose gap is at most the profile's hole, as long as the result is at most its longest
/// request. A range that is longer by itself stays whole, so that each given range lies in exactly one
/// of the result. Empty ranges vanish; the result is in order and disjoint.
pub fn coalesce(mut ranges: Vec<Range<u64>>, profile: &StoreProfile) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if joins(last, &range, profile) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn joins(last: &Range<u64>, next: &Range<u64>, profile: &StoreProfile) -> bool {
    if next.start < last.end {
        return true;
    }
    next.start - last.end <= profile.hole && next.end - last.start <= profile.max_request
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: StoreProfile = StoreProfile {
        hole: 10,
        max_request: 100,
        ..StoreProfile::LOCAL
    };

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn near_ranges_are_read_as_one() {
        type Ranges = Vec<Range<u64>>;
        let cases: [(Ranges, Ranges); 7] = [
            (vec![], vec![]),
            (vec![5..5], vec![]),
            (vec![20..30, 0..10], vec![0..30]),
            (vec![0..10, 21..30], vec![0..10, 21..30]),
            (vec![0..60, 60..110], vec![0..60, 60..110]),
            (vec![0..500, 505..510], vec![0..500, 505..510]),
            (vec![0..90, 50..200], vec![0..200]),
        ];
        for (given, expected) in cases {
            assert_eq!(coalesce(given.clone(), &SMALL), expected, "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn every_range_lies_in_exactly_one_request(
            starts in prop::collection::vec((0u64..1000, 1u64..80), 0..40)
        ) {
            let ranges: Vec<Range<u64>> = starts.iter().map(|(s, l)| *s..*s + *l).collect();
            let merged = coalesce(ranges.clone(), &SMALL);
            for pair in merged.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            for range in ranges {
                let holders = merged
                    .iter()
                    .filter(|m| m.start <= range.start && range.end <= m.end);
                prop_assert_eq!(holders.count(), 1);
            }
        }
    }
}
