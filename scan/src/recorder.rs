//! Collects what the scans of a ticket did, one report per task, whether they end, fail or are dropped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{FooterColumn, LearnedFooter, TaskReport};
use tokio::sync::Notify;

/// Skips of all tasks together that are kept one by one; beyond, they are only counted. Reports travel
/// with the last message of a stream and must stay well below the size of one.
const MOST_SKIPS: usize = 5_000;

/// Bytes of the footers that the catalog is told of by one ticket at most.
const MOST_LEARNED: usize = 4 * 1024 * 1024;

/// The reports of the tasks of one ticket or query. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    reports: Arc<Mutex<Vec<Option<TaskReport>>>>,
    recorded: Arc<Notify>,
    skips: Arc<AtomicUsize>,
    learned: Arc<Mutex<Vec<LearnedFooter>>>,
}

impl Recorder {
    /// A recorder without reports.
    pub fn new() -> Self {
        Self::default()
    }

    /// The reports of all tasks that have ended, in the order in which they were begun. A task that
    /// was never begun, because a limit was reached before, has none.
    pub fn reports(&self) -> Vec<TaskReport> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.iter().flatten().cloned().collect()
    }

    /// The footers that were read and that the catalog would like to have, once.
    pub fn take_learned(&self) -> Vec<LearnedFooter> {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut learned)
    }

    /// Waits until all tasks that were begun have ended. Those that are opened ahead of the one that is
    /// read end a moment after the stream of rows is dropped.
    pub async fn settled(&self) {
        loop {
            let recorded = self.recorded.notified();
            if !self.is_pending() {
                return;
            }
            recorded.await;
        }
    }

    fn is_pending(&self) -> bool {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.iter().any(Option::is_none)
    }

    /// Keeps a place for a task's report.
    pub(crate) fn begin(&self) -> Place {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.push(None);
        Place {
            recorder: self.clone(),
            number: reports.len() - 1,
        }
    }
}

/// The place of one task's report.
#[derive(Debug)]
pub(crate) struct Place {
    recorder: Recorder,
    number: usize,
}

impl Place {
    /// Whether one more skip may be kept; it then counts as kept.
    pub(crate) fn keeps_skip(&self) -> bool {
        let one_more = |kept| (kept < MOST_SKIPS).then_some(kept + 1);
        let skips = &self.recorder.skips;
        skips
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok()
    }

    /// Notes a footer for the catalog.
    pub(crate) fn learned(&self, footer: LearnedFooter) {
        let learned = &self.recorder.learned;
        let mut learned = learned.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = learned
            .iter()
            .chain([&footer])
            .flat_map(|footer| &footer.columns);
        let bytes: usize = columns.map(FooterColumn::size).sum();
        if bytes <= MOST_LEARNED {
            learned.push(footer);
        }
    }

    /// Puts the report there.
    pub(crate) fn record(&self, report: TaskReport) {
        let mut reports = self
            .recorder
            .reports
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = reports.get_mut(self.number) {
            *place = Some(report);
        }
        self.recorder.recorded.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_a_ticket_share_the_room_for_skips() {
        let recorder = Recorder::new();
        let (one, two) = (recorder.begin(), recorder.begin());
        let kept = |place: &Place| (0..MOST_SKIPS).filter(|_| place.keeps_skip()).count();
        assert_eq!((0..10).filter(|_| one.keeps_skip()).count(), 10);
        assert_eq!((kept(&two), kept(&one)), (MOST_SKIPS - 10, 0));
    }
}
