//! Opens stores by URL and keeps one per scheme and authority. Credentials and endpoints come from the
//! usual environment variables (`AWS_*`, `GOOGLE_*`, `AZURE_*`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};

use crate::clients::Clients;
use crate::error::StoreError;
use crate::location::Location;
use crate::profile::StoreProfile;
use crate::url::{self, Split};

/// All object stores of a process. Cheap to clone; clones share their stores.
#[derive(Clone)]
pub struct Stores {
    opened: Arc<Mutex<HashMap<String, Opened>>>,
    clients: Clients,
    remote: StoreProfile,
    local: StoreProfile,
    /// What every store is, when none may be asked.
    nothing: Option<Arc<dyn ObjectStore>>,
}

#[derive(Clone)]
struct Opened {
    store: Arc<dyn ObjectStore>,
    reader: Arc<dyn ObjectStore>,
    root: Arc<str>,
}

impl Stores {
    /// Stores that take their credentials and endpoints from the environment when they are first used.
    pub fn from_env() -> Self {
        Self {
            opened: Arc::default(),
            clients: Clients::default(),
            remote: StoreProfile::BALANCED,
            local: StoreProfile::LOCAL,
            nothing: None,
        }
    }

    /// Reads object stores as this profile says; files on this machine have their own.
    #[must_use]
    pub fn with_remote_profile(self, profile: StoreProfile) -> Self {
        Self {
            remote: profile,
            ..self
        }
    }

    /// Reads every store as this profile says, files on this machine too.
    #[must_use]
    pub fn with_profile(self, profile: StoreProfile) -> Self {
        Self {
            remote: profile,
            local: profile,
            ..self
        }
    }

    /// Stores that hold no file, for whoever decides what to read without reading it.
    pub fn without_files() -> Self {
        Self {
            nothing: Some(Arc::new(InMemory::new())),
            ..Self::from_env()
        }
    }

    /// Uses this store for a scheme and authority such as `memory://` instead of opening one.
    ///
    /// # Errors
    /// When the URL cannot be understood.
    pub fn with_store(self, url: &str, store: Arc<dyn ObjectStore>) -> Result<Self, StoreError> {
        let split = url::split(url).map_err(|reason| StoreError::InvalidUrl {
            url: url.to_owned(),
            reason,
        })?;
        let opened = Opened {
            reader: Arc::clone(&store),
            store,
            root: split.root().into(),
        };
        let mut known = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(split.root(), opened);
        drop(known);
        Ok(self)
    }

    /// The place that a URL or local path names. Nothing is asked of the store yet.
    ///
    /// Local paths, `file://`, `memory://`, `s3://`, `gs://`, `az://` and `abfs[s]://` are known.
    ///
    /// # Errors
    /// When the URL cannot be understood or the store's settings are wrong.
    pub fn resolve(&self, url: &str) -> Result<Location, StoreError> {
        let invalid = |reason: String| StoreError::InvalidUrl {
            url: url.to_owned(),
            reason,
        };
        let split = url::split(url).map_err(invalid)?;
        let path = Path::parse(&split.key).map_err(|error| invalid(error.to_string()))?;
        let opened = self.open(&split)?;
        let local = StoreProfile::is_local(&opened.root);
        Ok(Location {
            profile: if local { self.local } else { self.remote },
            url: format!("{}/{path}", opened.root),
            path,
            store: opened.store,
            reader: opened.reader,
            root: opened.root,
        })
    }

    /// Makes what the first request to S3 needs beside the network, so that it need not wait for it, where
    /// the environment speaks of S3. Blocks for some milliseconds, and sends nothing.
    pub fn warm_up(&self) {
        if std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
            // Whether the environment is enough is for whoever opens a store of its own to say.
            let bucket = Split {
                scheme: "s3".to_owned(),
                authority: "warm-up".to_owned(),
                key: String::new(),
            };
            let _ = open_remote(&bucket, no_retries(), &self.clients);
        }
    }

    fn open(&self, split: &Split) -> Result<Opened, StoreError> {
        let root = split.root();
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(&root) {
            return Ok(known.clone());
        }
        let failed = |error: object_store::Error| StoreError::InvalidUrl {
            url: root.clone(),
            reason: error.to_string(),
        };
        let fresh = match &self.nothing {
            Some(nothing) => Opened {
                store: Arc::clone(nothing),
                reader: Arc::clone(nothing),
                root: root.as_str().into(),
            },
            None => open_pair(split, &self.clients).map_err(failed)?,
        };
        opened.insert(root, fresh.clone());
        Ok(fresh)
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(opened.keys()).finish()
    }
}

fn open_pair(split: &Split, clients: &Clients) -> Result<Opened, object_store::Error> {
    let root = split.root().into();
    let same = |store: Arc<dyn ObjectStore>, root| Opened {
        reader: Arc::clone(&store),
        store,
        root,
    };
    match split.scheme.as_str() {
        "file" => Ok(same(Arc::new(LocalFileSystem::new()), root)),
        "memory" => Ok(same(Arc::new(InMemory::new()), root)),
        _ => Ok(Opened {
            store: open_remote(split, RetryConfig::default(), clients)?,
            reader: open_remote(split, no_retries(), clients)?,
            root,
        }),
    }
}

fn open_remote(
    split: &Split,
    retry: RetryConfig,
    clients: &Clients,
) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let url = split.root();
    match split.scheme.as_str() {
        "s3" => {
            let mut builder = AmazonS3Builder::from_env()
                .with_url(url)
                .with_retry(retry)
                .with_http_connector(clients.clone());
            if plain_http(&["AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"]) {
                builder = builder.with_allow_http(true);
            }
            Ok(Arc::new(builder.build()?))
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env()
                .with_url(url)
                .with_retry(retry)
                .with_http_connector(clients.clone());
            Ok(Arc::new(builder.build()?))
        }
        _ => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_url(url)
                .with_retry(retry)
                .with_http_connector(clients.clone());
            if plain_http(&["AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT"]) {
                builder = builder.with_allow_http(true);
            }
            Ok(Arc::new(builder.build()?))
        }
    }
}

/// Whoever sets an endpoint to `http://` means it; no second switch is asked for.
fn plain_http(variables: &[&str]) -> bool {
    let plain = |name: &&str| std::env::var(*name).is_ok_and(|url| url.starts_with("http://"));
    variables.iter().any(plain)
}

fn no_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_store_is_kept_per_scheme_and_authority() {
        let stores = Stores::from_env();
        let a = stores.resolve("memory:///a").unwrap();
        let b = stores.resolve("memory:///b/c").unwrap();
        assert!(Arc::ptr_eq(&a.store, &b.store));
        assert_eq!(b.at(a.path.clone()).url, "memory:///a");
        assert_eq!(a.join("x y/%z").unwrap().url, "memory:///a/x y/%z");
        assert_eq!(a.relative(&Path::from("a/x/y")), Some("x/y"));
        assert_eq!(a.relative(&Path::from("ab/x")), None);
        assert!(a.join("../b").is_err());
    }

    #[tokio::test]
    async fn odd_names_reach_the_file_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let stores = Stores::from_env();
        for name in [
            "a b",
            "100%",
            "a%20b",
            "k=ü€",
            "q?x#y",
            "plus+&'\"",
            "file.parquet#",
        ] {
            let path = folder.path().join("x=1 2").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, name).unwrap();
            let location = stores.resolve(path.to_str().unwrap()).unwrap();
            let again = stores.resolve(&location.url).unwrap();
            assert_eq!(again.url, location.url);
            let found = again
                .store
                .get_opts(&again.path, object_store::GetOptions::new())
                .await;
            let bytes = found.unwrap().bytes().await.unwrap();
            assert_eq!(bytes, name.as_bytes(), "{}", location.url);
        }
        let folder = stores.resolve(folder.path().to_str().unwrap()).unwrap();
        let listed = folder
            .store
            .list_with_delimiter(Some(&folder.path))
            .await
            .unwrap();
        let prefix = listed.common_prefixes.first().unwrap();
        assert_eq!(folder.relative(prefix), Some("x=1 2"));
    }
}
