//! Forgetting old snapshots, and the files that only they had, in small steps that hold no commit up.
//! The current snapshot of a table always stays, and so does what a query may still be reading.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Database, now_unix_ms};
use crate::error::CatalogError;

/// Time between two rounds.
const INTERVAL: Duration = Duration::from_mins(10);

/// How long a snapshot is kept.
const AGE: Duration = Duration::from_hours(7 * 24);

/// How long it is kept in any case: far longer than tickets hold.
const YOUNG: Duration = Duration::from_hours(24);

/// Snapshots of a table that are kept, unless all of them are young.
const NUMBER: i64 = 1000;

/// Rows deleted while the tables are locked against writing.
const STEP: u64 = 2000;

/// Snapshots from before `?1`, and those from before `?2` behind the newest `?3`. `?4` at once.
const SNAPSHOTS: &str = "DELETE FROM snapshots WHERE rowid IN (
    SELECT snapshots.rowid FROM snapshots JOIN tables ON tables.table_id = snapshots.table_id
     WHERE snapshot_id <> current_snapshot
       AND (committed_unix_ms < ?1 OR committed_unix_ms < ?2 AND sequence_number <= (
                SELECT max(newest.sequence_number) FROM snapshots AS newest
                 WHERE newest.table_id = snapshots.table_id) - ?3)
     LIMIT ?4)";

/// Files that were removed before the oldest snapshot that is left.
const FILES: &str = "DELETE FROM files WHERE file_id IN (
    SELECT file_id FROM files
     WHERE removed_sequence IS NOT NULL AND removed_sequence <= (
                SELECT min(sequence_number) FROM snapshots
                 WHERE snapshots.table_id = files.table_id)
     LIMIT ?1)";

const EXPIRE: &str = "forget old snapshots";

/// Forgets what is too old, now and from time to time, until the service ends.
pub(crate) async fn keep_expiring(database: Database, shutdown: CancellationToken) {
    loop {
        match expire(&database, now_unix_ms()).await {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(rows, "old snapshots and their files forgotten"),
            Err(error) => {
                let error = wire::status::chain(&error);
                tracing::warn!(error, "old snapshots could not be forgotten");
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

/// Forgets what is too old and answers how many rows that were.
async fn expire(database: &Database, now_unix_ms: i64) -> Result<u64, CatalogError> {
    let before = |age: Duration| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        now_unix_ms.saturating_sub(age)
    };
    let step = i64::try_from(STEP).unwrap_or(i64::MAX);
    let failed = CatalogError::database(EXPIRE);
    let mut total = 0;
    loop {
        let snapshots = sqlx::query(SNAPSHOTS)
            .bind(before(AGE))
            .bind(before(YOUNG))
            .bind(NUMBER)
            .bind(step);
        let snapshots = snapshots.execute(&database.writer).await;
        let snapshots = snapshots.map_err(&failed)?.rows_affected();
        let files = sqlx::query(FILES).bind(step);
        let files = files.execute(&database.writer).await;
        let files = files.map_err(&failed)?.rows_affected();
        total += snapshots + files;
        if snapshots < STEP && files < STEP {
            return Ok(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::TableName;
    use store::Stores;

    use super::*;
    use crate::catalog::{Catalog, Existing, NewTable};
    use crate::table::Declaration;

    #[tokio::test]
    async fn old_snapshots_go_with_the_files_that_only_they_had() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let database = Database::open(path.to_str().unwrap()).await.unwrap();
        let catalog = Catalog::new(database.clone(), Stores::from_env(), String::new());
        let data = folder.path().join("t");
        fixtures::orders_many(&data, 400, 4).unwrap();
        let name = TableName::main("t");
        let new = NewTable {
            name: name.clone(),
            location: data.display().to_string(),
            declaration: Declaration::default(),
            existing: Existing::Refuse,
        };
        catalog.create(new, &|_| {}).await.unwrap();
        for _ in 0..3 {
            let file = fs::read_dir(&data).unwrap().next().unwrap().unwrap();
            fs::remove_file(file.path()).unwrap();
            catalog.refresh(&name, &|_| {}).await.unwrap();
        }
        let sequences = async || -> Vec<i64> {
            let snapshots = catalog.snapshots(&name).await.unwrap();
            let snapshots = snapshots.iter();
            snapshots.map(|snapshot| snapshot.sequence_number).collect()
        };
        let rows = async || -> i64 {
            let count = sqlx::query_scalar("SELECT count(*) FROM files");
            count.fetch_one(database.readers()).await.unwrap()
        };
        assert_eq!(expire(&database, now_unix_ms()).await.unwrap(), 0);
        assert_eq!((sequences().await, rows().await), (vec![4, 3, 2, 1], 4));

        let age = i64::try_from(AGE.as_millis()).unwrap();
        sqlx::query("UPDATE snapshots SET committed_unix_ms = ? WHERE sequence_number <> 3")
            .bind(now_unix_ms() - age - 1)
            .execute(&database.writer)
            .await
            .unwrap();
        // Two snapshots with the two files that only they had; the current one stays whatever its age.
        assert_eq!(expire(&database, now_unix_ms()).await.unwrap(), 4);
        assert_eq!((sequences().await, rows().await), (vec![4, 3], 2));
        let left = catalog.snapshots(&name).await.unwrap();
        for snapshot in left {
            let index = catalog.index(&name, Some(snapshot.id)).await.unwrap();
            assert_eq!(index.files.len() as u64, snapshot.files);
        }
    }
}
