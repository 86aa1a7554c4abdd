//! Telling the catalog's query log about queries, in order and without holding them up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::transport::Channel;
use wire::proto::catalog_client::CatalogClient;
use wire::{Category, proto};

use crate::error::PlannerError;
use crate::query::{Query, TablePlan, sum_summaries};

/// Records that may wait; beyond it they are dropped, because queries go first.
const WAITING: usize = 1024;

/// Skipped files in one record, when the query wants to know of every one.
const MAX_SKIPS: usize = 10_000;

/// How often a record is tried.
const ATTEMPTS: u32 = 5;

/// The pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How long the catalog may take for one record.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The state of a query in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its tickets are out.
    Planned,
    /// The planner runs it.
    Running,
    /// Its last row has left.
    Finished,
    /// An error ended it, or the client went away.
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }
}

/// The way to the query log.
#[derive(Debug)]
pub(crate) struct QueryLog {
    sender: mpsc::Sender<proto::QueryRecord>,
    full: AtomicBool,
    worker: Mutex<Option<JoinHandle<()>>>,
    /// Takes no more records, but delivers those that wait.
    closing: CancellationToken,
}

impl QueryLog {
    /// Starts to send.
    pub(crate) fn start(catalog: CatalogClient<Channel>) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let closing = CancellationToken::new();
        let worker = tokio::spawn(deliver(catalog, receiver, closing.clone()));
        Self {
            sender,
            full: AtomicBool::new(false),
            worker: Mutex::new(Some(worker)),
            closing,
        }
    }

    /// Records the state of a query as it is now.
    pub(crate) fn record(
        &self,
        query: &Query,
        state: State,
        tickets: usize,
        error: Option<&PlannerError>,
    ) {
        let sent = self.sender.try_send(record(query, state, tickets, error));
        if sent.is_ok() {
            self.full.store(false, Ordering::Relaxed);
        } else if !self.full.swap(true, Ordering::Relaxed) {
            tracing::warn!(query_id = %query.id, "query log is full, some queries are missing in it");
        }
    }

    /// Waits until everything is delivered that was recorded; at most so long.
    pub(crate) async fn finish(&self, limit: Duration) {
        self.closing.cancel();
        let worker = self.worker.lock();
        let worker = worker.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut worker) = worker
            && tokio::time::timeout(limit, &mut worker).await.is_err()
        {
            worker.abort();
            tracing::warn!("records of queries were left undelivered at shutdown");
        }
    }
}

async fn deliver(
    mut catalog: CatalogClient<Channel>,
    mut waiting: mpsc::Receiver<proto::QueryRecord>,
    closing: CancellationToken,
) {
    // A catalog that is down is logged once, not per record.
    let mut failing = false;
    while let Some(query) = next(&mut waiting, &closing).await {
        match deliver_one(&mut catalog, query).await {
            Ok(()) if failing => {
                failing = false;
                tracing::info!("query log can be written again");
            }
            Err(error) if !failing => {
                failing = true;
                tracing::warn!(
                    error,
                    "query log cannot be written; queries are missing in it"
                );
            }
            Ok(()) | Err(_) => {}
        }
    }
}

async fn next(
    waiting: &mut mpsc::Receiver<proto::QueryRecord>,
    closing: &CancellationToken,
) -> Option<proto::QueryRecord> {
    tokio::select! {
        record = waiting.recv() => return record,
        () = closing.cancelled() => waiting.close(),
    }
    waiting.recv().await
}

async fn deliver_one(
    catalog: &mut CatalogClient<Channel>,
    query: proto::QueryRecord,
) -> Result<(), String> {
    let request = proto::RecordQueryRequest { query: Some(query) };
    let mut pause = FIRST_PAUSE;
    let mut attempt = 1;
    loop {
        let answer = catalog.record_query(request.clone());
        let (reason, passing) = match tokio::time::timeout(ANSWER_LIMIT, answer).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(status)) => (status.message().to_owned(), passes(&status)),
            Err(_) => ("no answer".to_owned(), true),
        };
        if !passing || attempt == ATTEMPTS {
            return Err(reason);
        }
        attempt += 1;
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

/// Whether the same record may be taken later.
fn passes(status: &Status) -> bool {
    matches!(
        wire::status::category_of(status),
        Category::Unavailable | Category::Exhausted | Category::Conflict | Category::Cancelled
    )
}

fn record(
    query: &Query,
    state: State,
    tickets: usize,
    error: Option<&PlannerError>,
) -> proto::QueryRecord {
    let (plan, skips) = query.look(|found| {
        let skips = match state {
            State::Planned => skips(&found.tables),
            // The same that were sent when it was planned.
            _ => Vec::new(),
        };
        (sum_summaries(&found.tables), skips)
    });
    proto::QueryRecord {
        query_id: query.id.0.clone(),
        sql: query.sql.clone(),
        principal: query.principal.clone(),
        started_unix_ms: query.started_unix_ms,
        state: state.name().to_owned(),
        error: error.map(ToString::to_string).unwrap_or_default(),
        tickets: tickets as u64,
        plan: Some(plan),
        plan_ms: query.planned_ms(),
        skips,
    }
}

fn skips(tables: &[TablePlan]) -> Vec<proto::QuerySkip> {
    let skips = tables.iter().flat_map(|table| {
        table.skipped.iter().map(|file| proto::QuerySkip {
            table: Some((&table.table).into()),
            file: Some(file.clone()),
        })
    });
    skips.take(MAX_SKIPS).collect()
}
