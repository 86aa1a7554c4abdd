//! Units of row groups whose bytes are fetched together: coalesced into requests that are all sent at
//! once, as far as connections and memory allow. A row group is decoded as soon as its own bytes are
//! there.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use store::{Fetched, Ledger, StoreError, coalesce};
use tokio::sync::Semaphore;

use crate::decoding::BATCH_BYTES;
use crate::error::ScanError;
use crate::memory::{Held, Memory};
use crate::read_plan::{ChunkRead, RowGroupRead};
use crate::streamed::Streamed;

/// What a unit takes beside the bytes that were fetched: the batch that is decoded from them.
pub(crate) const WORKING_BYTES: u64 = BATCH_BYTES;

/// A request before it is sent.
#[derive(Clone, Debug)]
struct Planned {
    range: Range<u64>,
    /// What it is for, in the words of the I/O log.
    why: String,
}

/// Something that needs bytes of the file.
pub(crate) trait Reads {
    /// The chunks that it reads.
    fn chunks(&self) -> &[ChunkRead];
}

/// Sends the requests of one task.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    ledger: Arc<Ledger>,
    /// What need not be asked for.
    here: Fetched,
    memory: Memory,
    connections: Arc<Semaphore>,
}

/// Some of a task's row groups, and their bytes as they arrive.
#[derive(Debug)]
pub(crate) struct Unit<T> {
    pub(crate) reads: VecDeque<T>,
    requests: Vec<Request>,
    /// What was there before.
    here: Fetched,
    /// Bounds the bytes of all scans while the unit is there.
    _held: Held,
}

#[derive(Debug)]
struct Request {
    range: Range<u64>,
    bytes: Arriving,
}

#[derive(Debug)]
enum Arriving {
    UnderWay(SpawnedTask<Result<Bytes, StoreError>>),
    Here(Bytes),
    /// It failed, and the task with it.
    Lost,
}

impl Fetcher {
    pub(crate) fn new(ledger: Arc<Ledger>, here: Fetched, memory: Memory) -> Self {
        let connections = ledger.location().profile().parallel.max(1);
        Self {
            connections: Arc::new(Semaphore::new(connections)),
            ledger,
            here,
            memory,
        }
    }

    /// The wave of what depends on everything that was read so far.
    pub(crate) fn next_wave(&self) -> u64 {
        self.ledger.next_wave()
    }

    /// Sends the requests for all of `reads`, once there is memory for them.
    ///
    /// # Errors
    /// When other scans hold that memory for too long.
    pub(crate) async fn fetch<T: Reads>(
        &self,
        reads: Vec<T>,
        wave: u64,
        name: impl Fn(usize) -> String,
    ) -> Result<Unit<T>, ScanError> {
        let wanted = self.requests(&reads, name);
        let held = self.memory.hold(size(&wanted)).await?;
        Ok(self.send(reads, wanted, held, wave))
    }

    /// The same, or `reads` back, when there is no memory now: whoever waits for some must not wait for
    /// what nobody needs yet.
    pub(crate) fn try_fetch<T: Reads>(
        &self,
        reads: Vec<T>,
        wave: u64,
        name: impl Fn(usize) -> String,
    ) -> Result<Unit<T>, Vec<T>> {
        let wanted = self.requests(&reads, name);
        match self.memory.try_hold(size(&wanted)) {
            Some(held) => Ok(self.send(reads, wanted, held, wave)),
            None => Err(reads),
        }
    }

    /// Prepares to read a row group as it is decoded, once there is memory for that: about `most_bytes` at a
    /// time.
    ///
    /// # Errors
    /// When other scans hold that memory for too long.
    pub(crate) async fn stream(
        &self,
        read: &RowGroupRead,
        (wave, most_bytes): (u64, u64),
        name: impl Fn(usize) -> String,
    ) -> Result<Streamed, ScanError> {
        let (store, connections) = ((&self.ledger, &self.memory), &self.connections);
        Streamed::start(store, connections, read, (wave, most_bytes), name).await
    }

    fn requests<T: Reads>(&self, reads: &[T], name: impl Fn(usize) -> String) -> Vec<Planned> {
        let chunks = reads.iter().flat_map(Reads::chunks);
        requests(chunks, &self.here, &self.ledger, name)
    }

    fn send<T>(&self, reads: Vec<T>, wanted: Vec<Planned>, held: Held, wave: u64) -> Unit<T> {
        let requests = wanted.into_iter().map(|wanted| {
            let ledger = Arc::clone(&self.ledger);
            let connections = Arc::clone(&self.connections);
            let range = wanted.range.clone();
            let read = async move {
                // Never closed; and without a permit the request may be sent all the same.
                let _connection = connections.acquire_owned().await.ok();
                ledger.read_in(wave, wanted.range, &wanted.why).await
            };
            Request {
                range,
                bytes: Arriving::UnderWay(SpawnedTask::spawn(read)),
            }
        });
        Unit {
            requests: requests.collect(),
            here: self.here.clone(),
            reads: reads.into(),
            _held: held,
        }
    }
}

impl<T> Unit<T> {
    /// The bytes of some chunks, once they are all there.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) async fn bytes(&mut self, chunks: &[ChunkRead]) -> Result<Fetched, ScanError> {
        let mut fetched = self.here.clone();
        let needed = |range: &Range<u64>| {
            let ranges = chunks.iter().flat_map(|chunk| &chunk.ranges);
            ranges
                .into_iter()
                .any(|wanted| wanted.start < range.end && range.start < wanted.end)
        };
        for request in self
            .requests
            .iter_mut()
            .filter(|request| needed(&request.range))
        {
            let bytes = request.bytes.arrive().await?;
            fetched.push(request.range.start, bytes);
        }
        Ok(fetched)
    }
}

impl Arriving {
    async fn arrive(&mut self) -> Result<Bytes, ScanError> {
        let bytes = match std::mem::replace(self, Self::Lost) {
            Self::Here(bytes) => bytes,
            Self::UnderWay(task) => match task.join_unwind().await {
                Ok(bytes) => bytes?,
                // Only a runtime that shuts down cancels it.
                Err(error) => return Err(ScanError::Internal(error.to_string())),
            },
            Self::Lost => return Err(ScanError::Internal("a request failed before".to_owned())),
        };
        *self = Self::Here(bytes.clone());
        Ok(bytes)
    }
}

/// The memory that a unit takes.
fn size(wanted: &[Planned]) -> u64 {
    let fetched = wanted
        .iter()
        .map(|wanted| wanted.range.end - wanted.range.start);
    fetched.sum::<u64>() + WORKING_BYTES
}

/// The requests for what is not `here` of some chunks, and what each is for. Pure but for the store's
/// profile.
fn requests<'a>(
    chunks: impl Iterator<Item = &'a ChunkRead>,
    here: &Fetched,
    ledger: &Ledger,
    name: impl Fn(usize) -> String,
) -> Vec<Planned> {
    let chunks: Vec<&ChunkRead> = chunks.collect();
    let ranges = chunks.iter().flat_map(|chunk| &chunk.ranges);
    let missing = ranges.filter(|range| here.get(range).is_none()).cloned();
    let requests = coalesce(missing.collect(), &ledger.location().profile());
    let mut parts: Vec<Vec<String>> = vec![Vec::new(); requests.len()];
    for chunk in chunks {
        for (range, what) in chunk.described() {
            let part = format!("{what} of {}", name(chunk.leaf));
            let first = requests.partition_point(|request| request.end <= range.start);
            let here = requests.iter().zip(&mut parts).skip(first);
            for (_, parts) in here.take_while(|(request, _)| request.start < range.end) {
                if !parts.contains(&part) {
                    parts.push(part.clone());
                }
            }
        }
    }
    let wanted = requests.into_iter().zip(parts);
    wanted
        .map(|(range, parts)| Planned {
            range,
            why: parts.join(", "),
        })
        .collect()
}
