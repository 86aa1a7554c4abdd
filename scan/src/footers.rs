//! Footers of files seen before, and the page indexes read with them, bounded by memory. When many ask
//! for one footer at once, one of them loads it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::DataFile;
use store::footer::{FooterHint, read_footer};
use store::{Fetched, Ledger};
use tokio::sync::OnceCell;

use crate::error::ScanError;
use crate::opened::OpenedFile;

/// An opened file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: Arc<OpenedFile>,
    /// Whether its footer was here already.
    pub(crate) was_kept: bool,
    /// Bytes that came with the footer when it was read now.
    pub(crate) tail: Fetched,
    /// Bytes of the footer when it was read now.
    pub(crate) read_bytes: u64,
}

/// What a file is known by. A file without a version is never kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FileKey {
    path: String,
    size: u64,
    version: String,
}

/// Footers by file.
#[derive(Debug)]
pub(crate) struct Footers {
    most_bytes: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<FileKey, Entry>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Entry {
    file: Arc<OnceCell<Arc<OpenedFile>>>,
    used: u64,
}

impl Footers {
    /// A cache of at most this many bytes, as far as their size is known.
    pub(crate) fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes,
            kept: Mutex::default(),
        }
    }

    /// The file: its footer from here, or read now.
    ///
    /// # Errors
    /// When the file cannot be read, or is no sound Parquet file.
    pub(crate) async fn open(
        &self,
        ledger: &Ledger,
        file: &DataFile,
        hint: FooterHint,
    ) -> Result<Opened, ScanError> {
        let (mut tail, mut read_bytes) = (Fetched::default(), 0);
        let load = async {
            let footer = read_footer(ledger, Some(file.size), hint).await?;
            let opened = OpenedFile::new(ledger.url(), &footer);
            (tail, read_bytes) = (footer.tail, footer.footer_length);
            Ok(opened)
        };
        let (file, was_kept) = match &file.version {
            None => (Arc::new(load.await?), false),
            Some(version) => {
                let key = FileKey {
                    path: ledger.url().to_owned(),
                    size: file.size,
                    version: version.clone(),
                };
                self.get(key, load).await?
            }
        };
        Ok(Opened {
            file,
            was_kept,
            tail,
            read_bytes,
        })
    }

    /// The file, and whether it was there already. `load` runs unless it was, or unless another caller
    /// is loading it already and succeeds.
    ///
    /// # Errors
    /// Those of `load`; nothing is kept then.
    async fn get(
        &self,
        key: FileKey,
        load: impl Future<Output = Result<OpenedFile, ScanError>>,
    ) -> Result<(Arc<OpenedFile>, bool), ScanError> {
        let cell = self.cell(&key);
        let mut loaded = false;
        let file = cell
            .get_or_try_init(|| async {
                loaded = true;
                load.await.map(Arc::new)
            })
            .await;
        match file {
            Ok(file) => {
                if loaded {
                    self.make_room(&key);
                }
                Ok((Arc::clone(file), !loaded))
            }
            Err(error) => {
                self.forget_empty(&key);
                Err(error)
            }
        }
    }

    fn cell(&self, key: &FileKey) -> Arc<OnceCell<Arc<OpenedFile>>> {
        let mut kept = self.kept();
        kept.clock += 1;
        let clock = kept.clock;
        let entry = kept.files.entry(key.clone()).or_default();
        entry.used = clock;
        Arc::clone(&entry.file)
    }

    /// Forgets the files that were not used for longest until the rest fits, but never `newest`.
    fn make_room(&self, newest: &FileKey) {
        let mut kept = self.kept();
        let size = |entry: &Entry| entry.file.get().map_or(0, |file| file.memory());
        let mut bytes: u64 = kept.files.values().map(size).sum();
        while bytes > self.most_bytes {
            let others = kept.files.iter().filter(|(key, _)| *key != newest);
            let loaded = others.filter(|(_, entry)| entry.file.initialized());
            let Some((oldest, freed)) = loaded
                .min_by_key(|(_, entry)| entry.used)
                .map(|(key, entry)| (key.clone(), size(entry)))
            else {
                return;
            };
            kept.files.remove(&oldest);
            bytes -= freed;
        }
    }

    fn forget_empty(&self, key: &FileKey) {
        let mut kept = self.kept();
        if kept
            .files
            .get(key)
            .is_some_and(|entry| !entry.file.initialized())
        {
            kept.files.remove(key);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
