//! A store behind a network that is only modelled: time to the first byte, bandwidth, connections and
//! failures, in Tokio's time. Where that is paused, nothing sleeps, and how long a scan takes is exact.
//! For tests and benchmarks.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until};

/// Bodies arrive in pieces of this size.
const PIECE: usize = 64 * 1024;

/// The network in front of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Time until the first byte of an answer.
    pub first_byte: Duration,
    /// Bytes a second of one connection.
    pub bandwidth: u64,
    /// Requests that are answered at once; others wait.
    pub connections: usize,
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The store answers that it is too busy.
    Refused,
    /// The connection breaks after so many bytes of the body.
    Broken(usize),
    /// The first byte takes longer by this much.
    Slow(Duration),
}

/// A store behind a [`Network`].
#[derive(Debug)]
pub struct NetworkStore {
    inner: Arc<dyn ObjectStore>,
    network: Network,
    connections: Arc<Semaphore>,
    faults: Mutex<VecDeque<Fault>>,
    requests: Mutex<Vec<Option<Range<u64>>>>,
}

impl NetworkStore {
    /// `inner` behind `network`.
    pub fn new(inner: Arc<dyn ObjectStore>, network: Network) -> Self {
        Self {
            inner,
            connections: Arc::new(Semaphore::new(network.connections.max(1))),
            network,
            faults: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    /// Lets the next requests go wrong, one after the other.
    pub fn fail_next(&self, faults: impl IntoIterator<Item = Fault>) {
        let mut waiting = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(faults);
    }

    /// The ranges of all reads so far in the order of their arrival; `None` is a whole object.
    pub fn requests(&self) -> Vec<Option<Range<u64>>> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.clone()
    }

    fn arrived(&self, options: &GetOptions) -> Fault {
        let range = options.range.as_ref().map(|range| match range {
            object_store::GetRange::Bounded(range) => range.clone(),
            object_store::GetRange::Offset(start) => *start..u64::MAX,
            object_store::GetRange::Suffix(length) => u64::MAX - length..u64::MAX,
        });
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(range);
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.pop_front().unwrap_or(Fault::None)
    }

    fn body(
        &self,
        bytes: Bytes,
        fault: Fault,
        open: OwnedSemaphorePermit,
    ) -> BoxStream<'static, Result<Bytes>> {
        let bandwidth = self.network.bandwidth.max(1);
        let breaks = match fault {
            Fault::Broken(after) => Some(after),
            _ => None,
        };
        let began = Instant::now();
        let start = (bytes, 0, breaks, Some(open));
        let pieces = stream::unfold(start, move |(mut rest, sent, breaks, open)| async move {
            open.as_ref()?;
            if breaks.is_some_and(|after| sent >= after) {
                let broken = (Bytes::new(), sent, None, None);
                return Some((Err(error("the connection broke")), broken));
            }
            if rest.is_empty() {
                return None;
            }
            let most = breaks.map_or(PIECE, |after| PIECE.min(after - sent));
            let piece = rest.split_to(rest.len().min(most));
            let sent = sent + piece.len();
            // Since the first byte, so that what the clock rounds up does not add up.
            let micros = sent as u64 * 1_000_000 / bandwidth;
            sleep_until(began + Duration::from_micros(micros)).await;
            Some((Ok(piece), (rest, sent, breaks, open)))
        });
        pieces.boxed()
    }
}

fn error(text: &str) -> Error {
    Error::Generic {
        store: "network",
        source: text.into(),
    }
}

impl fmt::Display for NetworkStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} behind a network", self.inner)
    }
}

#[async_trait::async_trait]
impl ObjectStore for NetworkStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let fault = self.arrived(&options);
        let open = Arc::clone(&self.connections).acquire_owned().await;
        let open = open.map_err(|closed| error(&closed.to_string()))?;
        sleep(self.network.first_byte).await;
        match fault {
            Fault::Refused => return Err(error("slow down")),
            Fault::Slow(more) => sleep(more).await,
            Fault::None | Fault::Broken(_) => {}
        }
        let answer = self.inner.get_opts(location, options).await?;
        let (meta, range, attributes) = (
            answer.meta.clone(),
            answer.range.clone(),
            answer.attributes.clone(),
        );
        let body = self.body(answer.bytes().await?, fault, open);
        Ok(GetResult {
            payload: GetResultPayload::Stream(body),
            meta,
            range,
            attributes,
        })
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
