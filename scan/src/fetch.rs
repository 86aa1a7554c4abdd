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
            None => match self.planned.pop_front() {
                Some(reads) => {
                    Some(fetch(Arc::clone(&self.ledger), self.in_flight.clone(), reads).await?)
                }
                None => None,
            },
        };
        if self.ahead
            && let Some(reads) = self.planned.pop_front()
        {
            let fetch = fetch(Arc::clone(&self.ledger), self.in_flight.clone(), reads);
            self.under_way = Some(SpawnedTask::spawn(fetch));
        }
        Ok(wave)
    }
}

async fn fetch(
    ledger: Arc<Ledger>,
    in_flight: InFlight,
    reads: Vec<RowGroupRead>,
) -> Result<FetchedWave, ScanError> {
    let needed: Vec<Range<u64>> = reads
        .iter()
        .flat_map(RowGroupRead::ranges)
        .cloned()
        .collect();
    let requests = coalesce(needed, &ledger.location().profile());
    let size = requests.iter().map(|range| range.end - range.start).sum();
    let held = in_flight.hold(size).await;
    let bytes = ledger.read(requests.clone(), "pages").await?;
    Ok(FetchedWave {
        reads: reads.into(),
        bytes: Fetched::new(&requests, bytes),
        _held: held,
    })
}
