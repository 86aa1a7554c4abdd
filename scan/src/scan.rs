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
use model::{Predicate, ScanTask};
use store::Ledger;
use store::footer::FooterHint;

use crate::budget::Budget;
use crate::decoding::{Batches, Decoding};
use crate::error::ScanError;
use crate::fetch::{FetchedWave, Waves};
use crate::opened::{Indexes, OpenedFile};
use crate::read_plan::{RowGroupRead, waves};
use crate::recorder::Recorder;
use crate::scanner::Scanner;
use crate::shape::Shapes;
use crate::spec::ScanSpec;
use crate::task_file::{Layouts, TaskFile};
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

impl Scan {
    /// Opens a file and decides what to read of it.
    ///
    /// # Errors
    /// When the file cannot be opened, or does not hold the table's columns.
    pub(crate) async fn plan(self: Arc<Self>, task: ScanTask) -> Result<TaskScan, ScanError> {
        let location = self.scanner.stores.resolve(&task.file.path)?;
        let ledger = Ledger::new(location).expecting(task.file.version.clone());
        let mut log = TaskLog::begin(&self.recorder, Arc::new(ledger));

        let hint = FooterHint {
            page_index: task.file.page_index.filter(|_| self.may_read_parts()),
            ..FooterHint::of(&task.file)
        };
        let opened = self
            .scanner
            .footers
            .open(log.ledger(), &task.file, hint)
            .await?;
        log.opened(&opened);
        let file = TaskFile::new(&self, &task, opened)?;

        let candidates = file.row_groups(&task, self.budget.left(), &mut log);
        let indexes = file.indexes(&candidates, &mut log).await?;
        let reads = file.read_plan(candidates, &indexes, &mut log);
        Ok(self.start(file, indexes, reads, log))
    }

    fn start(
        self: Arc<Self>,
        file: TaskFile,
        indexes: Indexes,
        reads: Vec<RowGroupRead>,
        log: TaskLog,
    ) -> TaskScan {
        let (file, layouts) = file.into_parts();
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

    /// Whether page indexes may be worth their bytes.
    fn may_read_parts(&self) -> bool {
        self.predicate().can_prune() || self.spec.limit.is_some()
    }

    /// The predicate. `Always` beside a filter would mean that the filter need not be evaluated, which
    /// only a predicate that was made from it may say.
    pub(crate) fn predicate(&self) -> &Predicate {
        match (&self.spec.filter, &self.spec.predicate) {
            (None, _) => &Predicate::Always,
            (Some(_), Predicate::Always) => &Predicate::Unknown,
            (Some(_), predicate) => predicate,
        }
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
                // Let go first: the next wave may be waiting for this one's memory.
                self.wave = None;
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
