//! The opened file of one task, and what to read of it: row groups and pages are judged, and the account
//! of what they rule out is written. The verdicts themselves are made one step down. Reads nothing but
//! page indexes.

use std::sync::Arc;

use model::{Predicate, ScanTask, Skip, SkippedUnit};
use store::Fetched;
use store::columns::FileColumns;
use store::page_index::IndexesWanted;

use crate::error::ScanError;
use crate::footers::Opened;
use crate::layout::{Constants, Layout};
use crate::opened::{Indexes, OpenedFile};
use crate::pages::Judge;
use crate::read_plan::{Chunk, RowGroupRead, decodable, read_chunk};
use crate::row_groups::{self, Candidate};
use crate::rows::RowSet;
use crate::scan::Scan;
use crate::task_log::TaskLog;

/// The opened file of one task, as the scan's table sees it.
#[derive(Debug)]
pub(crate) struct TaskFile {
    file: Arc<OpenedFile>,
    /// Bytes that came with the footer.
    tail: Fetched,
    columns: FileColumns,
    predicate: Predicate,
    /// Leaf columns whose pages the predicate can judge.
    judged: Vec<usize>,
    layouts: Layouts,
}

/// Where the columns of one file come from: with the filter's columns, and without.
#[derive(Debug)]
pub(crate) struct Layouts {
    filtered: Layout,
    plain: Layout,
}

impl Layouts {
    /// The layout of a row group; `settled` when all of its rows are sure to match.
    pub(crate) fn get(&self, settled: bool) -> &Layout {
        if settled { &self.plain } else { &self.filtered }
    }
}

impl TaskFile {
    /// Finds the table's columns in the file.
    ///
    /// # Errors
    /// When the file does not hold them as the table says.
    pub(crate) fn new(scan: &Scan, task: &ScanTask, opened: Opened) -> Result<Self, ScanError> {
        let Opened { file, tail, .. } = opened;
        let columns = file.columns(&scan.spec.schema, scan.spec.mapping)?;
        let constants = Constants::of(task);
        let fields = scan.predicate().fields().into_iter();
        let stored = fields.filter(|field| constants.get(*field).is_none());
        let flat = stored.filter_map(|field| columns.find(field).filter(|column| column.flat));
        Ok(Self {
            judged: flat.map(|column| column.leaves.start).collect(),
            layouts: Layouts {
                filtered: Layout::new(&scan.shapes.filtered, &file, &columns, constants)?,
                plain: Layout::new(&scan.shapes.plain, &file, &columns, constants)?,
            },
            predicate: scan.predicate().clone(),
            file,
            tail,
            columns,
        })
    }

    /// The row groups that can match, by their statistics. Under a limit, no more than it needs.
    pub(crate) fn row_groups(
        &self,
        task: &ScanTask,
        limit: Option<u64>,
        log: &mut TaskLog,
    ) -> Vec<Candidate> {
        let judged = row_groups::judge(&self.file, &self.columns, &self.predicate, task);
        log.counts.row_groups_total += judged.row_groups;
        log.counts.rows_in_file += judged.rows;
        log.counts.row_groups_skipped_statistics += judged.skips.len() as u64;
        if self.predicate != Predicate::Always {
            let sure = judged.candidates.iter().filter(|candidate| candidate.sure);
            log.counts.row_groups_fully_matched += sure.count() as u64;
        }
        log.skip(judged.skips);
        row_groups::enough(judged.candidates, limit)
    }

    /// The page indexes of the row groups of which only some rows may be needed.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) async fn indexes(
        &self,
        candidates: &[Candidate],
        log: &mut TaskLog,
    ) -> Result<Indexes, ScanError> {
        let prunable = self.predicate.can_prune();
        let partly = candidates.iter().filter(|candidate| {
            (prunable && !candidate.sure) || candidate.within != (0..candidate.rows)
        });
        let row_groups: Vec<usize> = partly.map(|candidate| candidate.row_group).collect();
        let wanted = IndexesWanted {
            row_groups: &row_groups,
            judged: &self.judged,
            read: &self.layouts.filtered.leaves,
        };
        let indexes = self.file.indexes(log.ledger(), &self.tail, wanted).await?;
        log.counts.bytes_needed += indexes.bytes;
        Ok(indexes)
    }

    /// What to read of each row group, after its pages are judged; row groups of which no page can
    /// match are left out.
    pub(crate) fn read_plan(
        &self,
        candidates: Vec<Candidate>,
        indexes: &Indexes,
        log: &mut TaskLog,
    ) -> Vec<RowGroupRead> {
        let mut reads = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let within = RowSet::range(candidate.within.clone());
            let (may, sure) = if candidate.sure {
                (within.clone(), within.clone())
            } else {
                self.judge_pages(&candidate, indexes, log)
            };
            let wanted = may.intersect(&within);
            if wanted.is_empty() {
                log.counts.row_groups_skipped_pages += 1;
                continue;
            }
            log.counts.rows_selected += wanted.count();
            reads.push(self.plan_row_group(&candidate, &wanted, sure, indexes));
        }
        reads
    }

    /// The rows that may match and those that surely do.
    fn judge_pages(
        &self,
        candidate: &Candidate,
        indexes: &Indexes,
        log: &mut TaskLog,
    ) -> (RowSet, RowSet) {
        let row_group = candidate.row_group;
        let paged = self
            .file
            .judged_pages(row_group, &self.predicate, &self.columns, indexes);
        let judge = Judge {
            rows: candidate.rows,
            row_group: &candidate.known,
            columns: &paged,
        };
        let judged = judge.judge(&self.predicate);
        log.counts.pages_considered += judged.considered;
        log.counts.pages_skipped += judged.skipped;
        log.skip(judged.runs.into_iter().map(|run| Skip {
            path: self.file.path().to_owned(),
            unit: SkippedUnit::Pages {
                row_group: row_group as u64,
                column: run.column,
                first_page: run.pages.start as u64,
                pages: run.pages.len() as u64,
            },
            rows: Some(run.rows.end - run.rows.start),
            reason: run.reason,
        }));
        (judged.may, judged.sure)
    }

    /// What to read of one row group for the wanted rows. Where all of them are sure to match, the
    /// columns that only the filter needs are left out.
    fn plan_row_group(
        &self,
        candidate: &Candidate,
        wanted: &RowSet,
        sure: RowSet,
        indexes: &Indexes,
    ) -> RowGroupRead {
        let (row_group, rows_total) = (candidate.row_group, candidate.rows);
        let rows = decodable(wanted, rows_total);
        let inside = rows.intersect(&RowSet::range(candidate.within.clone()));
        let settled = inside == inside.intersect(&sure);
        let chunks = self.layouts.get(settled).leaves.iter().filter_map(|leaf| {
            let chunk = self.file.chunk(row_group, *leaf)?;
            let index = indexes.get(row_group, *leaf);
            let pages = index.map(|index| index.pages.page_locations().as_slice());
            let chunk = Chunk::new(*leaf, chunk, pages, rows_total);
            Some(read_chunk(&chunk, &rows, rows_total))
        });
        RowGroupRead {
            row_group,
            chunks: chunks.collect(),
            within: candidate.within.clone(),
            rows,
            sure,
            settled,
        }
    }

    /// The file and where its columns come from, for decoding.
    pub(crate) fn into_parts(self) -> (Arc<OpenedFile>, Layouts) {
        (self.file, self.layouts)
    }
}
