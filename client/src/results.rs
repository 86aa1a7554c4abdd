//! The rows of a statement: endpoints fetched in parallel, at most so many at once, merged in their
//! order when the service says that it matters and as they come otherwise.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use arrow_flight::{FlightEndpoint, FlightInfo};
use bytes::Bytes;
use futures::future::poll_fn;
use model::ScanReport;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinSet;

use crate::connection::{Client, QueryOptions};
use crate::endpoint::{Event, fetch};
use crate::error::ClientError;

/// Batches of one endpoint that wait for the reader.
const QUEUED_BATCHES: usize = 4;

/// The rows of a statement as they arrive. Dropping it stops everything that is under way.
#[derive(Debug)]
pub struct Results {
    client: Client,
    schema: SchemaRef,
    plan_metadata: Bytes,
    ordered: bool,
    parallel: usize,
    waiting: VecDeque<FlightEndpoint>,
    open: VecDeque<Receiver<Event>>,
    tasks: JoinSet<()>,
    tally: Tally,
    began: Instant,
}

/// What has arrived so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Endpoints of the statement.
    pub tickets: usize,
    /// Endpoints that have ended.
    pub tickets_done: usize,
    /// Rows.
    pub rows: u64,
    /// Time until the first rows arrived.
    pub first_batch: Option<Duration>,
    /// What the scans did, in the order in which they ended.
    pub reports: Vec<ScanReport>,
}

impl Results {
    pub(crate) fn start(
        client: &Client,
        plan: FlightInfo,
        options: &QueryOptions,
    ) -> Result<Self, ClientError> {
        let schema = schema_of(client, &plan)?;
        let mut results = Self {
            client: client.clone(),
            schema,
            plan_metadata: plan.app_metadata,
            ordered: plan.ordered,
            parallel: options.parallel.get(),
            tally: Tally {
                tickets: plan.endpoint.len(),
                ..Tally::default()
            },
            waiting: plan.endpoint.into(),
            open: VecDeque::new(),
            tasks: JoinSet::new(),
            began: Instant::now(),
        };
        results.open_more();
        Ok(results)
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What the planner said about the plan (`FlightInfo.app_metadata`).
    pub fn plan_metadata(&self) -> &Bytes {
        &self.plan_metadata
    }

    /// What has arrived so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// When the endpoints began to be fetched.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// The next batch that has rows; `None` when every endpoint has ended.
    ///
    /// # Errors
    /// When an endpoint fails at all of its locations, at one after it sent rows, or stops without having
    /// ended.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, ClientError> {
        while let Some((position, event)) = self.next_event().await {
            match event {
                None => return Err(ClientError::Broken),
                Some(Event::End) => self.close(position),
                Some(Event::Failed(error)) => return Err(error),
                Some(Event::Report(report)) => self.tally.reports.push(*report),
                Some(Event::Batch(batch)) if batch.num_rows() == 0 => {}
                Some(Event::Batch(batch)) => {
                    self.tally.rows += batch.num_rows() as u64;
                    let began = self.began;
                    self.tally
                        .first_batch
                        .get_or_insert_with(|| began.elapsed());
                    return Ok(Some(batch));
                }
            }
        }
        Ok(None)
    }

    fn close(&mut self, position: usize) {
        self.open.remove(position);
        self.tally.tickets_done += 1;
        self.open_more();
    }

    fn open_more(&mut self) {
        while self.open.len() < self.parallel
            && let Some(endpoint) = self.waiting.pop_front()
        {
            let (sender, receiver) = mpsc::channel(QUEUED_BATCHES);
            self.tasks
                .spawn(fetch(self.client.clone(), endpoint, sender));
            self.open.push_back(receiver);
        }
    }

    /// The next event and the position of the endpoint it came from; `None` for the event when the endpoint
    /// gives no more.
    async fn next_event(&mut self) -> Option<(usize, Option<Event>)> {
        if self.ordered {
            let event = self.open.front_mut()?.recv().await;
            return Some((0, event));
        }
        if self.open.is_empty() {
            return None;
        }
        let ready = poll_fn(|context| {
            for (position, receiver) in self.open.iter_mut().enumerate() {
                if let std::task::Poll::Ready(event) = receiver.poll_recv(context) {
                    return std::task::Poll::Ready((position, event));
                }
            }
            std::task::Poll::Pending
        });
        Some(ready.await)
    }
}

fn schema_of(client: &Client, plan: &FlightInfo) -> Result<SchemaRef, ClientError> {
    if plan.schema.is_empty() {
        return Ok(Schema::empty().into());
    }
    let schema = plan.clone().try_decode_schema();
    schema.map(Into::into).map_err(|error| ClientError::Answer {
        location: client.location().to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    /// The results of endpoints whose events are sent by hand.
    fn results(endpoints: usize, ordered: bool) -> (Vec<mpsc::Sender<Event>>, Results) {
        let (senders, open) = (0..endpoints)
            .map(|_| mpsc::channel(QUEUED_BATCHES))
            .unzip();
        let results = Results {
            client: Client::connect("127.0.0.1:1").unwrap(),
            schema: Schema::empty().into(),
            plan_metadata: Bytes::new(),
            ordered,
            parallel: endpoints,
            waiting: VecDeque::new(),
            open,
            tasks: JoinSet::new(),
            tally: Tally::default(),
            began: Instant::now(),
        };
        (senders, results)
    }

    fn batch(rows: i64) -> Event {
        let column: ArrayRef = std::sync::Arc::new(Int64Array::from_iter_values(0..rows));
        Event::Batch(RecordBatch::try_from_iter([("n", column)]).unwrap())
    }

    async fn rows(results: &mut Results) -> Option<usize> {
        results.next().await.unwrap().map(|batch| batch.num_rows())
    }

    #[tokio::test]
    async fn a_fetch_that_stops_without_an_end_is_an_error_and_never_a_short_result() {
        for ordered in [true, false] {
            let (mut senders, mut results) = results(2, ordered);
            senders[0].send(batch(3)).await.unwrap();
            assert_eq!(rows(&mut results).await, Some(3));
            drop(senders.remove(0));
            let error = results.next().await.unwrap_err();
            assert!(matches!(error, ClientError::Broken), "{error}");
        }
    }

    #[tokio::test]
    async fn rows_come_as_they_arrive_unless_their_order_matters() {
        for (ordered, expected) in [(false, [2, 1]), (true, [1, 2])] {
            let (senders, mut results) = results(2, ordered);
            senders[1].send(batch(2)).await.unwrap();
            if !ordered {
                assert_eq!(rows(&mut results).await, Some(2));
            }
            senders[0].send(batch(1)).await.unwrap();
            for sender in &senders {
                sender.send(Event::End).await.unwrap();
            }
            let mut rest = Vec::new();
            while let Some(rows) = rows(&mut results).await {
                rest.push(rows);
            }
            assert!(expected.ends_with(&rest), "{ordered}: {rest:?}");
            assert_eq!(results.tally().rows, 3);
            assert_eq!(results.tally().tickets_done, 2);
        }
    }
}
