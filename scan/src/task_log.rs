//! The account of one scan task: its counts, skips and times, recorded when the task is dropped, however
//! it ended.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use model::{Counts, Skip, TaskReport};
use store::Ledger;

use crate::footers::Opened;
use crate::read_plan::RowGroupRead;
use crate::recorder::{Place, Recorder};
use crate::streamed::Arrived;

/// The account of one scan task.
#[derive(Debug)]
pub(crate) struct TaskLog {
    ledger: Arc<Ledger>,
    place: Place,
    started: Instant,
    decoding: std::time::Duration,
    /// Row groups that were begun.
    begun: HashSet<usize>,
    /// Where the ranges begin that were counted.
    counted: HashSet<u64>,
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
            begun: HashSet::new(),
            counted: HashSet::new(),
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

    /// A footer that was read, was kept, or came with the ticket.
    pub(crate) fn opened(&mut self, opened: &Opened) {
        self.counts.bytes_needed += opened.read_bytes;
        self.counts.footer_cache_hits += u64::from(opened.was_kept);
        self.counts.footers_in_ticket += u64::from(opened.was_given);
        if let Some(footer) = &opened.learned {
            self.place.learned(footer.clone());
        }
    }

    /// A row group, or a part of one, some of whose bytes were fetched.
    pub(crate) fn begins(&mut self, read: &RowGroupRead) {
        if self.begun.insert(read.row_group) {
            self.counts.row_groups_read += 1;
        }
        self.reads(read);
    }

    /// A row group that is read as it is decoded.
    pub(crate) fn begins_streamed(&mut self, read: &RowGroupRead) {
        if self.begun.insert(read.row_group) {
            self.counts.row_groups_read += 1;
        }
    }

    /// Bytes of such a row group that have come.
    pub(crate) fn arrived(&mut self, arrived: Arrived) {
        self.counts.bytes_needed += arrived.bytes;
        self.counts.bytes_dictionaries += arrived.dictionaries;
    }

    /// Bytes of a row group that were fetched. What two parts of it need counts once.
    pub(crate) fn reads(&mut self, read: &RowGroupRead) {
        let counts = &mut self.counts;
        for chunk in &read.chunks {
            let dictionaries = chunk.ranges.len() - chunk.by_page.len();
            for (number, range) in chunk.ranges.iter().enumerate() {
                if !self.counted.insert(range.start) {
                    continue;
                }
                let bytes = range.end - range.start;
                counts.bytes_needed += bytes;
                if chunk.by_page.is_empty() {
                    counts.pages_read += chunk.pages;
                    counts.bytes_dictionaries += chunk.dictionary_bytes;
                } else if number < dictionaries {
                    counts.bytes_dictionaries += bytes;
                } else {
                    counts.pages_read += 1;
                }
            }
        }
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
