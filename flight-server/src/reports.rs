//! Brings scan reports to the catalog's query log, behind the queries' backs: a catalog that is slow or
//! down costs reports, never a query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::{FooterColumn, LearnedFooter, ScanReport};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use wire::Category;
use wire::flight::report_json;
use wire::proto::RecordReportRequest;
use wire::proto::catalog_client::CatalogClient;
use wire::status;

/// Reports that wait; further ones are dropped.
const WAITING: usize = 256;

/// Footers that wait with their reports, in KiB; further ones are dropped.
const ROOM_KIB: usize = 16 * 1024;

/// How often a report is tried.
const ATTEMPTS: u32 = 5;

/// The pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How long the catalog may take for one report.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Where reports are handed over. Clones go to the same place.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    queue: Option<mpsc::Sender<Waiting>>,
    /// Bytes of footers that may still be handed over.
    room: Arc<Semaphore>,
    /// Reports that found no place to wait; the delivery tells of them.
    overflow: Arc<AtomicU64>,
}

/// A report that waits.
#[derive(Debug)]
struct Waiting {
    request: RecordReportRequest,
    /// The room of its footers.
    _room: Option<OwnedSemaphorePermit>,
}

/// The delivery behind [`Reports`].
#[derive(Debug)]
pub(crate) struct Delivery {
    worker: Option<JoinHandle<()>>,
    /// Takes no more reports, but delivers those that wait.
    closing: CancellationToken,
}

impl Reports {
    /// Starts the delivery to a catalog; without one, reports end here.
    pub(crate) fn start(catalog: Option<Channel>) -> (Self, Delivery) {
        let closing = CancellationToken::new();
        let overflow = Arc::new(AtomicU64::new(0));
        let (queue, worker) = catalog
            .map(|catalog| {
                let (queue, waiting) = mpsc::channel(WAITING);
                let catalog = CatalogClient::new(catalog);
                let delivery = deliver(catalog, waiting, closing.clone(), Arc::clone(&overflow));
                (queue, tokio::spawn(delivery))
            })
            .unzip();
        let reports = Self {
            queue,
            room: Arc::new(Semaphore::new(ROOM_KIB)),
            overflow,
        };
        (reports, Delivery { worker, closing })
    }

    /// Hands a report over, with the footers that the scan has learned if there is room for them, and does
    /// not wait.
    pub(crate) fn send(&self, report: &ScanReport, footers: &[LearnedFooter]) {
        let Some(queue) = &self.queue else {
            return;
        };
        let columns = footers.iter().flat_map(|footer| &footer.columns);
        let bytes: usize = columns.map(FooterColumn::size).sum();
        let permits = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(permits).ok();
        let footers = if room.is_some() { footers } else { &[] };
        let waiting = Waiting {
            request: RecordReportRequest {
                report_json: report_json(report).to_vec(),
                footers: footers.iter().map(Into::into).collect(),
            },
            _room: room,
        };
        if queue.try_send(waiting).is_err() {
            self.overflow.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Delivery {
    /// Waits until all reports are delivered that were handed over; at most so long.
    pub(crate) async fn finish(self, limit: Duration) {
        self.closing.cancel();
        if let Some(mut worker) = self.worker
            && tokio::time::timeout(limit, &mut worker).await.is_err()
        {
            worker.abort();
            tracing::warn!("scan reports were left undelivered at shutdown");
        }
    }
}

async fn deliver(
    mut catalog: CatalogClient<Channel>,
    mut waiting: mpsc::Receiver<Waiting>,
    closing: CancellationToken,
    overflow: Arc<AtomicU64>,
) {
    // What is lost is logged when it begins and, counted, when it ends: not per report.
    let (mut failing, mut dropped) = (false, 0);
    while let Some(report) = next(&mut waiting, &closing).await {
        let delivered = deliver_one(&mut catalog, report).await;
        dropped += overflow.swap(0, Ordering::Relaxed) + u64::from(delivered.is_err());
        match delivered {
            Ok(()) => {
                failing = false;
                log_dropped(std::mem::take(&mut dropped));
            }
            Err(reason) if !failing => {
                failing = true;
                tracing::warn!(%reason, "catalog takes no scan reports; they are dropped until it does");
            }
            Err(_) => {}
        }
    }
    log_dropped(dropped + overflow.swap(0, Ordering::Relaxed));
}

fn log_dropped(dropped: u64) {
    if dropped > 0 {
        tracing::warn!(dropped, "scan reports did not reach the query log");
    }
}

async fn next(
    waiting: &mut mpsc::Receiver<Waiting>,
    closing: &CancellationToken,
) -> Option<Waiting> {
    tokio::select! {
        report = waiting.recv() => return report,
        () = closing.cancelled() => waiting.close(),
    }
    waiting.recv().await
}

async fn deliver_one(catalog: &mut CatalogClient<Channel>, report: Waiting) -> Result<(), String> {
    let mut pause = FIRST_PAUSE;
    let mut attempt = 1;
    let mut request = report.request;
    loop {
        let answer = catalog.record_report(request.clone());
        let answer = tokio::time::timeout(ANSWER_LIMIT, answer).await;
        let (reason, passing) = match answer {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(status)) => (status.message().to_owned(), passes(status.code())),
            Err(_) => ("no answer".to_owned(), true),
        };
        if !passing || attempt == ATTEMPTS {
            return Err(reason);
        }
        attempt += 1;
        // The report is what counts.
        request.footers.clear();
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
}

/// Whether the same report may be taken later.
fn passes(code: tonic::Code) -> bool {
    matches!(
        status::category(code),
        Category::Unavailable | Category::Exhausted | Category::Conflict | Category::Cancelled
    ) || code == tonic::Code::Unknown
}

#[cfg(test)]
mod tests {
    use model::{Counts, QueryId, SnapshotId, TableName, TicketId};

    use super::*;

    #[tokio::test]
    async fn reports_beyond_those_that_may_wait_are_counted() {
        let report = ScanReport {
            tasks_left_out: 0,
            query_id: QueryId("query".to_owned()),
            ticket_id: TicketId("ticket".to_owned()),
            table: TableName::main("orders"),
            snapshot_id: SnapshotId(1),
            server: "here".to_owned(),
            complete: true,
            error: None,
            counts: Counts::default(),
            tasks: Vec::new(),
        };
        let nobody = wire::channel::connect_lazy("127.0.0.1:1").unwrap();
        let (reports, _delivery) = Reports::start(Some(nobody));
        // Nothing is awaited, so nothing is delivered meanwhile.
        for _ in 0..WAITING + 7 {
            reports.send(&report, &[]);
        }
        assert_eq!(reports.overflow.load(Ordering::Relaxed), 7);
    }
}
