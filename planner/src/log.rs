//! Telling the catalog's query log about queries, in order and without holding them up.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tonic::transport::Channel;
use wire::proto;
use wire::proto::catalog_client::CatalogClient;

use crate::error::PlannerError;
use crate::query::{Query, sum_summaries};

/// Records that may wait; beyond it they are dropped, because queries go first.
const WAITING: usize = 1024;

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
}

impl QueryLog {
    /// Starts to send.
    pub(crate) fn start(catalog: CatalogClient<Channel>) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(send(catalog, receiver));
        Self {
            sender,
            full: AtomicBool::new(false),
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
        if sent.is_err() && !self.full.swap(true, Ordering::Relaxed) {
            tracing::warn!(query_id = %query.id, "query log is full, some queries are missing in it");
        }
    }
}

async fn send(
    mut catalog: CatalogClient<Channel>,
    mut records: mpsc::Receiver<proto::QueryRecord>,
) {
    let mut failing = false;
    while let Some(query) = records.recv().await {
        let query_id = query.query_id.clone();
        let request = proto::RecordQueryRequest { query: Some(query) };
        match catalog.record_query(request).await {
            Ok(_) => failing = false,
            Err(status) if !failing => {
                failing = true;
                tracing::warn!(
                    query_id,
                    error = status.message(),
                    "query log cannot be written"
                );
            }
            Err(_) => {}
        }
    }
}

fn record(
    query: &Query,
    state: State,
    tickets: usize,
    error: Option<&PlannerError>,
) -> proto::QueryRecord {
    let tables = query.tables();
    let skips = tables.iter().flat_map(|table| {
        table.skipped.iter().map(|file| proto::QuerySkip {
            table: Some((&table.table).into()),
            file: Some(file.clone()),
        })
    });
    proto::QueryRecord {
        query_id: query.id.0.clone(),
        sql: query.sql.clone(),
        principal: query.principal.clone(),
        started_unix_ms: query.started_unix_ms,
        state: state.name().to_owned(),
        error: error.map(ToString::to_string).unwrap_or_default(),
        tickets: tickets as u64,
        plan: Some(sum_summaries(&tables)),
        plan_ms: query.planned_ms(),
        skips: skips.collect(),
    }
}
