//! The one error of the catalog: what a caller can do about it, and which table, file or column it is
//! about.

use model::{SnapshotId, TableName};
use store::StoreError;
use wire::serve::ServeError;
use wire::{Categorized, Category, DecodeError};

/// Why the catalog could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// No table has this name.
    #[error("table {0} does not exist")]
    TableNotFound(TableName),
    /// The table has no such snapshot.
    #[error("table {table} has no snapshot {snapshot}")]
    SnapshotNotFound {
        /// The table.
        table: TableName,
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// The name is taken.
    #[error("table {0} already exists")]
    TableExists(TableName),
    /// The name cannot be a table's.
    #[error("{name:?} is no name for a table: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// A location without a single file that could be read.
    #[error("{0} holds no Parquet file")]
    NoFiles(String),
    /// Files, paths and declared columns that do not fit together.
    #[error("table {table}: {reason}")]
    Columns {
        /// The table.
        table: TableName,
        /// Which column of which file does not fit what.
        reason: String,
    },
    /// A table that is managed already.
    #[error("table {0} is already managed")]
    AlreadyManaged(TableName),
    /// Somebody else changed the table in the meantime.
    #[error("table {0} was changed by someone else at the same time; try again")]
    Conflict(TableName),
    /// Something that this catalog does not do.
    #[error("{0}")]
    Unsupported(String),
    /// A request that cannot be understood.
    #[error("request: {0}")]
    Request(#[from] DecodeError),
    /// A file or folder that cannot be listed or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database failed.
    #[error("catalog database: cannot {doing}")]
    Database {
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        source: sqlx::Error,
    },
    /// The database cannot be opened.
    #[error("cannot open catalog database {path}: {reason}")]
    Open {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The database holds something that cannot be understood.
    #[error("catalog database: {what} cannot be understood: {reason}")]
    Stored {
        /// What was read.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Iceberg metadata of a table that is not what it should be.
    #[error("table {table}: metadata {path} cannot be understood: {reason}")]
    Metadata {
        /// The table.
        table: TableName,
        /// The metadata file, manifest list or manifest.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Work of the catalog that ended too early.
    #[error("the work was interrupted: {0}")]
    Interrupted(String),
    /// The service could not be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl CatalogError {
    /// A database error with what was tried, for `map_err`.
    pub(crate) fn database(doing: &'static str) -> impl Fn(sqlx::Error) -> Self {
        move |source| Self::Database { doing, source }
    }

    /// Iceberg metadata that cannot be understood, for `map_err`.
    pub(crate) fn metadata<E: std::fmt::Display>(
        table: &TableName,
        path: &str,
    ) -> impl Fn(E) -> Self {
        let (table, path) = (table.clone(), path.to_owned());
        move |reason| Self::Metadata {
            table: table.clone(),
            path: path.clone(),
            reason: reason.to_string(),
        }
    }

    /// Something stored that cannot be understood, for `map_err`.
    pub(crate) fn stored<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> Self {
        move |reason| Self::Stored {
            what,
            reason: reason.to_string(),
        }
    }
}

impl Categorized for CatalogError {
    fn category(&self) -> Category {
        match self {
            Self::TableNotFound(_) | Self::SnapshotNotFound { .. } => Category::NotFound,
            Self::TableExists(_) | Self::AlreadyManaged(_) => Category::AlreadyExists,
            Self::Name { .. } => Category::Invalid,
            Self::NoFiles(_) | Self::Columns { .. } => Category::Precondition,
            Self::Conflict(_) => Category::Conflict,
            Self::Unsupported(_) => Category::Unsupported,
            Self::Request(error) => error.category(),
            Self::Store(error) => error.category(),
            Self::Database { source, .. } => database_category(source),
            Self::Open { .. } => Category::Unavailable,
            Self::Stored { .. } | Self::Metadata { .. } => Category::Corrupt,
            Self::Interrupted(_) | Self::Serve(_) => Category::Internal,
        }
    }
}

/// A database that is busy or gone may be back later; anything else is a fault.
fn database_category(error: &sqlx::Error) -> Category {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
            Category::Unavailable
        }
        sqlx::Error::Database(inner) if inner.message().contains("locked") => Category::Unavailable,
        _ => Category::Internal,
    }
}
