//! What a scan reads of one file: stages, where their columns come from, and which bytes that is. Pure.

use std::sync::Arc;

use store::StoreProfile;

use crate::expected::Expected;
use crate::fetch_order::{Candidates, decide};
use crate::layout::Layout;
use crate::opened::{Indexes, OpenedFile};
use crate::read_plan::{Chunk, ChunkRead, RowGroupRead, decodable, read_chunk};
use crate::row_groups::Candidate;
use crate::rows::RowSet;
use crate::stages::Stages;

/// The stages of a scan in one file, and where each one's columns come from.
#[derive(Debug)]
pub(crate) struct FileStages {
    pub(crate) stages: Stages,
    pub(crate) layouts: Vec<Layout>,
}

/// What the row groups of a file need that are read.
#[derive(Debug)]
pub(crate) struct FilePlan {
    pub(crate) file: Arc<OpenedFile>,
    pub(crate) indexes: Indexes,
    /// For rows that need no filter.
    pub(crate) plain: FileStages,
    pub(crate) filtered: FileStages,
}

/// Sure rows are read apart when this many bytes of the filter's columns need not be read for them.
const LEAST_SPARED: u64 = 32 * 1024;

/// More parts than this of one row group cost more than they spare.
const MOST_PARTS: usize = 16;

/// A row group, or a part of one, of which some rows can match.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) candidate: Candidate,
    /// Those rows, as far as they belong to the task.
    pub(crate) rows: RowSet,
    /// The rows that surely match.
    pub(crate) sure: RowSet,
    /// Whether these are all.
    pub(crate) settled: bool,
    pub(crate) expected: Expected,
}

impl Wanted {
    /// Runs of rows that surely match, and of rows that may, in their order.
    fn by_sureness(self) -> Vec<Self> {
        let sure = self.rows.intersect(&self.sure);
        if sure.is_empty() || self.settled {
            return vec![self];
        }
        let unsure = self.rows.difference(&sure);
        let marked = |rows: &RowSet, settled| -> Vec<_> {
            let ranges = rows.ranges().iter().cloned();
            ranges.map(|range| (range, settled)).collect()
        };
        let mut runs = [marked(&sure, true), marked(&unsure, false)].concat();
        runs.sort_unstable_by_key(|(range, _)| range.start);
        let parts = runs.chunk_by(|(_, a), (_, b)| a == b);
        let parts: Vec<Self> = parts
            .map(|run| Self {
                rows: RowSet::of(run.iter().map(|(range, _)| range.clone())),
                settled: run.iter().all(|(_, settled)| *settled),
                ..self.clone()
            })
            .collect();
        if parts.len() > MOST_PARTS {
            vec![self]
        } else {
            parts
        }
    }
}

impl FilePlan {
    /// The stages of a row group; `settled` when all of its rows are sure to match.
    pub(crate) fn stages(&self, settled: bool) -> &FileStages {
        if settled { &self.plain } else { &self.filtered }
    }

    /// Whether a read serves all stages of its row group.
    pub(crate) fn is_whole(&self, read: &RowGroupRead) -> bool {
        read.stages >= self.stages(read.settled).stages.len()
    }

    /// Whether a row group is to be read as it is decoded: when it needs more than so many bytes, nobody knows
    /// where its pages lie, and pages say how many rows they have, which those of lists do not.
    pub(crate) fn is_giant(&self, wanted: &Wanted, giant: u64) -> bool {
        let layouts = &self.stages(wanted.settled).layouts;
        let row_group = wanted.candidate.row_group;
        self.can_stream(
            row_group,
            &self.chunks(row_group, layouts, &wanted.rows),
            giant,
        )
    }

    /// Whether this is the reading of such a row group.
    pub(crate) fn streams(&self, read: &RowGroupRead, giant: u64) -> bool {
        self.is_whole(read) && self.can_stream(read.row_group, &read.chunks, giant)
    }

    fn can_stream(&self, row_group: usize, chunks: &[ChunkRead], giant: u64) -> bool {
        let is_flat = |read: &ChunkRead| {
            let chunk = self.file.chunk(row_group, read.leaf);
            read.by_page.is_empty()
                && chunk.is_some_and(|chunk| chunk.column_descr().max_rep_level() == 0)
        };
        chunks.iter().map(ChunkRead::bytes).sum::<u64>() > giant && chunks.iter().all(is_flat)
    }

    /// The row group in parts that are read one after the other: rows that need the filter apart from those
    /// that surely match, so that the filter's own columns are not read for these; and no more at once than
    /// `most_bytes`. Only where pages are known: whole chunks would be read for every part. Under a limit
    /// each part is waited for, so there are no more than must be.
    pub(crate) fn parts(&self, wanted: Wanted, most_bytes: u64, limited: bool) -> Vec<Wanted> {
        let row_group = wanted.candidate.row_group;
        let leaves = |stages: &FileStages| -> Vec<usize> {
            let leaves = stages.layouts.iter().flat_map(|layout| &layout.leaves);
            leaves.copied().collect()
        };
        let (plain, filtered) = (leaves(&self.plain), leaves(&self.filtered));
        let has_pages = |leaf: &usize| {
            self.chunk(row_group, *leaf)
                .is_some_and(|chunk| chunk.pages.is_some())
        };
        if !filtered.iter().all(has_pages) {
            return vec![wanted];
        }
        let only_filtered = filtered
            .iter()
            .filter(|leaf| !plain.contains(leaf))
            .copied();
        let spared = self.spared_by_sureness(&wanted, only_filtered);
        let parts = if spared >= LEAST_SPARED && !limited {
            wanted.by_sureness()
        } else {
            vec![wanted]
        };
        let pieces = parts.into_iter().flat_map(|part| {
            let chunks = self.chunks(row_group, &self.stages(part.settled).layouts, &part.rows);
            let bytes: u64 = chunks.iter().map(ChunkRead::bytes).sum();
            let rows = part.rows.pieces(bytes.div_ceil(most_bytes.max(1)));
            rows.into_iter().map(move |rows| Wanted {
                rows,
                ..part.clone()
            })
        });
        pieces.collect()
    }

    /// The bytes of the filter's own columns that are not read when sure rows are read apart.
    fn spared_by_sureness(&self, wanted: &Wanted, leaves: impl Iterator<Item = usize>) -> u64 {
        let rows_total = wanted.candidate.rows;
        let unsure = wanted.rows.difference(&wanted.sure);
        let bytes = |chunk: &Chunk, rows: &RowSet| {
            read_chunk(chunk, &decodable(rows, rows_total), rows_total).bytes()
        };
        let chunks = leaves.filter_map(|leaf| self.chunk(wanted.candidate.row_group, leaf));
        let spared =
            chunks.map(|chunk| bytes(&chunk, &wanted.rows).saturating_sub(bytes(&chunk, &unsure)));
        spared.sum()
    }

    /// What to read of the columns of some stages, for some rows of a row group.
    pub(crate) fn chunks(
        &self,
        row_group: usize,
        layouts: &[Layout],
        rows: &RowSet,
    ) -> Vec<ChunkRead> {
        let rows_total = self.file.rows(row_group);
        let rows = decodable(rows, rows_total);
        let chunks = layouts
            .iter()
            .flat_map(|layout| &layout.leaves)
            .filter_map(|leaf| {
                let chunk = self.chunk(row_group, *leaf)?;
                Some(read_chunk(&chunk, &rows, rows_total))
            });
        chunks.collect()
    }

    /// What to read of a row group after its filter, when all rows pass that can.
    pub(crate) fn later_chunks(&self, read: &RowGroupRead) -> Vec<ChunkRead> {
        let layouts = &self.stages(read.settled).layouts;
        let later = layouts.get(read.stages..).unwrap_or_default();
        self.chunks(read.row_group, later, &read.wanted)
    }

    /// Where a column chunk and its pages lie.
    pub(crate) fn chunk(&self, row_group: usize, leaf: usize) -> Option<Chunk> {
        let index = self.indexes.get(row_group, leaf);
        let pages = index.map(|index| index.pages.page_locations().as_slice());
        let chunk = self.file.chunk(row_group, leaf)?;
        Some(Chunk::new(leaf, chunk, pages, self.file.rows(row_group)))
    }

    /// Whether the columns that no filter needs are read after the filter is evaluated.
    pub(crate) fn reads_output_later(&self, wanted: &[Wanted], profile: &StoreProfile) -> bool {
        let layouts = &self.filtered.layouts;
        let Some((last, first)) = layouts.split_last().filter(|(_, first)| !first.is_empty())
        else {
            return false;
        };
        // A limit reads row group by row group, and has no use for a whole one that may be enough.
        let mut candidates = Candidates::default();
        for wanted in wanted {
            let row_group = wanted.candidate.row_group;
            if wanted.settled {
                let chunks = self.chunks(row_group, &self.plain.layouts, &wanted.rows);
                candidates
                    .first
                    .extend(chunks.into_iter().flat_map(|chunk| chunk.ranges));
                continue;
            }
            let filter = self.chunks(row_group, first, &wanted.rows);
            candidates
                .first
                .extend(filter.into_iter().flat_map(|chunk| chunk.ranges));
            for leaf in &last.leaves {
                let Some(chunk) = self.chunk(row_group, *leaf) else {
                    continue;
                };
                candidates.add_output(
                    &chunk,
                    &wanted.rows,
                    &wanted.expected,
                    wanted.candidate.rows,
                );
            }
        }
        decide(&candidates, profile)
    }
}
