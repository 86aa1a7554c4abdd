//! Which indexes are kept: each built once however many ask at the same time, and the least recently
//! used forgotten when they take too much memory.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::SnapshotId;
use tokio::sync::OnceCell;

use super::TableIndex;
use crate::error::CatalogError;
use crate::table::TableId;

/// Bytes that the kept indexes may take together.
const MEMORY_LIMIT: usize = 512 * 1024 * 1024;

type Key = (TableId, SnapshotId);
type Slot = Arc<OnceCell<Arc<TableIndex>>>;

/// The indexes of the snapshots that were asked for lately.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    slots: HashMap<Key, (u64, Slot)>,
    clock: u64,
}

impl IndexCache {
    /// The index of a snapshot; `build` is run when it is not there.
    pub(crate) async fn get<F>(
        &self,
        table: TableId,
        snapshot: SnapshotId,
        build: impl FnOnce() -> F,
    ) -> Result<Arc<TableIndex>, CatalogError>
    where
        F: Future<Output = Result<TableIndex, CatalogError>>,
    {
        let key = (table, snapshot);
        let slot = self.entries().slot(key);
        let index = slot.get_or_try_init(|| async { build().await.map(Arc::new) });
        match index.await {
            Ok(index) => {
                self.entries().forget_oldest(key);
                Ok(Arc::clone(index))
            }
            Err(error) => {
                self.entries().slots.remove(&key);
                Err(error)
            }
        }
    }

    /// Forgets a table that is gone.
    pub(crate) fn forget(&self, table: TableId) {
        self.entries().slots.retain(|(id, _), _| *id != table);
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn slot(&mut self, key: Key) -> Slot {
        self.clock += 1;
        let (used, slot) = self.slots.entry(key).or_default();
        *used = self.clock;
        Arc::clone(slot)
    }

    /// Forgets indexes, the least recently used first, until the rest fits; `keep` always stays.
    fn forget_oldest(&mut self, keep: Key) {
        let memory = |slot: &Slot| slot.get().map_or(0, |index| index.memory());
        let mut total: usize = self.slots.values().map(|(_, slot)| memory(slot)).sum();
        while total > MEMORY_LIMIT {
            let others = self.slots.iter().filter(|(key, _)| **key != keep);
            let oldest = others
                .min_by_key(|(_, (used, _))| *used)
                .map(|(key, _)| *key);
            let Some((_, slot)) = oldest.and_then(|key| self.slots.remove(&key)) else {
                return;
            };
            total -= memory(&slot);
        }
    }
}
