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
type Slot = Arc<OnceCell<Kept>>;

/// An index with the memory that it takes, counted once: it never changes.
#[derive(Debug)]
struct Kept {
    index: Arc<TableIndex>,
    memory: usize,
}

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
        let kept = slot.get_or_try_init(|| async {
            let index = Arc::new(build().await?);
            let memory = index.memory();
            Ok(Kept { index, memory })
        });
        match kept.await {
            Ok(kept) => {
                self.entries().forget_oldest(key, MEMORY_LIMIT);
                Ok(Arc::clone(&kept.index))
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

    /// Forgets indexes, the least recently used first, until the rest fits in `limit` bytes; `keep`
    /// always stays.
    fn forget_oldest(&mut self, keep: Key, limit: usize) {
        let memory = |slot: &Slot| slot.get().map_or(0, |kept| kept.memory);
        let mut total: usize = self.slots.values().map(|(_, slot)| memory(slot)).sum();
        while total > limit {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_schema::Schema;
    use model::{ColumnMapping, DataFile, TableName, TableSchema};

    use super::*;
    use crate::index::IndexedFile;
    use crate::table::{Columns, Declaration, Definition, Snapshot, Table, TableKind};

    fn index(id: TableId) -> TableIndex {
        let definition = Definition {
            name: TableName::main("t"),
            kind: TableKind::Listing,
            location: String::new(),
            mapping: ColumnMapping::ByName,
            declaration: Declaration::default(),
            metadata_location: None,
        };
        let snapshot = Snapshot {
            id: SnapshotId(1),
            sequence_number: 1,
            committed_unix_ms: 0,
            operation: String::new(),
            columns: Columns {
                schema: TableSchema::numbered(&Schema::empty()),
                partition_fields: Vec::new(),
            },
            files_added: 0,
            files_removed: 0,
            files: 0,
            rows: 0,
            bytes: 0,
        };
        let file = IndexedFile {
            file: DataFile {
                path: String::new(),
                size: 0,
                version: None,
                record_count: None,
                footer_length: None,
                page_index: None,
            },
            id: None,
            partitions: Vec::new(),
            partition_bounds: Vec::new(),
            bounds: Vec::new(),
        };
        TableIndex {
            table: Table {
                id,
                definition,
                last_field_id: 0,
                snapshot,
            },
            files: vec![file],
        }
    }

    async fn get(cache: &IndexCache, table: i64, count: &AtomicUsize) -> Arc<TableIndex> {
        let id = TableId(table);
        let build = || async {
            tokio::task::yield_now().await;
            count.fetch_add(1, Ordering::Relaxed);
            Ok(index(id))
        };
        cache.get(id, SnapshotId(1), build).await.unwrap()
    }

    #[tokio::test]
    async fn an_index_is_built_once_for_all_who_ask_at_the_same_time() {
        let (cache, count) = (IndexCache::default(), AtomicUsize::new(0));
        let (a, b) = tokio::join!(get(&cache, 1, &count), get(&cache, 1, &count));
        assert!(Arc::ptr_eq(&a, &b));
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_failed_build_is_tried_again() {
        let (cache, count) = (IndexCache::default(), AtomicUsize::new(0));
        let fail = || async { Err(CatalogError::TableNotFound(TableName::main("t"))) };
        assert!(cache.get(TableId(1), SnapshotId(1), fail).await.is_err());
        get(&cache, 1, &count).await;
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn the_least_recently_used_is_forgotten_first() {
        let (cache, count) = (IndexCache::default(), AtomicUsize::new(0));
        for table in [1, 2, 1, 3] {
            get(&cache, table, &count).await;
        }
        let one = index(TableId(1)).memory();
        cache
            .entries()
            .forget_oldest((TableId(3), SnapshotId(1)), 2 * one);
        let mut left: Vec<i64> = cache.entries().slots.keys().map(|(id, _)| id.0).collect();
        left.sort_unstable();
        assert_eq!(left, [1, 3]);
        cache.forget(TableId(1));
        assert_eq!(cache.entries().slots.len(), 1);
    }
}
