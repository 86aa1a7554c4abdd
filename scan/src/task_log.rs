//! The account of one scan task: its counts, skips and times, recorded when the task is dropped, however
//! it ended.

use std::sync::Arc;
use std::time::Instant;

use model::{Counts, Skip, TaskReport};
use store::Ledger;

use crate::footers::Opened;
use crate::read_plan::RowGroupRead;
use crate::recorder::{Place, Recorder};

/// The account of one scan task.
#[derive(Debug)]
pub(crate) struct TaskLog {
    ledger: Arc<Ledger>,
    place: Place,
    started: Instant,
    decoding: std::time::Duration,
    skips: Vec<Skip>,
    /// The counts that are not about requests.
    pub(crate) counts: Counts,
}

impl TaskLog {
    pub(crate) fn begin(recorder: &Recorder, ledger: Arc<Ledger>) -> Self {
        Self {
            ledger,
            place: recorder.begin(),
            started: Instant::now(),
            decoding: std::time::Duration::ZERO,
            skips: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// What was skipped, as far as there is room to tell.
    pub(crate) fn skip(&mut self, skips: impl IntoIterator<Item = Skip>) {
        let kept = skips.into_iter().take_while(|_| self.place.keeps_skip());
        self.skips.extend(kept);
    }

    /// A footer that was read, or was kept.
    pub(crate) fn opened(&mut self, opened: &Opened) {
        self.counts.bytes_needed += opened.read_bytes;
        self.counts.footer_cache_hits += u64::from(opened.was_kept);
    }

    /// A row group some of whose bytes were fetched.
    pub(crate) fn begins(&mut self, read: &RowGroupRead) {
        self.counts.row_groups_read += 1;
        self.reads(read);
    }

    /// Bytes of a row group that were fetched.
    pub(crate) fn reads(&mut self, read: &RowGroupRead) {
        let counts = &mut self.counts;
        counts.bytes_needed += read.bytes();
        counts.pages_read += read.chunks.iter().map(|chunk| chunk.pages).sum::<u64>();
        counts.bytes_dictionaries += read
            .chunks
            .iter()
            .map(|chunk| chunk.dictionary_bytes)
            .sum::<u64>();
    }

    /// Decoding, filtering or projecting that began at `began`.
    pub(crate) fn decoded(&mut self, began: Instant) {
        self.decoding += began.elapsed();
    }

    /// A batch that goes out.
    pub(crate) fn returned(&mut self, rows: usize) {
        if self.counts.rows_returned == 0 {
            self.counts.first_batch_ms = milliseconds(self.started.elapsed());
        }
        self.counts.rows_returned += rows as u64;
    }
}

impl Drop for TaskLog {
    fn drop(&mut self) {
        let mut counts = self.counts;
        counts.decode_ms = milliseconds(self.decoding);
        counts += self.ledger.counts();
        self.place.record(TaskReport {
            path: self.ledger.url().to_owned(),
            counts,
            skips: std::mem::take(&mut self.skips),
        });
    }
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
