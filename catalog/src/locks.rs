//! One change of a table at a time within this process. Other processes are kept apart by the check of
//! the snapshot inside each commit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::TableName;
use tokio::sync::OwnedMutexGuard;

/// Locks by table name; those that nobody holds or waits for are forgotten.
#[derive(Debug, Default)]
pub(crate) struct TableLocks {
    locks: Mutex<HashMap<TableName, Arc<tokio::sync::Mutex<()>>>>,
}

impl TableLocks {
    /// Waits until nobody else changes the table.
    pub(crate) async fn lock(&self, name: &TableName) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(name.clone()).or_default())
        };
        lock.lock_owned().await
    }
}
