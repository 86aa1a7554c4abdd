//! The scan of one task, on one page:
//!
//! ```text
//! footer ─▶ row groups ─▶ pages ─▶ read plan ─▶ fetch ─▶ decode ─▶ filter ─▶ project ─▶ batches
//!            verdicts      verdicts   (pure)     (ledger)   └── stage by stage ──┘
//! ```
//!
//! Decisions are made by pure functions one step down; this file only leads from one to the next.

use std::sync::Arc;
use std::time::Instant;

use arrow::record_batch::RecordBatch;
use model::{FieldId, Predicate, ScanTask};
use store::Ledger;
use store::footer::FooterHint;

use crate::batches::Batches;
use crate::budget::Budget;
use crate::conjuncts::Filter;
use crate::decoding::{Decoding, RowGroupSource, Step};
use crate::error::ScanError;
use crate::file_plan::FilePlan;
use crate::recorder::Recorder;
use crate::scanner::Scanner;
use crate::spec::ScanSpec;
use crate::stages::Stages;
use crate::task_file::TaskFile;
use crate::task_log::TaskLog;
use crate::waves::{Fetched, Waves};

/// The scan of a partition: what its tasks share.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) scanner: Arc<Scanner>,
    pub(crate) spec: Arc<ScanSpec>,
    /// The filter in parts; their order is decided file by file.
    pub(crate) filter: Filter,
    /// What becomes of rows that need no filter.
    pub(crate) plain: Stages,
    pub(crate) recorder: Recorder,
    pub(crate) budget: Budget,
}

/// A task whose bytes to read are decided.
#[derive(Debug)]
pub(crate) struct TaskScan {
    scan: Arc<Scan>,
    plan: Arc<FilePlan>,
    waves: Waves,
    decoding: Option<Decoding>,
    batches: Batches,
    // Dropped last: it records what the others did.
    log: TaskLog,
}

impl Scan {
    /// The scan of tasks of one partition.
    ///
    /// # Errors
    /// When it names a column that the table does not have.
    pub(crate) fn new(
        scanner: Arc<Scanner>,
        spec: Arc<ScanSpec>,
        recorder: Recorder,
    ) -> Result<Self, ScanError> {
        Ok(Self {
            filter: Filter::of(spec.filter.as_ref()),
            plain: Stages::plain(&spec)?,
            budget: Budget::new(spec.limit),
            scanner,
            spec,
            recorder,
        })
    }

    /// Opens a file and decides what to read of it.
    ///
    /// # Errors
    /// When the file cannot be opened, or does not hold the table's columns.
    pub(crate) async fn plan(self: Arc<Self>, task: ScanTask) -> Result<TaskScan, ScanError> {
        let location = self.scanner.stores.resolve(&task.file.path)?;
        let ledger = Ledger::new(location).expecting(task.file.version.clone());
        let mut log = TaskLog::begin(&self.recorder, Arc::new(ledger));

        let footers = &self.scanner.footers;
        let opened = footers.open(log.ledger(), &task, self.hint(&task)).await?;
        log.opened(&opened);
        let here = opened.columns();
        let file = TaskFile::new(&self, &task, opened)?;

        let candidates = file.row_groups(self.budget.left(), &mut log);
        let indexes = file.indexes(&candidates, &mut log).await?;
        let wanted = file.pages(candidates, &indexes, &mut log);
        let wanted = file.probed(wanted, &mut log).await?;
        let (plan, reads) = file.plan(wanted, indexes, &log)?;

        let scanner = &self.scanner;
        // A limit may be reached before the next row group, so none is fetched ahead then.
        let ahead = self.budget.left().is_none();
        Ok(TaskScan {
            waves: Waves::new(scanner, &log, here, Arc::clone(&plan), reads, ahead),
            batches: Batches::new(self.spec.output_schema(), scanner.limits.batch_rows),
            scan: self,
            plan,
            decoding: None,
            log,
        })
    }

    /// What to read of a file with its footer.
    pub(crate) fn hint(&self, task: &ScanTask) -> FooterHint {
        FooterHint {
            page_index: task.file.page_index.filter(|_| self.may_read_parts(task)),
            columns: self.reads_columns(task),
            ..FooterHint::of(&task.file)
        }
    }

    /// Whether page indexes may be worth their bytes.
    fn may_read_parts(&self, task: &ScanTask) -> bool {
        self.predicate().can_prune() || self.spec.limit.is_some() || task.rows.is_some()
    }

    /// Whether the file is asked for more than the task says already.
    fn reads_columns(&self, task: &ScanTask) -> bool {
        let ids = self.spec.schema.ids();
        let known = |id: &FieldId| task.partition_values.iter().any(|value| value.field == *id);
        let columns = self.columns();
        let mut ids = columns.iter().filter_map(|position| ids.get(*position));
        ids.any(|id| !known(id))
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

    /// The columns that are read, as positions in the table's schema.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let filtered = self.filter.parts().flat_map(|part| part.columns.iter());
        let mut columns: Vec<usize> = filtered.chain(&self.spec.projection).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        columns
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
            if let Some(decoding) = &mut self.decoding {
                if decoding.must_wait() && self.batches.flush()? {
                    // As below.
                    continue;
                }
                let arrived = decoding.ready().await?;
                self.log.arrived(arrived);
                self.decode()?;
                // Rows that do not pass give no reason to pause, and a client that is gone must be noticed.
                tokio::task::consume_budget().await;
            } else if self.waves.must_wait() && self.batches.flush()? {
                // What was held back for larger batches goes out before the next bytes are waited for.
            } else if let Some(fetched) = self.waves.next().await? {
                self.begin(fetched)?;
            } else if !self.batches.flush()? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The I/O log of the task.
    #[cfg(test)]
    pub(crate) fn ledger(&self) -> &Ledger {
        self.log.ledger()
    }

    /// Starts on the next row group that is here, or goes on with one that the filter has seen.
    fn begin(&mut self, fetched: Fetched) -> Result<(), ScanError> {
        let began = Instant::now();
        let limits = self.scan.scanner.limits;
        let (read, bytes) = match fetched {
            Fetched::RowGroup(read, bytes) => {
                self.log.begins(&read);
                (read, RowGroupSource::Here(bytes))
            }
            Fetched::Streamed(read, streamed) => {
                self.log.begins_streamed(&read);
                (read, RowGroupSource::Streamed(streamed))
            }
            Fetched::Rest(filtered, bytes) => {
                self.log.reads(filtered.read());
                self.decoding = Some(Decoding::of_filtered(filtered, bytes, limits)?);
                self.log.decoded(began);
                return Ok(());
            }
        };
        let plan = Arc::clone(&self.plan);
        let table = self.scan.spec.table.clone();
        self.decoding = Some(Decoding::new(plan, table, read, bytes, limits)?);
        self.log.decoded(began);
        Ok(())
    }

    /// Decodes some rows of the row group, as far as the filter and the projection.
    fn decode(&mut self) -> Result<(), ScanError> {
        let Some(decoding) = &mut self.decoding else {
            return Ok(());
        };
        let began = Instant::now();
        let enough = self.scan.budget.left();
        match decoding.step(enough)? {
            Step::On { decoded, rows } => {
                self.log.counts.rows_decoded += decoded;
                if let Some(rows) = rows {
                    self.batches.push(rows, enough)?;
                }
            }
            Step::Filtered(filtered) => {
                self.waves.later(filtered);
                self.decoding = None;
            }
            Step::Ended => self.decoding = None,
        }
        self.log.decoded(began);
        Ok(())
    }
}
