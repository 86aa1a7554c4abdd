//! The memory for what scans have fetched, bounded over all scans of a process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::error::ScanError;

/// The unit in which bytes are counted; a semaphore holds no more than a few billions.
const PERMIT_BYTES: u64 = 1024;

/// Bytes that scans hold. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    permits: Arc<Semaphore>,
    most: u32,
    patience: Duration,
    /// How many wait for bytes that others hold.
    waiting: watch::Sender<usize>,
}

/// Bytes that count as held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held(#[allow(dead_code)] Option<OwnedSemaphorePermit>);

impl Memory {
    /// So many bytes, for which a scan waits no longer than `patience`.
    pub(crate) fn new(bytes: u64, patience: Duration) -> Self {
        let most = u32::try_from(bytes / PERMIT_BYTES)
            .unwrap_or(u32::MAX / 8)
            .max(1);
        Self {
            permits: Arc::new(Semaphore::new(most as usize)),
            most,
            patience,
            waiting: watch::Sender::new(0),
        }
    }

    /// All bytes, held or not.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.most) * PERMIT_BYTES
    }

    /// Waits until so many bytes fit. More than fit at all count as all.
    ///
    /// # Errors
    /// When others hold too much for too long.
    pub(crate) async fn hold(&self, bytes: u64) -> Result<Held, ScanError> {
        if let Some(held) = self.try_hold(bytes) {
            return Ok(held);
        }
        let _waiting = Waiting::begin(&self.waiting);
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

    /// Returns when a scan waits for bytes that others hold.
    pub(crate) async fn wanted(&self) {
        let mut waiting = self.waiting.subscribe();
        // The sender is there as long as this is.
        let _ = waiting.wait_for(|waiting| *waiting > 0).await;
    }

    fn permits_of(&self, bytes: u64) -> u32 {
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        permits.min(self.most)
    }
}

/// One that waits; also when it is dropped while it does.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn begin(all: &'a watch::Sender<usize>) -> Self {
        all.send_modify(|waiting| *waiting += 1);
        Self(all)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn memory_is_wanted_while_one_waits() {
        let memory = Memory::new(10 * 1024, Duration::from_secs(5));
        let wanted = || tokio::time::timeout(Duration::from_secs(1), memory.wanted());
        let first = memory.hold(6 * 1024).await.unwrap();
        assert!(wanted().await.is_err());
        let waits = tokio::spawn({
            let memory = memory.clone();
            async move { memory.hold(6 * 1024).await }
        });
        assert!(wanted().await.is_ok());
        drop(first);
        let second = waits.await.unwrap().unwrap();
        assert!(wanted().await.is_err());
        // Patience ends, and one that gave up waits no more.
        assert!(memory.hold(u64::MAX).await.is_err());
        assert!(wanted().await.is_err());
        drop(second);
        assert!(memory.hold(u64::MAX).await.is_ok());
    }
}
