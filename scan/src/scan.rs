//! The scan of one task, on one page:
//!
//! ```text
//! footer ─▶ row groups ─▶ pages ─▶ read plan ─▶ fetch ─▶ decode ─▶ filter ─▶ project ─▶ batches
//!            verdicts      verdicts   (pure)     (ledger)
//! ```
//!
//! Decisions are made by pure functions one step down; this file only leads from one to the next.

use std::sync::Arc;
use std::time::Instant;

use arrow::record_batch::RecordBatch;
use model::{Predicate, ScanTask, Skip, SkippedUnit};
use store::footer::{FooterHint, read_footer};
use store::page_index::IndexesWanted;
use store::{Fetched, Ledger};

use crate::budget::Budget;
use crate::decoding::{Batches, Decoding};
use crate::error::ScanError;
use crate::fetch::{FetchedWave, Waves};
use crate::footers::FileKey;
use crate::layout::{Constants, Layout};
use crate::opened::{Indexes, OpenedFile};
use crate::pages::Judge;
use crate::read_plan::{Chunk, RowGroupRead, decodable, read_chunk, waves};
use crate::recorder::Recorder;
use crate::row_groups::{self, Candidate};
use crate::rows::RowSet;
use crate::scanner::Scanner;
use crate::shape::Shapes;
use crate::spec::ScanSpec;
use crate::task_log::TaskLog;

/// The scan of a partition: what its tasks share.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) scanner: Arc<Scanner>,
    pub(crate) spec: Arc<ScanSpec>,
    pub(crate) shapes: Shapes,
    pub(crate) recorder: Recorder,
    pub(crate) budget: Budget,
}

/// A task whose bytes to read are decided.
#[derive(Debug)]
pub(crate) struct TaskScan {
    scan: Arc<Scan>,
    layouts: Layouts,
    file: Arc<OpenedFile>,
    indexes: Indexes,
    waves: Waves,
    wave: Option<FetchedWave>,
    decoding: Option<Decoding>,
    batches: Batches,
    // Dropped last: it records what the others did.
    log: TaskLog,
}

/// Where columns come from: with the filter's columns, and without.
#[derive(Debug)]
pub(crate) struct Layouts {
    pub(crate) filtered: Layout,
    pub(crate) plain: Layout,
}

impl Scan {
    /// Opens a file and decides what to read of it.
    ///
    /// # Errors
    /// When the file cannot be opened, or does not hold the table's columns.
    pub(crate) async fn plan(self: Arc<Self>, task: ScanTask) -> Result<TaskScan, ScanError> {
        let location = self.scanner.stores.resolve(&task.file.path)?;
        let ledger = Ledger::new(location).expecting(task.file.version.clone());
        let mut log = TaskLog::begin(&self.recorder, Arc::new(ledger));

        let (file, tail) = self.footer(&task, &mut log).await?;
        let columns = file.columns(&self.spec.schema, self.spec.mapping)?;
        let constants = Constants::of(&task);
        let layouts = Layouts {
            filtered: Layout::new(&self.shapes.filtered, &file, &columns, constants)?,
            plain: Layout::new(&self.shapes.plain, &file, &columns, constants)?,
        };
        let candidates = self.row_groups(&file, &columns, &task, &mut log);
        let judged = self.judged_leaves(&columns, constants);
        let indexes = self
            .indexes(&file, &tail, &candidates, &layouts, &judged, &mut log)
            .await?;
        let reads = self.pages(&file, &columns, candidates, &indexes, &layouts, &mut log);
        Ok(self.start(file, indexes, layouts, reads, log))
    }

    /// The footer, from the cache or in one request, and the bytes that came with it.
    async fn footer(
        &self,
        task: &ScanTask,
        log: &mut TaskLog,
    ) -> Result<(Arc<OpenedFile>, Fetched), ScanError> {
        let wants_index = self.predicate().can_prune() || self.spec.limit.is_some();
        let hint = FooterHint {
            page_index: task.file.page_index.filter(|_| wants_index),
            ..FooterHint::of(&task.file)
        };
        let ledger = Arc::clone(log.ledger());
        let (mut tail, mut length) = (Fetched::default(), 0);
        let load = async {
            let footer = read_footer(&ledger, Some(task.file.size), hint).await?;
            let opened = OpenedFile::new(ledger.url(), &footer);
            (tail, length) = (footer.tail, footer.footer_length);
            Ok(opened)
        };
        let Some(version) = task.file.version.clone() else {
            let file = Arc::new(load.await?);
            log.counts.bytes_needed += length;
            return Ok((file, tail));
        };
        let key = FileKey {
            path: ledger.url().to_owned(),
            size: task.file.size,
            version,
        };
        let (file, was_kept) = self.scanner.footers.get(key, load).await?;
        log.counts.bytes_needed += length;
        log.counts.footer_cache_hits += u64::from(was_kept);
        Ok((file, tail))
    }

    /// The row groups that can match, by their statistics. Under a limit, no more than it needs.
    fn row_groups(
        &self,
        file: &OpenedFile,
        columns: &store::columns::FileColumns,
        task: &ScanTask,
        log: &mut TaskLog,
    ) -> Vec<Candidate> {
        let judged = row_groups::judge(file, columns, self.predicate(), task);
        log.counts.row_groups_total += judged.row_groups;
        log.counts.rows_in_file += judged.rows;
        log.counts.row_groups_skipped_statistics += judged.skips.len() as u64;
        if self.spec.filter.is_some() {
            let sure = judged.candidates.iter().filter(|candidate| candidate.sure);
            log.counts.row_groups_fully_matched += sure.count() as u64;
        }
        log.skip(judged.skips);
        row_groups::enough(judged.candidates, self.budget.left())
    }

    /// The leaf columns whose pages the predicate can judge.
    fn judged_leaves(
        &self,
        columns: &store::columns::FileColumns,
        constants: Constants<'_>,
    ) -> Vec<usize> {
        let fields = self.predicate().fields().into_iter();
        let stored = fields.filter(|field| constants.get(*field).is_none());
        let flat = stored.filter_map(|field| columns.find(field).filter(|column| column.flat));
        flat.map(|column| column.leaves.start).collect()
    }

    /// The page indexes of the row groups of which only some rows may be needed.
    async fn indexes(
        &self,
        file: &OpenedFile,
        tail: &Fetched,
        candidates: &[Candidate],
        layouts: &Layouts,
        judged: &[usize],
        log: &mut TaskLog,
    ) -> Result<Indexes, ScanError> {
        let prunable = self.predicate().can_prune();
        let partly = candidates.iter().filter(|candidate| {
            (prunable && !candidate.sure) || candidate.within != (0..candidate.rows)
        });
        let row_groups: Vec<usize> = partly.map(|candidate| candidate.row_group).collect();
        let wanted = IndexesWanted {
            row_groups: &row_groups,
            judged,
            read: &layouts.filtered.leaves,
        };
        let indexes = file.indexes(log.ledger(), tail, wanted).await?;
        log.counts.bytes_needed += indexes.bytes;
        Ok(indexes)
    }

    /// What to read of each row group, after its pages are judged; row groups of which no page can
    /// match are left out.
    fn pages(
        &self,
        file: &OpenedFile,
        columns: &store::columns::FileColumns,
        candidates: Vec<Candidate>,
        indexes: &Indexes,
        layouts: &Layouts,
        log: &mut TaskLog,
    ) -> Vec<RowGroupRead> {
        let mut reads = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let within = RowSet::range(candidate.within.clone());
            let (may, sure) = if candidate.sure {
                (within.clone(), within.clone())
            } else {
                self.judge_pages(file, columns, &candidate, indexes, log)
            };
            let wanted = may.intersect(&within);
            if wanted.is_empty() {
                log.counts.row_groups_skipped_pages += 1;
                continue;
            }
            log.counts.rows_selected += wanted.count();
            reads.push(plan_row_group(
                file, &candidate, &wanted, sure, indexes, layouts,
            ));
        }
        reads
    }

    fn judge_pages(
        &self,
        file: &OpenedFile,
        columns: &store::columns::FileColumns,
        candidate: &Candidate,
        indexes: &Indexes,
        log: &mut TaskLog,
    ) -> (RowSet, RowSet) {
        let paged = file.judged_pages(candidate.row_group, self.predicate(), columns, indexes);
        let judge = Judge {
            rows: candidate.rows,
            row_group: &candidate.known,
            columns: &paged,
        };
        let judged = judge.judge(self.predicate());
        log.counts.pages_considered += judged.considered;
        log.counts.pages_skipped += judged.skipped;
        log.skip(judged.runs.into_iter().map(|run| Skip {
            path: file.path().to_owned(),
            unit: SkippedUnit::Pages {
                row_group: candidate.row_group as u64,
                column: run.column,
                first_page: run.pages.start as u64,
                pages: run.pages.len() as u64,
            },
            rows: Some(run.rows.end - run.rows.start),
            reason: run.reason,
        }));
        (judged.may, judged.sure)
    }

    fn start(
        self: Arc<Self>,
        file: Arc<OpenedFile>,
        indexes: Indexes,
        layouts: Layouts,
        reads: Vec<RowGroupRead>,
        log: TaskLog,
    ) -> TaskScan {
        let limits = &self.scanner.limits;
        // A limit may be reached before the next row group, so none is fetched ahead then.
        let limited = self.budget.left().is_some();
        let planned = waves(reads, if limited { 0 } else { limits.wave_bytes });
        let in_flight = self.scanner.in_flight.clone();
        TaskScan {
            waves: Waves::new(Arc::clone(log.ledger()), in_flight, planned, !limited),
            batches: Batches::new(self.spec.output_schema(), limits.batch_rows),
            scan: self,
            layouts,
            file,
            indexes,
            wave: None,
            decoding: None,
            log,
        }
    }

    /// The predicate. `Always` beside a filter would mean that the filter need not be evaluated, which
    /// only a predicate that was made from it may say.
    fn predicate(&self) -> &Predicate {
        match (&self.spec.filter, &self.spec.predicate) {
            (None, _) => &Predicate::Always,
            (Some(_), Predicate::Always) => &Predicate::Unknown,
            (Some(_), predicate) => predicate,
        }
    }
}

/// What to read of one row group for the wanted rows. Where all of them are sure to match, the columns
/// that only the filter needs are left out.
fn plan_row_group(
    file: &OpenedFile,
    candidate: &Candidate,
    wanted: &RowSet,
    sure: RowSet,
    indexes: &Indexes,
    layouts: &Layouts,
) -> RowGroupRead {
    let rows = decodable(wanted, candidate.rows);
    let within = RowSet::range(candidate.within.clone());
    let settled = rows.intersect(&within) == rows.intersect(&within).intersect(&sure);
    let layout = layouts.get(settled);
    let chunks = layout.leaves.iter().filter_map(|leaf| {
        let chunk = file.chunk(candidate.row_group, *leaf)?;
        let index = indexes.get(candidate.row_group, *leaf);
        let pages = index.map(|index| index.pages.page_locations().as_slice());
        Some(read_chunk(
            &Chunk::new(*leaf, chunk, pages, candidate.rows),
            &rows,
            candidate.rows,
        ))
    });
    RowGroupRead {
        row_group: candidate.row_group,
        chunks: chunks.collect(),
        within: candidate.within.clone(),
        rows,
        sure,
        settled,
    }
}

impl Layouts {
    /// The layout of a row group; `settled` when all of its rows are sure to match.
    pub(crate) fn get(&self, settled: bool) -> &Layout {
        if settled { &self.plain } else { &self.filtered }
    }
}

impl TaskScan {
    /// The next rows of the result, or `None` after the last.
    ///
    /// # Errors
    /// When the file cannot be read or decoded, or the filter fails on a row.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>, ScanError> {
        while !self.scan.budget.is_spent() {
            if let Some(batch) = self.batches.next() {
                let batch = self.scan.budget.spend(batch);
                self.log.returned(batch.num_rows());
                return Ok(Some(batch));
            }
            if self.decoding.is_some() {
                self.decode()?;
                // Rows that do not pass give no reason to pause, and a client that is gone must be noticed.
                tokio::task::consume_budget().await;
            } else if let Some(read) = self.wave.as_mut().and_then(|wave| wave.reads.pop_front()) {
                self.begin(read)?;
            } else if self.batches.flush()? {
                // What was held back for larger batches goes out before the next wave is waited for.
            } else {
                self.wave = self.waves.next().await?;
                if self.wave.is_none() {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// The I/O log of the task.
    #[cfg(test)]
    pub(crate) fn ledger(&self) -> &Ledger {
        self.log.ledger()
    }

    /// Starts on the next row group of the wave.
    fn begin(&mut self, read: RowGroupRead) -> Result<(), ScanError> {
        let began = Instant::now();
        self.log.read(&read);
        let fetched = self.wave.as_ref().map(|wave| &wave.bytes);
        let layout = self.layouts.get(read.settled);
        let batch_rows = self.scan.scanner.limits.batch_rows;
        let decoding = Decoding::new(&self.file, layout, &self.indexes, read, fetched, batch_rows)?;
        self.decoding = Some(decoding);
        self.log.decoded(began);
        Ok(())
    }

    /// Decodes, filters and projects some rows of the row group.
    fn decode(&mut self) -> Result<(), ScanError> {
        let Some(decoding) = &mut self.decoding else {
            return Ok(());
        };
        let began = Instant::now();
        let Some(rows) = decoding.next()? else {
            self.decoding = None;
            return Ok(());
        };
        self.log.counts.rows_decoded += rows.decoded;
        let settled = decoding.settled();
        let shapes = &self.scan.shapes;
        let shape = if settled {
            &shapes.plain
        } else {
            &shapes.filtered
        };
        let arranged = self.layouts.get(settled).arrange(&rows.batch)?;
        let result = shape
            .finish(&arranged, rows.sure)
            .map_err(|error| ScanError::Filter {
                table: self.scan.spec.table.clone(),
                reason: error.strip_backtrace(),
            })?;
        self.batches.push(result)?;
        self.log.decoded(began);
        Ok(())
    }
}
