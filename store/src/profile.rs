//! What reading from a store costs, and the coalescing of ranges that follows from it. Pure.

use std::ops::Range;
use std::time::Duration;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// What a scan saves where it has the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Time until the rows are there.
    Time,
    /// Bytes, at the price of more requests and of waiting for one before the next.
    Bytes,
}

/// How a store wants to be read: what it costs, as a model of the network, and what to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreProfile {
    /// Time until the first byte of an answer.
    pub first_byte: Duration,
    /// Bytes a second of one request.
    pub bandwidth: u64,
    /// Bytes a second of all requests together.
    pub throughput: u64,
    /// What to save.
    pub objective: Objective,
    /// The longest request that coalescing makes; a longer range is read in parts.
    pub max_request: u64,
    /// The tail that is read of a file whose footer's length is not known.
    pub tail: u64,
    /// Requests of one scan task under way at once.
    pub parallel: usize,
    /// How often a failed request is sent again.
    pub retries: u32,
    /// Sends a request a second time when it takes longer than this, and takes the first answer.
    pub hedge_after: Option<Duration>,
}

impl StoreProfile {
    /// Files on this machine: a request costs next to nothing.
    pub const LOCAL: Self = Self {
        first_byte: Duration::from_micros(32),
        bandwidth: 2_048_000_000,
        throughput: 4_096_000_000,
        objective: Objective::Time,
        max_request: 16 * MIB,
        tail: 64 * KIB,
        parallel: 8,
        retries: 0,
        hedge_after: None,
    };

    /// An object store: 30 ms to the first byte at 80 MB/s make a hole of 2.4 MB worth reading.
    pub const BALANCED: Self = Self {
        first_byte: Duration::from_millis(30),
        bandwidth: 80_000_000,
        throughput: 1_000_000_000,
        objective: Objective::Time,
        max_request: 4 * MIB,
        tail: 512 * KIB,
        parallel: 32,
        retries: 3,
        hedge_after: None,
    };

    /// The same store where bytes are dear: no holes, and nothing is read that may not be needed.
    pub const BYTES: Self = Self {
        objective: Objective::Bytes,
        tail: 64 * KIB,
        ..Self::BALANCED
    };

    /// The same store where requests are cheap: a range is read in more parts at once, each by a connection of
    /// its own.
    pub const FAST: Self = Self {
        max_request: MIB,
        parallel: 64,
        ..Self::BALANCED
    };

    /// The names of profiles for object stores.
    pub const NAMES: [&str; 3] = ["balanced", "fast", "bytes"];

    /// The profile for object stores of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "balanced" => Some(Self::BALANCED),
            "fast" => Some(Self::FAST),
            "bytes" => Some(Self::BYTES),
            _ => None,
        }
    }

    /// How files of this URL are read unless a service is told otherwise.
    pub fn default_of(url: &str) -> Self {
        if Self::is_local(url) {
            Self::LOCAL
        } else {
            Self::BALANCED
        }
    }

    /// Whether files of this URL lie on this machine.
    pub(crate) fn is_local(url: &str) -> bool {
        url.starts_with("file:") || url.starts_with("memory:") || !url.contains("://")
    }

    /// The longest run of unneeded bytes that is cheaper to read than a second request.
    pub fn hole(&self) -> u64 {
        match self.objective {
            Objective::Time => self.bytes_in(self.first_byte),
            Objective::Bytes => 0,
        }
    }

    /// How long requests take that are sent together.
    pub fn time(&self, requests: &[Range<u64>]) -> Duration {
        let lengths = || requests.iter().map(|range| range.end - range.start);
        let (total, longest) = (lengths().sum::<u64>(), lengths().max());
        let Some(longest) = longest else {
            return Duration::ZERO;
        };
        let alone = transfer(longest, self.bandwidth);
        let together = transfer(total, self.throughput);
        let turns = requests.len().div_ceil(self.parallel.max(1));
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        self.first_byte * turns + alone.max(together)
    }

    /// The requests for a range: several that are sent together when it is longer than one should be.
    pub fn parts(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let length = range.end.saturating_sub(range.start);
        let count = length.div_ceil(self.max_request.max(1));
        let part = length.div_ceil(count.max(1));
        (0..count)
            .map(|number| {
                let start = range.start + number * part;
                start..(start + part).min(range.end)
            })
            .collect()
    }

    /// A file of at most so many bytes is read whole where its columns are wanted: an eighth of what a round
    /// trip is worth.
    pub fn small_file(&self) -> u64 {
        self.hole() / 8
    }

    /// Whether waiting for an answer costs more than deciding and sending some kilobytes more with a ticket.
    pub fn waits_long(&self) -> bool {
        self.first_byte >= Duration::from_millis(5)
    }

    /// Page indexes of up to this many bytes come along with a footer: reading all of them is then
    /// cheaper than a further request for some.
    pub(crate) fn index_with_footer(&self) -> u64 {
        match self.objective {
            Objective::Time => 4 * self.hole(),
            Objective::Bytes => 256 * KIB,
        }
    }

    fn bytes_in(&self, time: Duration) -> u64 {
        let bytes = u128::from(self.bandwidth) * time.as_micros() / 1_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

fn transfer(bytes: u64, rate: u64) -> Duration {
    let micros = u128::from(bytes) * 1_000_000 / u128::from(rate.max(1));
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// Merges ranges whose gap is worth reading, as long as the result is at most the profile's longest
/// request. A gap is worth it when a request more would cost as much, and when it is not longer than what is
/// needed around it: requests that are sent together wait only once. A range that is longer
/// by itself stays whole, so that each given range lies in exactly one of the result. Empty ranges vanish;
/// the result is in order and disjoint.
pub fn coalesce(mut ranges: Vec<Range<u64>>, profile: &StoreProfile) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Run> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut run = Run {
            needed: range.end - range.start,
            range,
        };
        // What a run needs grows with it, and with that the hole before it that it is worth.
        while let Some(before) = joined.pop_if(|before| before.joins(&run, profile)) {
            run = before.join(&run);
        }
        joined.push(run);
    }
    joined.into_iter().map(|run| run.range).collect()
}

/// Ranges that are read together.
struct Run {
    range: Range<u64>,
    /// Bytes of it that are not in holes.
    needed: u64,
}

impl Run {
    fn joins(&self, next: &Self, profile: &StoreProfile) -> bool {
        if next.range.start < self.range.end {
            return true;
        }
        let hole = next.range.start - self.range.end;
        let length = next.range.end - self.range.start;
        let needed = self.needed + next.needed;
        hole <= profile.hole().min(needed) && length <= profile.max_request
    }

    fn join(self, next: &Self) -> Self {
        let twice = self.range.end.saturating_sub(next.range.start);
        Self {
            needed: self.needed + next.needed.saturating_sub(twice),
            range: self.range.start..self.range.end.max(next.range.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A hole of 10 bytes.
    const SMALL: StoreProfile = StoreProfile {
        first_byte: Duration::from_secs(1),
        bandwidth: 10,
        throughput: 20,
        max_request: 100,
        parallel: 2,
        ..StoreProfile::LOCAL
    };

    #[test]
    fn the_default_hole_is_what_a_round_trip_is_worth() {
        assert_eq!(StoreProfile::BALANCED.hole(), 2_400_000);
        assert_eq!(StoreProfile::BYTES.hole(), 0);
        for name in StoreProfile::NAMES {
            assert!(StoreProfile::named(name).is_some(), "{name}");
        }
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn requests_that_are_sent_together_wait_once_and_share_the_throughput() {
        let cases: [(&[Range<u64>], u64); 4] = [
            (&[], 0),
            (&[0..100], 11),
            (&[0..100, 200..300], 11),
            (&[0..100, 200..300, 400..500], 2 + 15),
        ];
        for (requests, seconds) in cases {
            assert_eq!(
                SMALL.time(requests),
                Duration::from_secs(seconds),
                "{requests:?}"
            );
        }
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn near_ranges_are_read_as_one() {
        type Ranges = Vec<Range<u64>>;
        let cases: [(Ranges, Ranges); 11] = [
            (vec![], vec![]),
            (vec![5..5], vec![]),
            (vec![20..30, 0..10], vec![0..30]),
            (vec![0..10, 21..30], vec![0..10, 21..30]),
            (vec![0..60, 60..110], vec![0..60, 60..110]),
            (vec![0..500, 505..510], vec![0..500, 505..510]),
            (vec![0..90, 50..200], vec![0..200]),
            // A hole that is longer than what it joins is not.
            (vec![0..3, 12..14], vec![0..3, 12..14]),
            (vec![0..3, 5..9, 19..20], vec![0..9, 19..20]),
            (vec![0..3, 5..9, 17..20], vec![0..20]),
            (vec![0..5, 15..18, 19..22], vec![0..22]),
        ];
        for (given, expected) in cases {
            assert_eq!(coalesce(given.clone(), &SMALL), expected, "{given:?}");
        }
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn a_long_range_is_read_in_equal_parts() {
        assert_eq!(SMALL.parts(&(5..5)), []);
        assert_eq!(SMALL.parts(&(5..105)), [5..105]);
        assert_eq!(SMALL.parts(&(5..106)), [5..56, 56..106]);
        assert_eq!(SMALL.parts(&(0..301)), [0..76, 76..152, 152..228, 228..301]);
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
