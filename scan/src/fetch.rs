//! One wave: the bytes of some row groups, coalesced into requests that are sent together.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use store::{Fetched, Ledger, coalesce};

use crate::error::ScanError;
use crate::read_plan::RowGroupRead;
use crate::scanner::{Held, InFlight};

/// The bytes of some row groups.
#[derive(Debug)]
pub(crate) struct FetchedWave {
    pub(crate) reads: VecDeque<RowGroupRead>,
    pub(crate) bytes: Fetched,
    /// Bounds the bytes of all scans while the wave is there.
    _held: Held,
}

/// The waves of a task, the next one fetched while one is decoded.
#[derive(Debug)]
pub(crate) struct Waves {
    ledger: Arc<Ledger>,
    in_flight: InFlight,
    planned: VecDeque<Vec<RowGroupRead>>,
    under_way: Option<SpawnedTask<Result<FetchedWave, ScanError>>>,
    ahead: bool,
}

impl Waves {
    /// With `ahead`, a wave is fetched before it is asked for.
    pub(crate) fn new(
        ledger: Arc<Ledger>,
        in_flight: InFlight,
        planned: Vec<Vec<RowGroupRead>>,
        ahead: bool,
    ) -> Self {
        Self {
            ledger,
            in_flight,
            planned: planned.into(),
            under_way: None,
            ahead,
        }
    }

    /// The next wave, or `None` after the last.
    ///
    /// # Errors
    /// When the file cannot be read; there are no more waves then.
    pub(crate) async fn next(&mut self) -> Result<Option<FetchedWave>, ScanError> {
        let wave = match self.under_way.take() {
            Some(task) => match task.join_unwind().await {
                Ok(wave) => Some(wave?),
                // Only a runtime that shuts down cancels it.
                Err(_) => None,
            },
            None => self.fetch_now().await?,
        };
        self.fetch_ahead();
        Ok(wave)
    }

    async fn fetch_now(&mut self) -> Result<Option<FetchedWave>, ScanError> {
        let Some(wave) = self.planned.pop_front() else {
            return Ok(None);
        };
        let request = Request::new(&self.ledger, wave);
        let held = self.in_flight.hold(request.size).await?;
        fetch(Arc::clone(&self.ledger), request, held)
            .await
            .map(Some)
    }

    /// Fetches one more wave if there is memory for it: whoever waits for some must not wait for waves
    /// that nobody needs yet.
    fn fetch_ahead(&mut self) {
        if !self.ahead {
            return;
        }
        let Some(wave) = self.planned.pop_front() else {
            return;
        };
        let request = Request::new(&self.ledger, wave);
        match self.in_flight.try_hold(request.size) {
            Some(held) => {
                let fetch = fetch(Arc::clone(&self.ledger), request, held);
                self.under_way = Some(SpawnedTask::spawn(fetch));
            }
            None => self.planned.push_front(request.reads),
        }
    }
}

/// The requests of one wave.
struct Request {
    reads: Vec<RowGroupRead>,
    ranges: Vec<Range<u64>>,
    size: u64,
}

impl Request {
    fn new(ledger: &Ledger, reads: Vec<RowGroupRead>) -> Self {
        let needed = reads.iter().flat_map(RowGroupRead::ranges).cloned();
        let ranges = coalesce(needed.collect(), &ledger.location().profile());
        Self {
            size: ranges.iter().map(|range| range.end - range.start).sum(),
            reads,
            ranges,
        }
    }
}

async fn fetch(
    ledger: Arc<Ledger>,
    request: Request,
    held: Held,
) -> Result<FetchedWave, ScanError> {
    let bytes = ledger.read(request.ranges.clone(), "pages").await?;
    Ok(FetchedWave {
        reads: request.reads.into(),
        bytes: Fetched::new(&request.ranges, bytes),
        _held: held,
    })
}
