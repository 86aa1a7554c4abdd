//! The waves of a task: which row groups are fetched together, and when. Owns the order and what is
//! fetched ahead; how requests are sent is `fetch.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::decoding::Filtered;
use crate::error::ScanError;
use crate::fetch::{Fetcher, Reads, Unit};
use crate::file_plan::FilePlan;
use crate::read_plan::{ChunkRead, RowGroupRead, units};
use crate::scanner::Scanner;
use crate::streamed::Streamed;
use crate::task_log::TaskLog;

/// Bytes that are here.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// A row group: all that it needs, or what its filter needs.
    RowGroup(RowGroupRead, store::Fetched),
    /// A row group whose bytes come while it is decoded.
    Streamed(RowGroupRead, Streamed),
    /// The rest of a row group whose filter is done.
    Rest(Filtered, store::Fetched),
}

/// A row group of which some rows are still to be returned.
#[derive(Debug)]
enum Pending {
    /// Its filter is done, and the rest of it is to be fetched.
    Filtered(Filtered),
    /// All of it is here, but rows before it are not.
    Whole(RowGroupRead, store::Fetched),
}

impl Reads for Pending {
    fn chunks(&self) -> &[ChunkRead] {
        match self {
            Self::Filtered(filtered) => &filtered.read().chunks,
            Self::Whole(..) => &[],
        }
    }
}

/// The waves of a task.
#[derive(Debug)]
pub(crate) struct Waves {
    fetcher: Fetcher,
    plan: Arc<FilePlan>,
    most_bytes: u64,
    /// Bytes of a row group that are too many to be fetched at once.
    giant: u64,
    /// Whether a unit is fetched before it is asked for.
    ahead: bool,
    /// The wave of what depends on the footer and the page indexes only.
    first_wave: u64,
    planned: VecDeque<Vec<RowGroupRead>>,
    current: Option<Unit<RowGroupRead>>,
    fetched_ahead: Option<Unit<RowGroupRead>>,
    /// Row groups of the current unit whose filter is done, and whole ones that come after them.
    pending: Vec<Pending>,
    planned_rest: VecDeque<Vec<Pending>>,
    rest: Option<Unit<Pending>>,
}

impl Waves {
    pub(crate) fn new(
        scanner: &Scanner,
        log: &TaskLog,
        here: store::Fetched,
        plan: Arc<FilePlan>,
        reads: Vec<RowGroupRead>,
        ahead: bool,
    ) -> Self {
        let most_bytes = if ahead { scanner.limits.wave_bytes } else { 0 };
        Self {
            fetcher: Fetcher::new(Arc::clone(log.ledger()), here, scanner.memory.clone()),
            plan,
            most_bytes,
            giant: scanner.giant(),
            ahead,
            first_wave: log.ledger().next_wave(),
            planned: units(reads, RowGroupRead::bytes, most_bytes).into(),
            current: None,
            fetched_ahead: None,
            pending: Vec::new(),
            planned_rest: VecDeque::new(),
            rest: None,
        }
    }

    /// A row group whose filter is done: the rest of it is fetched with that of its unit.
    pub(crate) fn later(&mut self, filtered: Filtered) {
        self.pending.push(Pending::Filtered(filtered));
    }

    /// Whether the next bytes were not even asked for until now.
    pub(crate) fn must_wait(&self) -> bool {
        let empty = |reads: usize| reads == 0;
        self.current
            .as_ref()
            .is_none_or(|unit| empty(unit.reads.len()))
            && self
                .rest
                .as_ref()
                .is_none_or(|unit| empty(unit.reads.len()))
            && self.fetched_ahead.is_none()
    }

    /// The next row group whose bytes are here, or `None` after the last.
    ///
    /// # Errors
    /// When the file cannot be read, or other scans hold the memory for too long.
    pub(crate) async fn next(&mut self) -> Result<Option<Fetched>, ScanError> {
        loop {
            if let Some(unit) = &mut self.current
                && let Some(read) = unit.reads.pop_front()
            {
                let bytes = unit.bytes(&read.chunks).await?;
                // Rows come in their order.
                if !self.pending.is_empty() && self.plan.is_whole(&read) {
                    self.pending.push(Pending::Whole(read, bytes));
                    continue;
                }
                return Ok(Some(Fetched::RowGroup(read, bytes)));
            }
            if let Some(unit) = &mut self.rest
                && let Some(pending) = unit.reads.pop_front()
            {
                return Ok(Some(match pending {
                    Pending::Whole(read, bytes) => Fetched::RowGroup(read, bytes),
                    Pending::Filtered(filtered) => {
                        let bytes = unit.bytes(&filtered.read().chunks).await?;
                        Fetched::Rest(filtered, bytes)
                    }
                }));
            }
            // Let go first: what comes next may be waiting for this memory.
            self.current = None;
            self.rest = None;
            if let Some((read, streamed)) = self.next_streamed().await? {
                return Ok(Some(Fetched::Streamed(read, streamed)));
            }
            if !self.fetch_next().await? {
                return Ok(None);
            }
        }
    }

    /// The next row group if it is one that is streamed.
    async fn next_streamed(&mut self) -> Result<Option<(RowGroupRead, Streamed)>, ScanError> {
        let waits =
            self.pending.is_empty() && self.planned_rest.is_empty() && self.fetched_ahead.is_none();
        let is_streamed =
            |unit: &Vec<RowGroupRead>| matches!(unit.as_slice(), [read] if self.streams(read));
        if !waits || !self.planned.front().is_some_and(is_streamed) {
            return Ok(None);
        }
        let Some(read) = self.planned.pop_front().and_then(|mut unit| unit.pop()) else {
            return Ok(None);
        };
        let name = |leaf| self.plan.file.column_name(leaf);
        let streamed = self
            .fetcher
            .stream(&read, (self.wave(), self.giant / 2), name)
            .await?;
        Ok(Some((read, streamed)))
    }

    fn streams(&self, read: &RowGroupRead) -> bool {
        self.plan.streams(read, self.giant)
    }

    /// Asks for the rest of filtered row groups, or else for the next ones; `false` at the end.
    async fn fetch_next(&mut self) -> Result<bool, ScanError> {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            let bytes = |pending: &Pending| pending.chunks().iter().map(ChunkRead::bytes).sum();
            self.planned_rest
                .extend(units(pending, bytes, self.most_bytes));
        }
        if let Some(pending) = self.planned_rest.pop_front() {
            let name = |leaf| self.plan.file.column_name(leaf);
            let wave = self.wave() + u64::from(self.ahead);
            self.rest = Some(self.fetcher.fetch(pending, wave, name).await?);
            // Memory is asked for in the order of need: first for all of this unit.
            if self.planned_rest.is_empty() {
                self.fetch_ahead();
            }
            return Ok(true);
        }
        self.current = match self.fetched_ahead.take() {
            Some(unit) => Some(unit),
            None => match self.planned.pop_front() {
                Some(reads) => {
                    let name = |leaf| self.plan.file.column_name(leaf);
                    Some(self.fetcher.fetch(reads, self.wave(), name).await?)
                }
                None => return Ok(false),
            },
        };
        let is_whole =
            |unit: &Unit<RowGroupRead>| unit.reads.iter().all(|read| self.plan.is_whole(read));
        if self.current.as_ref().is_some_and(is_whole) {
            self.fetch_ahead();
        }
        Ok(true)
    }

    fn fetch_ahead(&mut self) {
        let is_streamed = |unit: &Vec<RowGroupRead>| unit.iter().any(|read| self.streams(read));
        if !self.ahead
            || self.fetched_ahead.is_some()
            || self.planned.front().is_some_and(is_streamed)
        {
            return;
        }
        let Some(reads) = self.planned.pop_front() else {
            return;
        };
        let name = |leaf| self.plan.file.column_name(leaf);
        match self.fetcher.try_fetch(reads, self.wave(), name) {
            Ok(unit) => self.fetched_ahead = Some(unit),
            Err(reads) => self.planned.push_front(reads),
        }
    }

    /// The wave of a unit that is asked for now. Without a limit all units depend on the same data; with
    /// one, each is asked for because the one before was not enough.
    fn wave(&self) -> u64 {
        if self.ahead {
            self.first_wave
        } else {
            self.fetcher.next_wave()
        }
    }
}
