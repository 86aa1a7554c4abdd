//! The streams that this planner sends at the moment, by query, so that a query can be cancelled.
//! What a client fetches from Flight servers does not pass here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::QueryId;
use tokio_util::sync::CancellationToken;

type Streams = HashMap<QueryId, HashMap<u64, CancellationToken>>;

/// All streams that run; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<Registry>>);

#[derive(Debug, Default)]
struct Registry {
    streams: Streams,
    next: u64,
}

/// One stream, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Entry {
    running: Running,
    query: QueryId,
    number: u64,
    token: CancellationToken,
}

impl Running {
    /// Adds a stream of a query.
    pub(crate) fn enter(&self, query: &QueryId) -> Entry {
        let token = CancellationToken::new();
        let mut registry = self.lock();
        let number = registry.next;
        registry.next += 1;
        registry
            .streams
            .entry(query.clone())
            .or_default()
            .insert(number, token.clone());
        Entry {
            running: self.clone(),
            query: query.clone(),
            number,
            token,
        }
    }

    /// Cancels the streams of a query; gives how many there were.
    pub(crate) fn cancel(&self, query: &QueryId) -> usize {
        let tokens = self.lock().streams.remove(query).unwrap_or_default();
        for token in tokens.values() {
            token.cancel();
        }
        tokens.len()
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// The query it belongs to.
    pub(crate) fn query(&self) -> &QueryId {
        &self.query
    }

    /// Ends when the query is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut registry = self.running.lock();
        if let Some(streams) = registry.streams.get_mut(&self.query) {
            streams.remove(&self.number);
            if streams.is_empty() {
                registry.streams.remove(&self.query);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_query_is_cancelled_with_all_its_streams_and_leaves_nothing_behind() {
        let running = Running::default();
        let query = QueryId("q".to_owned());
        let (first, second) = (running.enter(&query), running.enter(&query));
        drop(second);
        assert_eq!(running.cancel(&query), 1);
        first.cancelled().await;
        assert_eq!(running.cancel(&query), 0);
        drop(first);
        drop(running.enter(&query));
        assert!(running.lock().streams.is_empty());
    }
}
