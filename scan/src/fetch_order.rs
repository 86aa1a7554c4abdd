//! Whether the columns that no filter needs are fetched together with those that it needs, or after it is
//! evaluated and only where a row is left. Pure.

use std::ops::Range;

use store::{Objective, StoreProfile, coalesce};

use crate::expected::{Expected, float};
use crate::read_plan::{Chunk, read_chunk};
use crate::rows::RowSet;

/// Where bytes count, a further round trip must spare at least this many, and this part of the rest.
const LEAST_SPARED: f64 = 65_536.0;
const LEAST_SPARED_PART: f64 = 0.05;

/// What could be fetched of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    /// What is fetched first in any case.
    pub(crate) first: Vec<Range<u64>>,
    /// What the result needs beside it, when all rows that can match do.
    output: Vec<Range<u64>>,
    /// Of those bytes, how many are expected to hold no row of the result.
    spared: f64,
}

impl Candidates {
    /// Adds a chunk of a row group of which `wanted` can match.
    pub(crate) fn add_output(
        &mut self,
        chunk: &Chunk,
        wanted: &RowSet,
        expected: &Expected,
        rows_total: u64,
    ) {
        self.output
            .extend(read_chunk(chunk, wanted, rows_total).ranges);
        let whole = 0..rows_total;
        let size = |range: &Range<u64>| range.end - range.start;
        self.spared += if let Some(pages) = &chunk.pages {
            let read = pages.iter().filter(|page| wanted.overlaps(&page.rows));
            expected.spared(read.map(|page| (&page.rows, size(&page.bytes))), wanted)
        } else {
            let all = std::iter::once((&whole, size(&chunk.bytes)));
            expected.spared(all, wanted)
        };
    }
}

/// Whether the output is fetched later.
pub(crate) fn decide(candidates: &Candidates, profile: &StoreProfile) -> bool {
    let output: u64 = candidates
        .output
        .iter()
        .map(|range| range.end - range.start)
        .sum();
    if output == 0 {
        return false;
    }
    match profile.objective {
        Objective::Bytes => candidates.spared > LEAST_SPARED.max(float(output) * LEAST_SPARED_PART),
        Objective::Time => {
            let all = candidates.first.iter().chain(&candidates.output).cloned();
            let together = profile.time(&coalesce(all.collect(), profile));
            let first = profile.time(&coalesce(candidates.first.clone(), profile));
            let left = 1.0 - candidates.spared / float(output);
            let rest = profile.time(&shrunk(coalesce(candidates.output.clone(), profile), left));
            first + rest < together
        }
    }
}

/// The requests when only a part of their bytes is needed.
pub(crate) fn shrunk(requests: Vec<Range<u64>>, part: f64) -> Vec<Range<u64>> {
    let part = part.clamp(0.0, 1.0);
    let shrink = |range: Range<u64>| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let length = (float(range.end - range.start) * part) as u64;
        range.start..range.start + length
    };
    requests.into_iter().map(shrink).collect()
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn candidates(first: u64, output: u64, spared: f64) -> Candidates {
        Candidates {
            first: vec![0..first],
            output: vec![100 * MB..100 * MB + output],
            spared,
        }
    }

    #[test]
    fn a_round_trip_must_be_worth_its_time() {
        let decide = |candidates| decide(&candidates, &StoreProfile::BALANCED);
        // 2 MB are there as soon as the next round trip would begin.
        assert!(!decide(candidates(MB, 2 * MB, 2e6)));
        assert!(!decide(candidates(MB, 50 * MB, 0.0)));
        assert!(!decide(candidates(MB, 0, 0.0)));
        assert!(decide(candidates(MB, 50 * MB, 49e6)));
    }

    #[test]
    fn where_bytes_count_whatever_spares_some_is_worth_it() {
        let decide = |candidates| decide(&candidates, &StoreProfile::BYTES);
        assert!(decide(candidates(MB, 2 * MB, 1e6)));
        assert!(!decide(candidates(MB, 2 * MB, 50_000.0)));
        assert!(!decide(candidates(MB, 50 * MB, 1e6)));
    }
}
