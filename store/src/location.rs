//! A place in a store, and the version of what lies there.

use std::fmt;
use std::sync::Arc;

use chrono::SecondsFormat;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use crate::error::StoreError;
use crate::profile::StoreProfile;

/// A file, folder or prefix in a store. Cheap to clone.
#[derive(Clone)]
pub struct Location {
    /// The store, for listing and writing. Data files are read through a [`crate::Ledger`] only.
    pub store: Arc<dyn ObjectStore>,
    /// The name in the store.
    pub path: Path,
    /// The full URL in its one form.
    pub url: String,
    /// The same store without retries of its own, so that the ledger counts every request.
    pub(crate) reader: Arc<dyn ObjectStore>,
    /// The store's part of the URL.
    pub(crate) root: Arc<str>,
    /// How to read from this store.
    pub(crate) profile: StoreProfile,
}

impl Location {
    /// Another place in the same store, such as one that a listing gave.
    #[must_use]
    pub fn at(&self, path: Path) -> Self {
        Self {
            url: format!("{}/{path}", self.root),
            path,
            ..self.clone()
        }
    }

    /// The place `relative` (names joined by `/`) within this folder.
    ///
    /// # Errors
    /// When a name cannot be one in a store: empty, `.` or `..`.
    pub fn join(&self, relative: &str) -> Result<Self, StoreError> {
        let path = format!("{}/{relative}", self.path);
        let path = Path::parse(&path).map_err(|error| StoreError::InvalidUrl {
            url: format!("{}/{relative}", self.url),
            reason: error.to_string(),
        })?;
        Ok(self.at(path))
    }

    /// The names below this folder, or `None` when `path` lies elsewhere.
    pub fn relative<'a>(&self, path: &'a Path) -> Option<&'a str> {
        let rest = path.as_ref().strip_prefix(self.path.as_ref())?;
        if self.path.as_ref().is_empty() {
            return Some(rest);
        }
        rest.strip_prefix('/')
    }

    /// How to read from this store.
    pub fn profile(&self) -> StoreProfile {
        self.profile
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Location").field(&self.url).finish()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// Begins a version that is a modification time, so that it is never sent as an etag.
const MODIFIED: &str = "modified ";

/// The version of an object as [`model::DataFile`] keeps it: its etag or, where the store has none, its
/// modification time. Etags are kept without quotes and mark of weakness, because stores do not write
/// them alike everywhere: Azure lists them bare and answers reads with quoted ones.
pub fn version_of(meta: &ObjectMeta) -> String {
    if let Some(etag) = &meta.e_tag {
        return bare(etag).to_owned();
    }
    let time = meta.last_modified;
    format!(
        "{MODIFIED}{}",
        time.to_rfc3339_opts(SecondsFormat::Micros, true)
    )
}

/// The etag in a version, when it is one, as a request to the store of this URL names it: HTTP wants
/// quotes, and stores on this machine compare it as it is.
pub(crate) fn etag(url: &str, version: &str) -> Option<String> {
    if version.starts_with(MODIFIED) {
        return None;
    }
    let etag = bare(version);
    let here = url.starts_with("file:") || url.starts_with("memory:");
    Some(if here {
        etag.to_owned()
    } else {
        format!("\"{etag}\"")
    })
}

fn bare(etag: &str) -> &str {
    let strong = etag.strip_prefix("W/").unwrap_or(etag);
    let quoted = strong.strip_prefix('"');
    let unquoted = quoted.and_then(|rest| rest.strip_suffix('"'));
    unquoted.unwrap_or(strong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(etag: Option<&str>) -> String {
        version_of(&ObjectMeta {
            location: Path::from("x"),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: 1,
            e_tag: etag.map(str::to_owned),
            version: None,
        })
    }

    #[test]
    fn an_etag_is_the_same_version_however_a_store_writes_it() {
        for spelling in ["0x8D", "\"0x8D\"", "W/\"0x8D\""] {
            assert_eq!(version(Some(spelling)), "0x8D");
            let named = |url| etag(url, spelling);
            assert_eq!(named("az://c/x").as_deref(), Some("\"0x8D\""));
            assert_eq!(named("file:///x").as_deref(), Some("0x8D"));
        }
        assert_ne!(version(Some("\"0x8E\"")), version(Some("0x8D")));
    }

    #[test]
    fn a_modification_time_is_never_sent_as_an_etag() {
        assert_eq!(version(None), "modified 1970-01-01T00:00:00.000000Z");
        assert_eq!(etag("s3://b/x", &version(None)), None);
    }
}
