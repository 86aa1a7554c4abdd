//! The one error type of the local start.

use std::path::{Path, PathBuf};

use wire::serve::ServeError;

/// Why Fulmar could not be started over a folder.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// There is no such folder or file; correct the location.
    #[error("there is no folder or file {0}")]
    NoData(String),
    /// Nothing to serve; choose another folder.
    #[error("no Parquet file (*.parquet, *.parq) in {0}")]
    NoTables(String),
    /// The data cannot be listed.
    #[error("cannot list {data}: {reason}")]
    List {
        /// The data folder.
        data: String,
        /// What the store said.
        reason: String,
    },
    /// Every table was refused; the first reason is named.
    #[error("none of the {tables} tables can be served: {first}")]
    AllRefused {
        /// How many there are.
        tables: usize,
        /// Why the first was refused.
        first: String,
    },
    /// The state folder cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    State {
        /// The file or folder concerned.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// The state folder belongs to other data; name another one.
    #[error("state folder {} belongs to {owner}; choose another one with --dir", path.display())]
    OtherData {
        /// The state folder.
        path: PathBuf,
        /// The data that it was made for.
        owner: String,
    },
    /// Another process serves from this state folder.
    #[error("state folder {} is in use by another process", path.display())]
    InUse {
        /// The state folder.
        path: PathBuf,
    },
    /// A file in the state folder is damaged.
    #[error("state file {} cannot be read: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// No folder for the state can be found; name one.
    #[error("no place for the state of {0}; choose one with --dir")]
    NoState(String),
    /// The catalog did not answer while tables were registered.
    #[error("catalog: {0}")]
    Catalog(String),
    /// A socket cannot be listened on.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A service ended although nobody stopped it.
    #[error("{service}: {reason}")]
    Service {
        /// Which one.
        service: &'static str,
        /// Why.
        reason: String,
    },
    /// The demo's tables cannot be made.
    #[error(transparent)]
    Fixture(#[from] fixtures::Error),
    /// The demo would write over files that it did not make.
    #[error("{} was not made by the demo; choose another folder with --dir", path.display())]
    NotOurs {
        /// What is in the way.
        path: PathBuf,
    },
    /// The demo's query failed.
    #[error(transparent)]
    Query(#[from] client::ClientError),
    /// The terminal or the pipe behind the output is gone.
    #[error("cannot write the output: {0}")]
    Write(#[from] std::io::Error),
}

impl LocalError {
    pub(crate) fn state(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::State {
            path: path.to_owned(),
            source,
        }
    }
}
