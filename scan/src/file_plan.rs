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

/// A row group of which some rows can match.
#[derive(Debug)]
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

impl FilePlan {
    /// The stages of a row group; `settled` when all of its rows are sure to match.
    pub(crate) fn stages(&self, settled: bool) -> &FileStages {
        if settled { &self.plain } else { &self.filtered }
    }

    /// Whether a read serves all stages of its row group.
    pub(crate) fn is_whole(&self, read: &RowGroupRead) -> bool {
        read.stages >= self.stages(read.settled).stages.len()
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
