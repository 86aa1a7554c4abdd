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
            _ if is_range(error) => Self::Truncated {
                path,
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

/// Whether the same request may succeed when it is sent again: nothing that is known to last is wrong.
pub(crate) fn passes(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    match error {
        E::Generic { .. } | E::JoinError { .. } => {}
        _ => return false,
    }
    match status(error) {
        Some(status) => matches!(status, 408 | 425 | 429 | 500..=599),
        None => !is_range(error),
    }
}

/// Whether the file is shorter than what was asked of it. Stores have no error of their own for it, nor
/// is the one they wrap public.
fn is_range(error: &object_store::Error) -> bool {
    const SHORTER: [&str; 3] = [
        "Wanted range starting at",
        "Requested range was invalid",
        "Out of range of file",
    ];
    matches!(error, object_store::Error::Generic { .. })
        && (status(error) == Some(416)
            || SHORTER
                .iter()
                .any(|text| causes(error).any(|cause| cause.to_string().contains(text))))
}

/// The HTTP status that a store answered with; the crate only says it in words.
fn status(error: &object_store::Error) -> Option<u16> {
    causes(error).find_map(|cause| {
        let text = cause.to_string();
        let (_, after) = text.split_once("non-2xx status code: ")?;
        after.get(..3)?.parse().ok()
    })
}

/// The error and what caused it, to the last.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    fn source<'a>(cause: &&'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
        (*cause).source()
    }
    std::iter::successors(Some(error), source)
}

/// The last cause says what happened; those before it repeat it with the name of the store.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let last = causes(error).last();
    last.map_or_else(|| error.to_string(), ToString::to_string)
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut causes = causes(error);
    causes.find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()))
}

#[cfg(test)]
mod tests {
    use object_store::path::Path;
    use object_store::{ObjectStoreExt, PutPayload};

    use super::*;

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic {
            store: "S3",
            source: text.into(),
        }
    }

    #[test]
    fn only_what_may_pass_is_worth_another_request() {
        let answered =
            |status| generic(&format!("Server returned non-2xx status code: {status}: x"));
        for status in [
            "500 Internal Server Error",
            "503",
            "429 Too Many Requests",
            "408",
        ] {
            assert!(passes(&answered(status)), "{status}");
        }
        for status in ["400 Bad Request", "404", "416 Range Not Satisfiable", "301"] {
            assert!(!passes(&answered(status)), "{status}");
        }
        assert!(passes(&generic("connection reset by peer")));
        let source = || "x".into();
        let path = || "x".to_owned();
        for lasting in [
            object_store::Error::NotFound {
                path: path(),
                source: source(),
            },
            object_store::Error::PermissionDenied {
                path: path(),
                source: source(),
            },
            object_store::Error::Precondition {
                path: path(),
                source: source(),
            },
        ] {
            assert!(!passes(&lasting), "{lasting}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_shorter_than_it_was_is_truncated() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), "short").unwrap();
        let memory = object_store::memory::InMemory::new();
        let path = Path::from("x");
        memory
            .put(&path, PutPayload::from_static(b"short"))
            .await
            .unwrap();
        let local = object_store::local::LocalFileSystem::new_with_prefix(dir.path()).unwrap();
        let errors = [
            memory.get_range(&path, 10..20).await.unwrap_err(),
            local.get_range(&path, 10..20).await.unwrap_err(),
            generic("Server returned non-2xx status code: 416 Range Not Satisfiable: "),
        ];
        for error in errors {
            assert!(!passes(&error), "{error}");
            let error = StoreError::of("s3://b/x", &error);
            assert!(matches!(error, StoreError::Truncated { .. }), "{error:?}");
        }
    }
}
