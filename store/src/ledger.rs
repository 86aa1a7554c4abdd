//! The one way to read a data file: every request, byte and wave is counted. How one request is sent,
//! again if need be, is `request.rs`.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use model::Counts;
use object_store::{GetRange, GetResult};
use tokio::time::Instant;

use crate::error::StoreError;
use crate::location::{Location, version_of};
use crate::request::{Answer, Sent};

/// One request in the I/O log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bytes asked for. Of a suffix request, those that came.
    pub range: Range<u64>,
    /// What they are for.
    pub why: String,
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
    hedges: u64,
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

    /// The wave of a read that depends on everything that has been read so far.
    pub fn next_wave(&self) -> u64 {
        self.state().depth + 1
    }

    /// Reads ranges as they are, all in one wave, and gives their bytes in the given order. Coalescing
    /// them first is the caller's.
    ///
    /// # Errors
    /// When a request fails for good, the file has changed, or it ends before a range does.
    pub async fn read(&self, ranges: Vec<Range<u64>>, why: &str) -> Result<Vec<Bytes>, StoreError> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let wave = Wave::start(self, self.next_wave());
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
    pub async fn read_one(&self, range: Range<u64>, why: &str) -> Result<Bytes, StoreError> {
        self.read_in(self.next_wave(), range, why).await
    }

    /// Reads one range in a wave that was decided before: what a read waits for beside data, such as
    /// memory or a free connection, makes no further wave.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub async fn read_in(
        &self,
        wave: u64,
        range: Range<u64>,
        why: &str,
    ) -> Result<Bytes, StoreError> {
        let wave = Wave::start(self, wave);
        self.read_range(range, why, wave.number).await
    }

    /// Reads up to `length` bytes at the end of a file whose size is not known.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub async fn read_suffix(&self, length: u64, why: &str) -> Result<Suffix, StoreError> {
        let wave = Wave::start(self, self.next_wave());
        let wanted = Some(GetRange::Suffix(length));
        let answer = self.send(wanted, 0..0, why, wave.number).await?;
        Ok(Suffix {
            size: answer.size,
            offset: answer.start,
            bytes: answer.bytes,
        })
    }

    /// Reads a whole file, such as a metadata file whose size is not known.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub async fn read_whole(&self, why: &str) -> Result<Bytes, StoreError> {
        let wave = Wave::start(self, self.next_wave());
        Ok(self.send(None, 0..0, why, wave.number).await?.bytes)
    }

    /// Reads a range, in parts at once when it is longer than a request should be.
    async fn read_range(
        &self,
        range: Range<u64>,
        why: &str,
        wave: u64,
    ) -> Result<Bytes, StoreError> {
        let parts = self.location.profile().parts(&range);
        let reads = parts
            .into_iter()
            .map(|part| self.read_part(part, why, wave));
        let mut parts = futures::future::try_join_all(reads).await?;
        Ok(match parts.len() {
            0 => Bytes::new(),
            1 => parts.swap_remove(0),
            _ => parts.concat().into(),
        })
    }

    async fn read_part(
        &self,
        range: Range<u64>,
        why: &str,
        wave: u64,
    ) -> Result<Bytes, StoreError> {
        let wanted = Some(GetRange::Bounded(range.clone()));
        let answer = self.send(wanted, range.clone(), why, wave).await?;
        if answer.bytes.len() as u64 != range.end - range.start {
            return Err(StoreError::Truncated {
                path: self.location.url.clone(),
                reason: format!("it ends at byte {}, not {}", answer.size, range.end),
            });
        }
        Ok(answer.bytes)
    }

    async fn send(
        &self,
        wanted: Option<GetRange>,
        range: Range<u64>,
        why: &str,
        wave: u64,
    ) -> Result<Answer, StoreError> {
        let entry = self.note_request(range, why, wave);
        let answer = Sent::new(self, entry).answer(wanted).await?;
        self.note_answer(entry, &answer);
        Ok(answer)
    }

    /// Stores that ignore conditions still say which version they sent; `false` when it is not the one
    /// that was expected.
    pub(crate) fn is_expected(&self, answer: &GetResult) -> bool {
        let seen = version_of(&answer.meta);
        let mut state = self.state();
        *state.version.get_or_insert_with(|| seen.clone()) == seen
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
            hedges: state.hedges,
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

    fn note_request(&self, range: Range<u64>, why: &str, wave: u64) -> usize {
        let mut state = self.state();
        state.requests += 1;
        state.entries.push(Entry {
            range,
            why: why.to_owned(),
            wave,
            retries: 0,
        });
        state.entries.len() - 1
    }

    pub(crate) fn note_retry(&self, entry: usize) {
        let mut state = self.state();
        state.requests += 1;
        state.retries += 1;
        if let Some(entry) = state.entries.get_mut(entry) {
            entry.retries += 1;
        }
    }

    pub(crate) fn note_hedge(&self) {
        let mut state = self.state();
        state.requests += 1;
        state.hedges += 1;
    }

    pub(crate) fn note_bytes(&self, bytes: usize) {
        self.state().bytes += bytes as u64;
    }

    fn note_answer(&self, entry: usize, answer: &Answer) {
        if let Some(entry) = self.state().entries.get_mut(entry)
            && entry.range.is_empty()
        {
            entry.range = answer.start..answer.start + answer.bytes.len() as u64;
        }
    }
}

/// A read under way in a wave; it ends when this is dropped, also when its reader goes away.
struct Wave<'a> {
    ledger: &'a Ledger,
    number: u64,
}

impl<'a> Wave<'a> {
    fn start(ledger: &'a Ledger, number: u64) -> Self {
        let mut state = ledger.state();
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
