//! The rows of one scan ticket. A stream that breaks goes on elsewhere from the row that it had
//! reached.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow_flight::Ticket;
use arrow_flight::flight_service_client::FlightServiceClient;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use wire::flight::{Batches, decode};
use wire::{Categorized, Category, Payload, Work};

use crate::engine::Parts;
use crate::error::PlannerError;
use crate::placement::ranking;
use crate::servers::Server;

/// Times that all servers are tried without a row of progress.
const ROUNDS: u32 = 3;

/// Pause before all servers are tried again.
const PAUSE: Duration = Duration::from_millis(250);

type OnEnd = Box<dyn FnOnce(Bytes) + Send>;

/// The rows of a scan ticket from whichever Flight servers are there. `on_end` gets the report.
pub(crate) fn rows(
    parts: Arc<Parts>,
    payload: Payload,
    on_end: OnEnd,
) -> BoxStream<'static, Result<RecordBatch, PlannerError>> {
    let scan = RemoteScan {
        parts,
        payload,
        rows: 0,
        current: None,
        tried: Vec::new(),
        rounds: 0,
        on_end: Some(on_end),
    };
    let rows = stream::try_unfold(scan, |mut scan| async move {
        Ok(scan.next().await?.map(|batch| (batch, scan)))
    });
    rows.boxed()
}

struct RemoteScan {
    parts: Arc<Parts>,
    payload: Payload,
    /// Rows handed out so far.
    rows: u64,
    current: Option<Batches>,
    /// Locations that failed since the last row of progress or the last round.
    tried: Vec<String>,
    rounds: u32,
    on_end: Option<OnEnd>,
}

impl RemoteScan {
    async fn next(&mut self) -> Result<Option<RecordBatch>, PlannerError> {
        loop {
            let mut batches = match self.current.take() {
                Some(batches) => batches,
                None => self.open().await?,
            };
            match batches.next().await {
                Some(Ok(batch)) => {
                    self.rows += batch.num_rows() as u64;
                    self.progressed();
                    self.current = Some(batches);
                    return Ok(Some(batch));
                }
                Some(Err(error)) => self.failed(PlannerError::of(&error)).await?,
                // The report is the last thing that is sent: without it, rows are missing.
                None if batches.app_metadata().is_empty() => {
                    let message = "Flight server: stream ended before its report".to_owned();
                    self.failed(PlannerError::Unavailable(message)).await?;
                }
                None => {
                    if let Some(on_end) = self.on_end.take() {
                        on_end(batches.app_metadata().clone());
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// Whoever failed before may be back by now; only the server that is being read must not be
    /// chosen next.
    fn progressed(&mut self) {
        self.rounds = 0;
        let others = self.tried.len().saturating_sub(1);
        self.tried.drain(..others);
    }

    /// Begins or resumes on the best server that has not failed.
    async fn open(&mut self) -> Result<Batches, PlannerError> {
        loop {
            let server = self.choose().await?;
            self.tried.push(server.location.clone());
            match self.fetch(&server).await {
                Ok(batches) => return Ok(batches),
                Err(error) => self.failed(error).await?,
            }
        }
    }

    async fn choose(&mut self) -> Result<Server, PlannerError> {
        let live = self.parts.servers.live().await?;
        let locations: Vec<&str> = live.iter().map(|server| server.location.as_str()).collect();
        let ranked = ranking(self.path(), &locations);
        let mut ranked = ranked.into_iter().filter_map(|position| live.get(position));
        let untried = ranked.find(|server| !self.tried.contains(&server.location));
        match untried.or(live.first()) {
            Some(server) => Ok(server.clone()),
            None => Err(PlannerError::Unavailable(
                "no Flight server answers".to_owned(),
            )),
        }
    }

    fn path(&self) -> &str {
        match &self.payload.work {
            Work::Scan(scan) => scan.tasks.first().map_or("", |task| &task.file.path),
            Work::Statement(_) => "",
        }
    }

    async fn fetch(&mut self, server: &Server) -> Result<Batches, PlannerError> {
        let ticket = self.parts.signer.resume(&self.payload, self.rows)?;
        let limit = wire::channel::MAX_MESSAGE_BYTES;
        let mut client = FlightServiceClient::new(server.channel.clone())
            .max_decoding_message_size(limit)
            .max_encoding_message_size(limit);
        let part = format!("Flight server {}", server.location);
        let answer = client.do_get(Ticket { ticket }).await;
        let messages = answer.map_err(|status| PlannerError::answered(&part, &status))?;
        let mut batches = decode(messages.into_inner());
        batches
            .schema()
            .await
            .map_err(|error| PlannerError::of(&error))?;
        Ok(batches)
    }

    /// Lets the next server try when the failure may be this server's own; the error otherwise, or
    /// when all servers have failed often enough.
    async fn failed(&mut self, error: PlannerError) -> Result<(), PlannerError> {
        let server = self.tried.last().map(String::as_str).unwrap_or_default();
        if !may_work_elsewhere(error.category()) {
            return Err(error);
        }
        tracing::warn!(
            query_id = %self.payload.query_id, ticket_id = %self.payload.ticket_id, server,
            rows = self.rows, %error, "scan failed, trying another Flight server"
        );
        self.parts.servers.suspect();
        let live = self.parts.servers.now();
        if live
            .iter()
            .all(|server| self.tried.contains(&server.location))
        {
            self.rounds += 1;
            if self.rounds >= ROUNDS || error.category() == Category::Internal {
                return Err(error);
            }
            self.tried.clear();
            tokio::time::sleep(PAUSE * self.rounds).await;
        }
        Ok(())
    }
}

/// Broken connections show as any of these.
fn may_work_elsewhere(category: Category) -> bool {
    matches!(
        category,
        Category::Unavailable | Category::Cancelled | Category::Exhausted | Category::Internal
    )
}
