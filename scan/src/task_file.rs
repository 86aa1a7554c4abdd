//! The opened file of one task, and what to read of it: row groups and pages are judged, and the account
//! of what they rule out is written. The verdicts themselves are made one step down. Reads nothing but
//! page indexes.

use std::ops::Range;
use std::sync::Arc;

use model::{FieldId, Level, Predicate, ScanTask, Skip, SkippedUnit};
use store::columns::FileColumns;
use store::page_index::IndexesWanted;
use store::{Fetched, StoreProfile};

use crate::conjuncts::Conjuncts;
use crate::error::ScanError;
use crate::expected::{Expected, estimate};
use crate::file_plan::{FilePlan, FileStages, Wanted};
use crate::footers::Opened;
use crate::layout::{Constants, Layout};
use crate::opened::{Indexes, OpenedFile};
use crate::pages::{ColumnPages, Judge};
use crate::probes::{self, Doubtful, probe};
use crate::read_plan::RowGroupRead;
use crate::row_groups::{self, Candidate};
use crate::rows::RowSet;
use crate::scan::Scan;
use crate::stages::Stages;
use crate::task_log::TaskLog;

/// The opened file of one task, as the scan's table sees it.
#[derive(Debug)]
pub(crate) struct TaskFile<'a> {
    scan: &'a Scan,
    task: &'a ScanTask,
    file: Arc<OpenedFile>,
    /// Bytes that came with the footer.
    tail: Fetched,
    columns: FileColumns,
    /// Leaf columns whose pages the predicate can judge.
    judged: Vec<usize>,
}

impl<'a> TaskFile<'a> {
    /// Finds the table's columns in the file.
    ///
    /// # Errors
    /// When the file does not hold them as the table says.
    pub(crate) fn new(
        scan: &'a Scan,
        task: &'a ScanTask,
        opened: Opened,
    ) -> Result<Self, ScanError> {
        let Opened { file, tail, .. } = opened;
        let columns = file.columns(&scan.spec.schema, scan.spec.mapping)?;
        let constants = Constants::of(task);
        let fields = scan.predicate().fields().into_iter();
        let stored = fields.filter(|field| constants.get(*field).is_none());
        let flat = stored.filter_map(|field| columns.find(field).filter(|column| column.flat));
        Ok(Self {
            judged: flat.map(|column| column.leaves.start).collect(),
            scan,
            task,
            file,
            tail,
            columns,
        })
    }

    /// The row groups that can match, by their statistics. Under a limit, no more than it needs.
    pub(crate) fn row_groups(&self, limit: Option<u64>, log: &mut TaskLog) -> Vec<Candidate> {
        let predicate = self.scan.predicate();
        let judged = row_groups::judge(&self.file, &self.columns, predicate, self.task);
        log.counts.row_groups_total += judged.row_groups;
        log.counts.rows_in_file += judged.rows;
        log.counts.row_groups_skipped_statistics += judged.skips.len() as u64;
        if *predicate != Predicate::Always {
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
        let prunable = self.scan.predicate().can_prune();
        let leaves = self.leaves();
        let most_bytes = self.scan.scanner.limits.wave_bytes;
        let partly = candidates.iter().filter(|candidate| {
            (prunable && !candidate.sure)
                || candidate.within != (0..candidate.rows)
                || self.size(candidate.row_group, &leaves) > most_bytes
        });
        let row_groups: Vec<usize> = partly.map(|candidate| candidate.row_group).collect();
        let wanted = IndexesWanted {
            row_groups: &row_groups,
            judged: &self.judged,
            read: &leaves,
        };
        let indexes = self.file.indexes(log.ledger(), &self.tail, wanted).await?;
        log.counts.bytes_needed += indexes.bytes;
        Ok(indexes)
    }

    /// The leaf columns of everything that the scan reads of the file.
    fn leaves(&self) -> Vec<usize> {
        self.leaves_of(&self.scan.columns())
    }

    /// The leaf columns of some columns of the table, as far as they are in the file.
    fn leaves_of(&self, positions: &[usize]) -> Vec<usize> {
        let constants = Constants::of(self.task);
        let used = positions.iter();
        let stored = used.filter_map(|position| self.columns.columns.get(*position)?.as_ref());
        let stored = stored.filter(|column| constants.get(column.id).is_none());
        stored.flat_map(|column| column.leaves.clone()).collect()
    }

    /// The rows of each row group that can match, by the bounds of its pages; row groups of which no
    /// page can are left out.
    pub(crate) fn pages(
        &self,
        candidates: Vec<Candidate>,
        indexes: &Indexes,
        log: &mut TaskLog,
    ) -> Vec<Wanted> {
        let candidates = candidates.into_iter();
        candidates
            .filter_map(|candidate| self.judge(candidate, indexes, log))
            .collect()
    }

    /// Those that no Bloom filter or dictionary rules out either, as far as these are worth their bytes.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) async fn probed(
        &self,
        wanted: Vec<Wanted>,
        log: &mut TaskLog,
    ) -> Result<Vec<Wanted>, ScanError> {
        let doubtful = self.doubtful(&wanted);
        let predicate = self.scan.predicate();
        let sources = (log.ledger().as_ref(), &self.tail);
        let probed = probe(&self.file, &self.columns, predicate, &doubtful, sources).await?;
        log.counts.bytes_needed += probed.bytes;
        let mut left = wanted;
        for ruled_out in probed.ruled_out {
            let out = |wanted: &Wanted| wanted.candidate.row_group == ruled_out.row_group;
            let Some(place) = left.iter().position(out) else {
                continue;
            };
            let out = left.remove(place);
            log.counts.rows_selected -= out.rows.count();
            let within = out.candidate.within;
            match ruled_out.reason.level {
                Level::Bloom => log.counts.row_groups_skipped_bloom += 1,
                _ => log.counts.row_groups_skipped_dictionary += 1,
            }
            log.skip([Skip {
                path: self.file.path().to_owned(),
                unit: SkippedUnit::RowGroup {
                    row_group: ruled_out.row_group as u64,
                },
                rows: Some(within.end - within.start),
                reason: ruled_out.reason,
            }]);
        }
        Ok(left)
    }

    /// The requests that asking Bloom filters and dictionaries takes.
    pub(crate) fn probes(&self, wanted: &[Wanted], profile: &StoreProfile) -> Vec<Range<u64>> {
        let doubtful = self.doubtful(wanted);
        let predicate = self.scan.predicate();
        probes::requests(&self.file, &self.columns, predicate, &doubtful, profile)
    }

    /// The row groups of which bounds do not say whether a row matches.
    fn doubtful<'w>(&self, wanted: &'w [Wanted]) -> Vec<Doubtful<'w>> {
        let leaves = self.leaves();
        let unsettled = wanted.iter().filter(|wanted| !wanted.settled);
        let doubtful = unsettled.map(|wanted| Doubtful {
            row_group: wanted.candidate.row_group,
            known: &wanted.candidate.known,
            bytes: self.about(wanted, &leaves),
            passing: wanted.expected.rows(&wanted.rows),
        });
        doubtful.collect()
    }

    /// The bytes of some chunks of a row group.
    fn size(&self, row_group: usize, leaves: &[usize]) -> u64 {
        let chunks = leaves
            .iter()
            .filter_map(|leaf| self.file.chunk(row_group, *leaf));
        chunks
            .map(|chunk| chunk.compressed_size().unsigned_abs())
            .sum()
    }

    /// About how many bytes of a row group would be read.
    fn about(&self, wanted: &Wanted, leaves: &[usize]) -> u64 {
        let bytes = self.size(wanted.candidate.row_group, leaves);
        let share = u128::from(bytes) * u128::from(wanted.rows.count());
        let share = share
            .checked_div(wanted.candidate.rows.into())
            .unwrap_or_default();
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// What to read of each row group at first.
    ///
    /// # Errors
    /// When a column of the file cannot be decoded as the table's.
    pub(crate) fn plan(
        self,
        wanted: Vec<Wanted>,
        indexes: Indexes,
        log: &TaskLog,
    ) -> Result<(Arc<FilePlan>, Vec<RowGroupRead>), ScanError> {
        let plan = FilePlan {
            plain: self.layouts(self.scan.plain.clone())?,
            filtered: self.layouts(self.stages(&wanted)?)?,
            file: Arc::clone(&self.file),
            indexes,
        };
        let most_bytes = self.scan.scanner.limits.wave_bytes;
        let limited = self.scan.budget.left().is_some();
        let parts = wanted
            .into_iter()
            .flat_map(|wanted| plan.parts(wanted, most_bytes, limited));
        let wanted: Vec<Wanted> = parts.collect();
        let giant = self.scan.scanner.giant();
        let later = plan.reads_output_later(&wanted, &log.ledger().location().profile());
        let reads = wanted.into_iter().map(|wanted| {
            let FileStages { layouts, .. } = plan.stages(wanted.settled);
            let stages = if later && !wanted.settled && !plan.is_giant(&wanted, giant) {
                layouts.len() - 1
            } else {
                layouts.len()
            };
            let row_group = wanted.candidate.row_group;
            let first = layouts.get(..stages).unwrap_or(layouts);
            RowGroupRead {
                chunks: plan.chunks(row_group, first, &wanted.rows),
                row_group,
                wanted: wanted.rows,
                sure: wanted.sure,
                settled: wanted.settled,
                stages,
            }
        });
        let reads = reads.collect();
        Ok((Arc::new(plan), reads))
    }

    /// The stages of the filter in the order in which they should be evaluated in this file.
    fn stages(&self, wanted: &[Wanted]) -> Result<Stages, ScanError> {
        let filter = self.scan.filter.clone();
        let parts = filter.ordered(|part| {
            let fields = self.fields(part);
            let leaves = self.leaves_of(&part.columns);
            let row_groups = wanted
                .iter()
                .filter(|wanted| !wanted.settled)
                .map(|wanted| {
                    let bytes = self.size(wanted.candidate.row_group, &leaves);
                    (&wanted.expected, &wanted.rows, bytes)
                });
            estimate(row_groups, &fields)
        });
        Stages::new(&self.scan.spec, &parts)
    }

    fn fields(&self, part: &Conjuncts) -> Vec<FieldId> {
        let ids = self.scan.spec.schema.ids();
        part.columns
            .iter()
            .filter_map(|column| ids.get(*column).copied())
            .collect()
    }

    fn layouts(&self, stages: Stages) -> Result<FileStages, ScanError> {
        let constants = Constants::of(self.task);
        let layouts = stages
            .iter()
            .map(|stage| Layout::new(stage, &self.file, &self.columns, constants));
        Ok(FileStages {
            layouts: layouts.collect::<Result<_, _>>()?,
            stages,
        })
    }

    /// The rows of a row group that can match, or `None` when no page of it can.
    fn judge(&self, candidate: Candidate, indexes: &Indexes, log: &mut TaskLog) -> Option<Wanted> {
        let within = RowSet::range(candidate.within.clone());
        let mut paged = Vec::new();
        let (may, sure) = if candidate.sure {
            (within.clone(), within.clone())
        } else {
            let predicate = self.scan.predicate();
            paged = self
                .file
                .judged_pages(candidate.row_group, predicate, &self.columns, indexes);
            self.judge_pages(&candidate, &paged, log)
        };
        let rows = may.intersect(&within);
        if rows.is_empty() {
            log.counts.row_groups_skipped_pages += 1;
            return None;
        }
        log.counts.rows_selected += rows.count();
        Some(Wanted {
            expected: Expected::of(self.scan.predicate(), &candidate.known, &paged),
            settled: rows == rows.intersect(&sure),
            candidate,
            rows,
            sure,
        })
    }

    /// The rows that may match and those that surely do.
    fn judge_pages(
        &self,
        candidate: &Candidate,
        columns: &[ColumnPages],
        log: &mut TaskLog,
    ) -> (RowSet, RowSet) {
        let row_group = candidate.row_group;
        let judge = Judge {
            rows: candidate.rows,
            row_group: &candidate.known,
            columns,
        };
        let judged = judge.judge(self.scan.predicate());
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
}
