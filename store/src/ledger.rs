//! The one way to read a data file: every request, byte and wave is counted.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use model::Counts;
use object_store::{GetOptions, GetRange, GetResult};

use crate::error::StoreError;
use crate::location::{Location, etag, version_of};

/// The pause before the first retry; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// One request in the I/O log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bytes asked for. Of a suffix request, those that came.
    pub range: Range<u64>,
    /// What they are for.
    pub why: &'static str,
    /// The wave, from 1.
    pub wave: u64,
    /// How often the request was sent again.
    pub retries: u32,
}

/// Reads one file and counts what that takes.
#[derive(Debug)]
pub struct Ledger {
    location: Location,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    requests: u64,
    retries: u64,
    bytes: u64,
    /// The deepest wave that has ended; a read that starts now may depend on it.
    depth: u64,
    deepest_started: u64,
    under_way: u64,
    busy_since: Option<Instant>,
    busy: Duration,
    version: Option<String>,
}

/// The end of a file, as a suffix request gave it.
#[derive(Clone, Debug)]
pub struct Suffix {
    /// The file's size.
    pub size: u64,
    /// Where `bytes` begin.
    pub offset: u64,
    /// The bytes to the end of the file.
    pub bytes: Bytes,
}

impl Ledger {
    /// A ledger with nothing in it. All its reads must see one version of the file: the first that a
    /// read sees, unless [`Ledger::expecting`] names it.
    pub fn new(location: Location) -> Self {
        Self {
            location,
            state: Mutex::default(),
        }
    }

    /// Demands the version that the catalog planned with; another is [`StoreError::Changed`].
    #[must_use]
    pub fn expecting(self, version: Option<String>) -> Self {
        self.state().version = version;
        self
    }

    /// Where the file lies.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The file's URL, for messages.
    pub fn url(&self) -> &str {
        &self.location.url
    }

    /// The version of the file, once it is demanded or a read has seen it.
    pub fn version(&self) -> Option<String> {
        self.state().version.clone()
    }

    /// Reads ranges as they are, all in one wave, and gives their bytes in the given order. Coalescing
    /// them first is the caller's.
    ///
    /// # Errors
    /// When a request fails for good, the file has changed, or it ends before a range does.
    pub async fn read(
        &self,
        ranges: Vec<Range<u64>>,
        why: &'static str,
    ) -> Result<Vec<Bytes>, StoreError> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let wave = Wave::start(self);
        let reads: Vec<_> = ranges
            .into_iter()
            .map(|range| self.read_range(range, why, wave.number))
            .collect();
        let parallel = self.location.profile().parallel;
        stream::iter(reads).buffered(parallel).try_collect().await
    }

    /// Reads one range, as a wave of its own.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub async fn read_one(
        &self,
        range: Range<u64>,
        why: &'static str,
    ) -> Result<Bytes, StoreError> {
        let wave = Wave::start(self);
        self.read_range(range, why, wave.number).await
    }

    /// Reads up to `length` bytes at the end of a file whose size is not known.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub async fn read_suffix(&self, length: u64, why: &'static str) -> Result<Suffix, StoreError> {
        let wave = Wave::start(self);
        let (range, size, bytes) = self
            .send(Some(&GetRange::Suffix(length)), 0..0, why, wave.number)
            .await?;
        Ok(Suffix {
            size,
            offset: range.start,
            bytes,
        })
    }

    /// Reads a whole file, such as a metadata file whose size is not known.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub async fn read_whole(&self, why: &'static str) -> Result<Bytes, StoreError> {
        let wave = Wave::start(self);
        let (_, _, bytes) = self.send(None, 0..0, why, wave.number).await?;
        Ok(bytes)
    }

    async fn read_range(
        &self,
        range: Range<u64>,
        why: &'static str,
        wave: u64,
    ) -> Result<Bytes, StoreError> {
        if range.start >= range.end {
            return Ok(Bytes::new());
        }
        let wanted = GetRange::Bounded(range.clone());
        let (_, size, bytes) = self.send(Some(&wanted), range.clone(), why, wave).await?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(StoreError::Truncated {
                path: self.location.url.clone(),
                reason: format!("it ends at byte {size}, not {}", range.end),
            });
        }
        Ok(bytes)
    }

    /// Sends one request, again after a passing failure, and counts all of it.
    async fn send(
        &self,
        wanted: Option<&GetRange>,
        range: Range<u64>,
        why: &'static str,
        wave: u64,
    ) -> Result<(Range<u64>, u64, Bytes), StoreError> {
        let entry = self.note_request(range, why, wave);
        let mut pause = FIRST_PAUSE;
        let mut attempt = 0;
        loop {
            match self.get(wanted).await {
                Ok((range, size, bytes)) => {
                    self.note_answer(entry, &range, bytes.len());
                    return Ok((range, size, bytes));
                }
                Err(Failure::Store(error))
                    if attempt < self.location.profile().retries && passes(&error) =>
                {
                    attempt += 1;
                    tracing::debug!(path = %self.location.url, %error, attempt, "request is sent again");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    self.note_retry(entry);
                }
                Err(Failure::Store(error)) => {
                    return Err(StoreError::of(&self.location.url, &error));
                }
                Err(Failure::Changed) => {
                    return Err(StoreError::Changed {
                        path: self.location.url.clone(),
                    });
                }
            }
        }
    }

    async fn get(&self, wanted: Option<&GetRange>) -> Result<(Range<u64>, u64, Bytes), Failure> {
        let version = self.version();
        let url = &self.location.url;
        let options = GetOptions {
            range: wanted.cloned(),
            if_match: version.as_deref().and_then(|version| etag(url, version)),
            ..GetOptions::default()
        };
        let store = &self.location.reader;
        let answer = store.get_opts(&self.location.path, options).await?;
        self.check_version(version, &answer)?;
        let (range, size) = (answer.range.clone(), answer.meta.size);
        Ok((range, size, answer.bytes().await?))
    }

    /// Stores that ignore conditions still say which version they sent.
    fn check_version(&self, expected: Option<String>, answer: &GetResult) -> Result<(), Failure> {
        let seen = version_of(&answer.meta);
        match expected {
            Some(expected) if expected != seen => Err(Failure::Changed),
            Some(_) => Ok(()),
            None => {
                let mut state = self.state();
                match &state.version {
                    Some(first) if *first != seen => Err(Failure::Changed),
                    Some(_) => Ok(()),
                    None => {
                        state.version = Some(seen);
                        Ok(())
                    }
                }
            }
        }
    }

    /// The counts so far; those that are not about requests are zero.
    pub fn counts(&self) -> Counts {
        let state = self.state();
        let running = state
            .busy_since
            .map_or(Duration::ZERO, |since| since.elapsed());
        Counts {
            requests: state.requests,
            retries: state.retries,
            waves: state.deepest_started,
            bytes_fetched: state.bytes,
            fetch_ms: u64::try_from((state.busy + running).as_millis()).unwrap_or(u64::MAX),
            ..Counts::default()
        }
    }

    /// The I/O log, in the order in which requests were sent.
    pub fn entries(&self) -> Vec<Entry> {
        self.state().entries.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_request(&self, range: Range<u64>, why: &'static str, wave: u64) -> usize {
        let mut state = self.state();
        state.requests += 1;
        state.entries.push(Entry {
            range,
            why,
            wave,
            retries: 0,
        });
        state.entries.len() - 1
    }

    fn note_retry(&self, entry: usize) {
        let mut state = self.state();
        state.requests += 1;
        state.retries += 1;
        if let Some(entry) = state.entries.get_mut(entry) {
            entry.retries += 1;
        }
    }

    fn note_answer(&self, entry: usize, range: &Range<u64>, bytes: usize) {
        let mut state = self.state();
        state.bytes += bytes as u64;
        if let Some(entry) = state.entries.get_mut(entry)
            && entry.range.is_empty()
        {
            entry.range = range.clone();
        }
    }
}

enum Failure {
    Store(object_store::Error),
    Changed,
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        Self::Store(error)
    }
}

/// Whether the same request may succeed when it is sent again.
fn passes(error: &object_store::Error) -> bool {
    matches!(
        error,
        object_store::Error::Generic { .. } | object_store::Error::JoinError { .. }
    )
}

/// A wave under way; it ends when this is dropped, also when its reader goes away.
struct Wave<'a> {
    ledger: &'a Ledger,
    number: u64,
}

impl<'a> Wave<'a> {
    fn start(ledger: &'a Ledger) -> Self {
        let mut state = ledger.state();
        let number = state.depth + 1;
        state.deepest_started = state.deepest_started.max(number);
        if state.under_way == 0 {
            state.busy_since = Some(Instant::now());
        }
        state.under_way += 1;
        Self { ledger, number }
    }
}

impl Drop for Wave<'_> {
    fn drop(&mut self) {
        let mut state = self.ledger.state();
        state.depth = state.depth.max(self.number);
        state.under_way -= 1;
        if state.under_way == 0
            && let Some(since) = state.busy_since.take()
        {
            state.busy += since.elapsed();
        }
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
