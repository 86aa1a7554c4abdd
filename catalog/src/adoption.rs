//! Turning a listing table into a managed one: its metadata is written first, then the table refers to
//! it. Whatever fails or is given up in between leaves no metadata behind.

use model::SnapshotId;
use store::Stores;

use crate::database::{Database, new_snapshot_id, now_unix_ms};
use crate::error::CatalogError;
use crate::iceberg::{self, Adopted, Adoption};
use crate::index::TableIndex;
use crate::listing::Report;
use crate::table::Table;

/// Adopts the table of an index of its current snapshot; its metadata goes below `warehouse`.
pub(crate) async fn adopt(
    database: Database,
    stores: &Stores,
    warehouse: &str,
    index: &TableIndex,
    report: Report<'_>,
) -> Result<Table, CatalogError> {
    let snapshot = new_snapshot_id();
    let adoption = Adoption {
        stores,
        warehouse,
        index,
        snapshot,
        now_unix_ms: now_unix_ms(),
    };
    let adopted = iceberg::adopt(adoption, report).await?;
    // Finished even when nobody waits any more: in between, nobody could tell whether the table
    // refers to the metadata.
    let committing = commit(database, index.table.clone(), snapshot, adopted);
    let committed = tokio::spawn(committing).await;
    committed.map_err(|error| CatalogError::Interrupted(error.to_string()))?
}

/// Makes a table refer to the metadata that was written for it. The metadata is removed when it
/// surely does not.
async fn commit(
    database: Database,
    base: Table,
    snapshot: SnapshotId,
    adopted: Adopted,
) -> Result<Table, CatalogError> {
    match database.adopt_table(&base, snapshot, &adopted).await {
        Ok(table) => {
            adopted.written.keep();
            tracing::info!(
                table = %table.name(), files = table.snapshot.files,
                metadata = %adopted.metadata_location, "table adopted"
            );
            Ok(table)
        }
        // It may have been committed all the same.
        Err(error @ CatalogError::Database { .. }) => {
            adopted.written.keep();
            Err(error)
        }
        Err(error) => {
            adopted.written.remove().await;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use model::TableName;
    use tempfile::TempDir;

    use super::*;
    use crate::catalog::{Catalog, Existing, NewTable};
    use crate::table::Declaration;

    struct Lake {
        folder: TempDir,
        database: Database,
        catalog: Catalog,
        name: TableName,
    }

    impl Lake {
        async fn start() -> Self {
            let folder = TempDir::new().unwrap();
            let database = folder.path().join("catalog.db");
            let database = Database::open(database.to_str().unwrap()).await.unwrap();
            let warehouse = folder.path().join("warehouse").display().to_string();
            let catalog = Catalog::new(database.clone(), Stores::from_env(), warehouse);
            fixtures::orders_sorted(&folder.path().join("t"), 1_000).unwrap();
            let name = TableName::main("t");
            let new = NewTable {
                name: name.clone(),
                location: folder.path().join("t").display().to_string(),
                declaration: Declaration::default(),
                existing: Existing::Refuse,
            };
            catalog.create(new, &|_| {}).await.unwrap();
            Self {
                folder,
                database,
                catalog,
                name,
            }
        }

        async fn written(&self, index: &TableIndex, snapshot: SnapshotId) -> Adopted {
            let warehouse = self.folder.path().join("warehouse").display().to_string();
            let adoption = Adoption {
                stores: &Stores::from_env(),
                warehouse: &warehouse,
                index,
                snapshot,
                now_unix_ms: now_unix_ms(),
            };
            iceberg::adopt(adoption, &|_| {}).await.unwrap()
        }

        /// The folders of adoptions of the table.
        fn adoptions(&self) -> usize {
            let table = self.folder.path().join("warehouse/main/t");
            fs::read_dir(table).unwrap().count()
        }
    }

    #[tokio::test]
    async fn metadata_that_no_table_refers_to_is_removed() {
        let lake = Lake::start().await;
        let index = lake.catalog.index(&lake.name, None).await.unwrap();
        let snapshot = new_snapshot_id();
        let adopted = lake.written(&index, snapshot).await;
        assert_eq!(lake.adoptions(), 1);
        let data = lake.folder.path().join("t");
        let first = fs::read_dir(&data).unwrap().next().unwrap().unwrap().path();
        fs::copy(&first, data.join("another.parquet")).unwrap();
        lake.catalog.refresh(&lake.name, &|_| {}).await.unwrap();
        let base = index.table.clone();
        let error = commit(lake.database.clone(), base, snapshot, adopted).await;
        assert!(matches!(error, Err(CatalogError::Conflict(_))));
        assert_eq!(lake.adoptions(), 0);
    }

    #[tokio::test]
    async fn metadata_of_an_adoption_that_is_given_up_is_removed() {
        let lake = Lake::start().await;
        let index = lake.catalog.index(&lake.name, None).await.unwrap();
        drop(lake.written(&index, new_snapshot_id()).await);
        while lake.adoptions() > 0 {
            tokio::task::yield_now().await;
        }
        let report: Report<'_> = &|_| {};
        let table = lake.catalog.adopt(&lake.name, report).await.unwrap();
        let metadata = table.definition.metadata_location.unwrap();
        let metadata = metadata.strip_prefix("file://").unwrap();
        assert!(Path::new(metadata).exists());
        assert_eq!(lake.adoptions(), 1);
    }
}
