//! What all scans of a process share: stores, footers and limits.

use std::time::Duration;

use store::Stores;

use crate::footers::Footers;
use crate::memory::Memory;

const MIB: u64 = 1024 * 1024;

/// Limits of scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that a task fetches in one wave; it holds two waves, one of which is being decoded. A row
    /// group that is larger is a wave by itself.
    pub wave_bytes: u64,
    /// Memory of all scans of the process together: what they have fetched, and what it takes to decode
    /// and send that.
    pub memory_bytes: u64,
    /// How long a task waits for bytes that other scans hold before it fails.
    pub patience: Duration,
    /// Footers that are kept.
    pub footer_bytes: u64,
    /// Rows of a batch at most; fewer when rows are large.
    pub batch_rows: usize,
    /// Rows that wait for later stages of the filter are let on when they hold this much memory.
    pub kept_bytes: usize,
    /// Files of one partition that are opened ahead of the one that is read.
    pub open_ahead: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wave_bytes: 32 * MIB,
            memory_bytes: 1024 * MIB,
            patience: Duration::from_mins(1),
            footer_bytes: 256 * MIB,
            batch_rows: 8192,
            kept_bytes: 32 << 20,
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
    pub(crate) memory: Memory,
}

impl Scanner {
    /// A scanner of files in these stores.
    pub fn new(stores: Stores, limits: Limits) -> Self {
        Self {
            stores,
            footers: Footers::new(limits.footer_bytes),
            memory: Memory::new(limits.memory_bytes, limits.patience),
            limits,
        }
    }

    /// Bytes of a row group that are too many to be fetched at once: two waves, where there is memory for
    /// that twice over.
    pub(crate) fn giant(&self) -> u64 {
        (2 * self.limits.wave_bytes).min(self.memory.bytes() / 4)
    }

    /// Returns when a scan waits for memory that other scans hold.
    pub async fn memory_is_wanted(&self) {
        self.memory.wanted().await;
    }
}
