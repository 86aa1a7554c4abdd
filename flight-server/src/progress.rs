//! What the server itself sees of one ticket: waiting, rows left out and passed on. Makes the scan
//! report out of it and of what the scan recorded.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow::record_batch::RecordBatch;
use model::{Counts, ScanReport};
use scan::Recorder;

use crate::open::ScanTicket;

/// What has happened to a ticket so far.
#[derive(Debug)]
pub(crate) struct Progress {
    server: String,
    queued: Duration,
    started: Instant,
    first_batch: Mutex<Option<Duration>>,
    /// Where in the rows of the scan it is.
    position: AtomicU64,
    /// How many rows from the start the client has, or will have.
    done: AtomicU64,
    /// How many were scanned only to be left out.
    skipped: AtomicU64,
}

/// How a scan ended before its end.
#[derive(Debug)]
pub(crate) enum Cut {
    /// The client went away.
    Gone,
    /// An error.
    Failed(String),
}

impl Progress {
    /// The scan of a ticket that `arrived` begins now.
    pub(crate) fn begin(server: &str, arrived: Instant, skip_rows: u64) -> Self {
        Self {
            server: server.to_owned(),
            queued: arrived.elapsed(),
            started: Instant::now(),
            first_batch: Mutex::new(None),
            position: AtomicU64::new(0),
            done: AtomicU64::new(skip_rows),
            skipped: AtomicU64::new(0),
        }
    }

    /// Since the scan began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How many rows from the start the client has, or will have.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The scan starts, or starts anew, behind so many rows; what it passed on before is not passed on
    /// again.
    pub(crate) fn start(&self, left_out: u64) {
        self.position.store(left_out, Ordering::Relaxed);
    }

    /// Notes a batch and leaves out the rows that the client has already.
    pub(crate) fn pass(&self, batch: &RecordBatch) -> RecordBatch {
        let mut first = self
            .first_batch
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| self.started.elapsed());
        let rows = batch.num_rows();
        let position = self.position.fetch_add(rows as u64, Ordering::Relaxed);
        let known = self.done().saturating_sub(position);
        let skip = usize::try_from(known).unwrap_or(usize::MAX).min(rows);
        self.done
            .fetch_max(position + rows as u64, Ordering::Relaxed);
        self.skipped.fetch_add(skip as u64, Ordering::Relaxed);
        batch.slice(skip, rows - skip)
    }

    /// The report of the scan as far as it came.
    pub(crate) fn report(
        &self,
        ticket: &ScanTicket,
        recorder: &Recorder,
        cut: Option<Cut>,
    ) -> ScanReport {
        let tasks = recorder.reports();
        let mut counts = Counts::default();
        for task in &tasks {
            counts += task.counts;
        }
        let first = self
            .first_batch
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        counts.queued_ms = milliseconds(self.queued);
        counts.first_batch_ms = milliseconds(first.unwrap_or_default());
        // Rows that an earlier stream of this ticket returned are not returned again.
        let skipped = self.skipped.load(Ordering::Relaxed);
        counts.rows_returned = counts.rows_returned.saturating_sub(skipped);
        ScanReport {
            query_id: ticket.query_id.clone(),
            ticket_id: ticket.ticket_id.clone(),
            table: ticket.work.table.clone(),
            snapshot_id: ticket.work.snapshot_id,
            server: self.server.clone(),
            complete: cut.is_none(),
            error: cut.and_then(|cut| match cut {
                Cut::Gone => None,
                Cut::Failed(error) => Some(error),
            }),
            counts,
            tasks,
            tasks_left_out: 0,
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn rows_that_the_client_has_are_left_out_across_batches() {
        let batch = |range: std::ops::Range<i64>| {
            let column = Arc::new(Int64Array::from_iter_values(range)) as _;
            RecordBatch::try_from_iter([("n", column)]).unwrap()
        };
        for skip in 0..=10_u64 {
            let progress = Progress::begin("here", Instant::now(), skip);
            let passed: Vec<i64> = [batch(0..4), batch(4..4), batch(4..9)]
                .iter()
                .flat_map(|batch| {
                    let passed = progress.pass(batch);
                    passed
                        .column(0)
                        .as_primitive::<Int64Type>()
                        .values()
                        .to_vec()
                })
                .collect();
            let expected: Vec<i64> = (0..9).skip(usize::try_from(skip).unwrap()).collect();
            assert_eq!(passed, expected, "{skip}");
        }
    }
}
