//! What all scans of a process share: stores, footers and limits.

use std::sync::Arc;
use std::time::Duration;

use store::Stores;
use tokio::sync::Semaphore;

use crate::error::ScanError;
use crate::footers::Footers;

const MIB: u64 = 1024 * 1024;

/// The unit in which bytes under way are counted; a semaphore holds no more than a few billions.
const PERMIT_BYTES: u64 = 1024;

/// Limits of scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that a task fetches in one wave; it holds two waves, one of which is being decoded. A row
    /// group that is larger is a wave by itself.
    pub wave_bytes: u64,
    /// Fetched bytes that all scans of the process hold together.
    pub bytes_in_flight: u64,
    /// How long a task waits for bytes that other scans hold before it fails.
    pub patience: Duration,
    /// Footers that are kept.
    pub footer_bytes: u64,
    /// Rows of a batch at most; fewer when rows are large.
    pub batch_rows: usize,
    /// Files of one partition that are opened ahead of the one that is read.
    pub open_ahead: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wave_bytes: 32 * MIB,
            bytes_in_flight: 1024 * MIB,
            patience: Duration::from_mins(1),
            footer_bytes: 256 * MIB,
            batch_rows: 8192,
            open_ahead: 4,
        }
    }
}

/// Scans files; shared by all tickets of a process.
#[derive(Debug)]
pub struct Scanner {
    pub(crate) stores: Stores,
    pub(crate) footers: Footers,
    pub(crate) limits: Limits,
    pub(crate) in_flight: InFlight,
}

impl Scanner {
    /// A scanner of files in these stores.
    pub fn new(stores: Stores, limits: Limits) -> Self {
        Self {
            stores,
            footers: Footers::new(limits.footer_bytes),
            in_flight: InFlight::new(limits.bytes_in_flight, limits.patience),
            limits,
        }
    }
}

/// The bytes that scans hold, bounded over all of them.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    permits: Arc<Semaphore>,
    most: u32,
    patience: Duration,
}

/// Bytes that count as held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held(#[allow(dead_code)] Option<tokio::sync::OwnedSemaphorePermit>);

impl InFlight {
    fn new(bytes: u64, patience: Duration) -> Self {
        let most = u32::try_from(bytes / PERMIT_BYTES)
            .unwrap_or(u32::MAX / 8)
            .max(1);
        Self {
            permits: Arc::new(Semaphore::new(most as usize)),
            most,
            patience,
        }
    }

    /// Waits until so many bytes fit. More than fit at all count as all.
    ///
    /// # Errors
    /// When others hold too much for too long.
    pub(crate) async fn hold(&self, bytes: u64) -> Result<Held, ScanError> {
        let permits = Arc::clone(&self.permits).acquire_many_owned(self.permits_of(bytes));
        match tokio::time::timeout(self.patience, permits).await {
            // The semaphore is never closed.
            Ok(held) => Ok(Held(held.ok())),
            Err(_) => Err(ScanError::Exhausted {
                bytes,
                seconds: self.patience.as_secs(),
            }),
        }
    }

    /// Holds so many bytes if they fit now.
    pub(crate) fn try_hold(&self, bytes: u64) -> Option<Held> {
        let permits = Arc::clone(&self.permits).try_acquire_many_owned(self.permits_of(bytes));
        permits.ok().map(|held| Held(Some(held)))
    }

    fn permits_of(&self, bytes: u64) -> u32 {
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        permits.min(self.most)
    }
}
