//! What can go wrong with a store or a file, by what the caller can do about it. Each message names the
//! file.

use std::error::Error as StdError;
use std::io;

use wire::{Categorized, Category};

/// An error of a store or of a file in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL cannot be understood.
    #[error("{url:?} is not a usable location: {reason}")]
    InvalidUrl {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound {
        /// The file's URL.
        path: String,
    },
    /// Something is there already, and it must not be overwritten.
    #[error("{path} exists already")]
    AlreadyExists {
        /// The file's URL.
        path: String,
    },
    /// The store refuses.
    #[error("{path} may not be read: {reason}")]
    Denied {
        /// The file's URL.
        path: String,
        /// The store's words.
        reason: String,
    },
    /// The store cannot be reached or failed.
    #[error("{path} could not be read: {reason}")]
    Unavailable {
        /// The file's URL.
        path: String,
        /// The store's words.
        reason: String,
    },
    /// The file is not the one that was planned.
    #[error("{path} has changed since it was last listed")]
    Changed {
        /// The file's URL.
        path: String,
    },
    /// The file does not end as Parquet files do.
    #[error("{path} is not a Parquet file")]
    NotParquet {
        /// The file's URL.
        path: String,
    },
    /// The file is shorter than it must be.
    #[error("{path} is truncated: {reason}")]
    Truncated {
        /// The file's URL.
        path: String,
        /// What is missing.
        reason: String,
    },
    /// The file contradicts itself.
    #[error("{path} is corrupt: {reason}")]
    Corrupt {
        /// The file's URL.
        path: String,
        /// What was found.
        reason: String,
    },
    /// The file or store is sound, but Fulmar does not do this.
    #[error("{path} is not supported: {reason}")]
    Unsupported {
        /// The file's URL.
        path: String,
        /// What is not done.
        reason: String,
    },
    /// Two files of a table hold a column in ways that do not fit together.
    #[error(
        "files of clashing schemas: column {column:?} is {first_type} in {first} but {second_type} in {second}"
    )]
    Clash {
        /// The column.
        column: String,
        /// A file that holds it.
        first: String,
        /// Its type there.
        first_type: String,
        /// Another file that holds it.
        second: String,
        /// Its type there.
        second_type: String,
    },
}

impl Categorized for StoreError {
    fn category(&self) -> Category {
        match self {
            Self::InvalidUrl { .. } => Category::Invalid,
            Self::NotFound { .. } => Category::NotFound,
            Self::AlreadyExists { .. } => Category::AlreadyExists,
            Self::Denied { .. } => Category::Denied,
            Self::Unavailable { .. } => Category::Unavailable,
            Self::Changed { .. } | Self::Clash { .. } => Category::Precondition,
            Self::NotParquet { .. } | Self::Truncated { .. } | Self::Corrupt { .. } => {
                Category::Corrupt
            }
            Self::Unsupported { .. } => Category::Unsupported,
        }
    }
}

impl StoreError {
    /// The error of a store operation on `path` (a full URL).
    pub fn of(path: &str, error: &object_store::Error) -> Self {
        use object_store::Error as E;
        let path = path.to_owned();
        match error {
            E::NotFound { .. } => Self::NotFound { path },
            E::AlreadyExists { .. } => Self::AlreadyExists { path },
            E::Precondition { .. } | E::NotModified { .. } => Self::Changed { path },
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => Self::Denied {
                path,
                reason: innermost(error),
            },
            E::NotSupported { .. } | E::NotImplemented { .. } => Self::Unsupported {
                path,
                reason: innermost(error),
            },
            E::InvalidPath { .. } | E::UnknownConfigurationKey { .. } => Self::InvalidUrl {
                url: path,
                reason: innermost(error),
            },
            _ => Self::of_io(path, error),
        }
    }

    fn of_io(path: String, error: &object_store::Error) -> Self {
        match io_kind(error) {
            Some(io::ErrorKind::PermissionDenied) => Self::Denied {
                path,
                reason: innermost(error),
            },
            Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Self::NotFound { path },
            _ => Self::Unavailable {
                path,
                reason: innermost(error),
            },
        }
    }

    /// A file that contradicts itself.
    pub(crate) fn corrupt(path: &str, reason: impl std::fmt::Display) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// The last cause says what happened; those before it repeat it with the name of the store.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(error) = current.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = current.source();
    }
    None
}
