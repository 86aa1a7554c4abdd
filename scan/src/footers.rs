//! Footers of files seen before, and the page indexes read with them, bounded by memory. When many ask
//! for one footer at once, one of them loads it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use model::{LearnedFooter, ScanTask};
use store::footer::{Footer, FooterHint, first_range, read_footer};
use store::footer_columns::{is_too_large, join, knows_pages, split};
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
    /// Whether its footer came with the task.
    pub(crate) was_given: bool,
    /// The footer for the catalog, when it was read now and is wanted there.
    pub(crate) learned: Option<LearnedFooter>,
}

/// What the catalog would like to know of a footer that was read: all of it or, when there is too much,
/// that. Without the page indexes it waits for a scan that has use for these.
fn learn(task: &ScanTask, footer: &Footer) -> Option<LearnedFooter> {
    let version = task.file.version.as_ref().filter(|_| task.footer_wanted)?;
    let columns = split(footer).unwrap_or_default();
    if columns.is_empty() && !is_too_large(footer) {
        return None;
    }
    Some(LearnedFooter {
        path: task.file.path.clone(),
        size: task.file.size,
        version: version.clone(),
        columns,
    })
}

impl Opened {
    fn kept(file: Arc<OpenedFile>) -> Self {
        Self {
            file,
            was_kept: true,
            tail: Fetched::default(),
            read_bytes: 0,
            was_given: false,
            learned: None,
        }
    }

    /// A file whose footer came with its task. `None` when page indexes are missing from it: they would be
    /// read for every scan, while those that a file's own footer leads to are kept.
    ///
    /// # Errors
    /// When what came is no footer.
    pub(crate) fn given(path: &str, task: &ScanTask) -> Result<Option<Self>, ScanError> {
        let footer = join(path, &task.file, &task.footer)?;
        if !knows_pages(&footer) {
            return Ok(None);
        }
        Ok(Some(Self {
            file: Arc::new(OpenedFile::given(path, &footer)),
            was_kept: false,
            tail: Fetched::default(),
            read_bytes: 0,
            was_given: true,
            learned: None,
        }))
    }

    /// What came of the columns with the footer: all of a small file, and of others what lay in the tail.
    pub(crate) fn columns(&self) -> Fetched {
        if self.tail.begins_before(self.file.columns_end()) {
            self.tail.clone()
        } else {
            Fetched::default()
        }
    }
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
    cache: Arc<Cache>,
}

#[derive(Debug)]
struct Cache {
    most_bytes: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<Arc<FileKey>, Entry>,
    /// The files by when they were used last.
    by_use: BTreeMap<u64, Arc<FileKey>>,
    clock: u64,
    /// The sum over the files.
    bytes: u64,
}

#[derive(Debug)]
struct Entry {
    file: Arc<OnceCell<Arc<OpenedFile>>>,
    used: u64,
    /// Bytes of the file; none while it is loaded.
    bytes: u64,
}

impl Footers {
    /// A cache of at most this many bytes, as far as their size is known.
    pub(crate) fn new(most_bytes: u64) -> Self {
        let kept = Mutex::default();
        Self {
            cache: Arc::new(Cache { most_bytes, kept }),
        }
    }

    /// The file: its footer from here, as the task gives it, or read now. What a task gives is of its
    /// columns only, so it is not kept. It is not looked at where one request fetches all of the file.
    ///
    /// # Errors
    /// When the file cannot be read, or is no sound Parquet file.
    pub(crate) async fn open(
        &self,
        ledger: &Ledger,
        task: &ScanTask,
        hint: FooterHint,
    ) -> Result<Opened, ScanError> {
        let file = &task.file;
        let key = file.version.as_ref().map(|version| FileKey {
            path: ledger.url().to_owned(),
            size: file.size,
            version: version.clone(),
        });
        if let Some(file) = key.as_ref().and_then(|key| self.cache.kept_file(key)) {
            return Ok(Opened::kept(file));
        }
        let first = first_range(file.size, hint, &ledger.location().profile());
        let whole = hint.columns && first.start == 0;
        if !whole && !task.footer.is_empty() {
            match Opened::given(ledger.url(), task) {
                Ok(Some(given)) => return Ok(given),
                // It was only to spare a request.
                Ok(None) => {}
                Err(error) => tracing::warn!(path = ledger.url(), %error, "footer of a ticket"),
            }
        }
        let (mut tail, mut read_bytes, mut learned) = (Fetched::default(), 0, None);
        let load = async {
            let footer = read_footer(ledger, Some(file.size), hint).await?;
            let opened = OpenedFile::new(ledger.url(), &footer);
            learned = learn(task, &footer);
            (tail, read_bytes) = (footer.tail, footer.footer_length);
            Ok(opened)
        };
        let (file, was_kept) = match key {
            Some(key) => self.get(key, load).await?,
            None => (Arc::new(load.await?), false),
        };
        Ok(Opened {
            file,
            was_kept,
            tail,
            read_bytes,
            was_given: false,
            learned,
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
        let place = self.cache.place(key);
        let mut loaded = false;
        let file = place
            .cell
            .get_or_try_init(|| async {
                loaded = true;
                let account = Account {
                    cache: Arc::downgrade(&self.cache),
                    key: Arc::clone(&place.key),
                };
                let file = load.await?;
                Ok::<_, ScanError>(Arc::new(file.with_account(account)))
            })
            .await?;
        if loaded {
            self.cache.weigh(&place.key, file.memory());
        }
        Ok((Arc::clone(file), !loaded))
    }
}

impl Cache {
    /// A file that is here, which counts as used now.
    fn kept_file(&self, key: &FileKey) -> Option<Arc<OpenedFile>> {
        let mut kept = self.kept();
        let here = kept.files.get(key)?.file.get().cloned()?;
        kept.touch(key);
        Some(here)
    }

    /// The place of a file, which counts as used now.
    fn place(&self, key: FileKey) -> Place<'_> {
        let mut kept = self.kept();
        let known = kept
            .files
            .get_key_value(&key)
            .map(|(key, _)| Arc::clone(key));
        let key = known.unwrap_or_else(|| Arc::new(key));
        let entry = kept.files.entry(Arc::clone(&key)).or_insert_with(|| Entry {
            file: Arc::default(),
            // Of no file: the clock is at one when the first is used.
            used: 0,
            bytes: 0,
        });
        let cell = Arc::clone(&entry.file);
        kept.touch(&key);
        drop(kept);
        Place {
            cache: self,
            key,
            cell,
        }
    }

    /// Notes how large a file is, and forgets the files that were not used for longest until the rest
    /// fits, but never this one.
    fn weigh(&self, key: &FileKey, bytes: u64) {
        let mut kept = self.kept();
        let Some(entry) = kept.files.get_mut(key) else {
            return;
        };
        let before = std::mem::replace(&mut entry.bytes, bytes);
        kept.bytes = kept.bytes - before + bytes;
        while kept.bytes > self.most_bytes {
            let mut oldest_first = kept.by_use.values();
            let oldest = oldest_first.find(|other| {
                other.as_ref() != key && kept.files.get(*other).is_some_and(|file| file.bytes > 0)
            });
            let Some(oldest) = oldest.cloned() else {
                return;
            };
            kept.forget(&oldest);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Notes that a file is used now.
    fn touch(&mut self, key: &FileKey) {
        self.clock += 1;
        let Some((key, _)) = self.files.get_key_value(key) else {
            return;
        };
        let key = Arc::clone(key);
        if let Some(entry) = self.files.get_mut(&key) {
            let before = std::mem::replace(&mut entry.used, self.clock);
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.clock, key);
    }

    fn forget(&mut self, key: &FileKey) {
        if let Some(entry) = self.files.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

/// One caller's hold on the place of a file. When the last caller lets go of a place that no file came
/// to, because loading failed or nobody waits for it any more, the place goes too.
struct Place<'a> {
    cache: &'a Cache,
    key: Arc<FileKey>,
    cell: Arc<OnceCell<Arc<OpenedFile>>>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.cell.initialized() {
            return;
        }
        let mut kept = self.cache.kept();
        let entry = kept.files.get(&self.key);
        // Held by the entry and here; places are taken under the lock, so that no other can come.
        let last = entry.is_some_and(|entry| {
            Arc::ptr_eq(&entry.file, &self.cell) && Arc::strong_count(&self.cell) == 2
        });
        if last {
            kept.forget(&self.key);
        }
    }
}

/// Where a kept file says that it has grown.
#[derive(Debug)]
pub(crate) struct Account {
    cache: Weak<Cache>,
    key: Arc<FileKey>,
}

impl Account {
    /// Notes the file's bytes of memory.
    pub(crate) fn weigh(&self, bytes: u64) {
        if let Some(cache) = self.cache.upgrade() {
            cache.weigh(&self.key, bytes);
        }
    }
}

#[cfg(test)]
#[path = "footers_tests.rs"]
mod tests;
