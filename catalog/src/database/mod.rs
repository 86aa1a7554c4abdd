//! The catalog's SQLite file: opening it, its migrations and its connections. Every statement of the
//! tables is in `read`, `commit` and `expire`; those of the query log are in `crate::log`.

mod commit;
mod expire;
mod footers;
mod read;
mod records;

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{SqlSafeStr, SqliteConnection};

pub(crate) use commit::new_snapshot_id;
pub(crate) use expire::keep_expiring;
pub(crate) use footers::{ColumnsWanted, KnownFooter};
pub(crate) use read::{FileId, FileRow, SnapshotFiles, get};

use crate::error::CatalogError;

/// How long a connection waits for another one that writes, also of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections that only read; SQLite lets them read while another writes.
const READERS: u32 = 8;

/// The numbered steps from an empty file to the current form.
const MIGRATIONS: [(i64, &str, &str); 3] = [
    (
        1,
        "catalog",
        include_str!("../../migrations/0001_catalog.sql"),
    ),
    (
        2,
        "dead files",
        include_str!("../../migrations/0002_dead_files.sql"),
    ),
    (
        3,
        "footers",
        include_str!("../../migrations/0003_footers.sql"),
    ),
];

/// The open database. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    /// One connection for commits: they would only wait for each other. Each is on disk before it is
    /// acknowledged.
    writer: SqlitePool,
    /// One connection for the query log, which may lose its last moments when the machine fails.
    log: SqlitePool,
    readers: SqlitePool,
}

impl Database {
    /// Opens the file, makes it when there is none, and brings it to the current form.
    pub(crate) async fn open(database: &str) -> Result<Self, CatalogError> {
        let path = file_path(database)?;
        let failed = |reason: String| CatalogError::Open {
            path: path.display().to_string(),
            reason,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
        }
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .journal_mode(SqliteJournalMode::Wal)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let connect = |size, options| async move {
            let opened = pool(size).connect_with(options).await;
            opened.map_err(|error| failed(wire::status::chain(&error)))
        };
        let durable = options.clone().synchronous(SqliteSynchronous::Full);
        let writer = connect(1, durable).await?;
        let migrated = migrator().run(&writer).await;
        migrated.map_err(|error| failed(wire::status::chain(&error)))?;
        let relaxed = options.synchronous(SqliteSynchronous::Normal);
        let log = connect(1, relaxed.clone()).await?;
        let readers = connect(READERS, relaxed.pragma("query_only", "ON")).await?;
        Ok(Self {
            writer,
            log,
            readers,
        })
    }

    /// Closes every connection, so that the write-ahead log is folded into the file.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.log.close().await;
        self.writer.close().await;
    }

    /// Connections that read.
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// The connection that writes the query log.
    pub(crate) fn log(&self) -> &SqlitePool {
        &self.log
    }
}

/// A transaction that takes the write lock at its start, so that what it reads first still holds when
/// it writes. Dropped without a commit, it leaves nothing.
pub(crate) async fn begin_write(
    pool: &SqlitePool,
) -> Result<sqlx::Transaction<'static, sqlx::Sqlite>, CatalogError> {
    pool.begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(CatalogError::database("begin a change"))
}

fn pool(size: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(size)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(BUSY_TIMEOUT)
}

fn migrator() -> Migrator {
    let migrations = MIGRATIONS.map(|(version, name, sql)| {
        let kind = MigrationType::Simple;
        Migration::new(version, name.into(), kind, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.to_vec())
}

/// The file of a path or a `sqlite:` URL.
fn file_path(database: &str) -> Result<PathBuf, CatalogError> {
    let path = match database.split_once(':') {
        Some(("sqlite", rest)) => rest.strip_prefix("//").unwrap_or(rest),
        Some(("postgres" | "postgresql", _)) => {
            return Err(CatalogError::Unsupported(
                "the catalog database must be a SQLite file; PostgreSQL is not supported yet"
                    .to_owned(),
            ));
        }
        _ => database,
    };
    if path.is_empty() || path.ends_with('/') {
        return Err(CatalogError::Open {
            path: database.to_owned(),
            reason: "the path of a file is needed".to_owned(),
        });
    }
    std::path::absolute(Path::new(path)).map_err(|error| CatalogError::Open {
        path: database.to_owned(),
        reason: error.to_string(),
    })
}

/// A count as SQLite keeps it.
pub(crate) fn stored_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count that SQLite kept.
pub(crate) fn count_from(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or_default()
}

/// Milliseconds since 1970.
pub(crate) fn now_unix_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// What the statements are run on.
type Connection = SqliteConnection;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_path_or_a_sqlite_url() {
        for spelled in ["/a/b.db", "sqlite:/a/b.db", "sqlite:///a/b.db"] {
            assert_eq!(
                file_path(spelled).unwrap(),
                Path::new("/a/b.db"),
                "{spelled}"
            );
        }
        for spelled in ["", "/a/", "postgres://host/db"] {
            assert!(file_path(spelled).is_err(), "{spelled}");
        }
    }
}
