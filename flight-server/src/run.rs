//! The life of one ticket: scan, encode, send, report. It runs apart from the connection that asked for
//! it, so that decoding goes on while the network is busy and a fault stays its own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrow_flight::FlightData;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};
use model::ScanReport;
use tokio::sync::mpsc;
use tracing::Instrument;
use wire::flight::{encode, report_json};

use crate::admission::Place;
use crate::batches::{Batches, RunningScan};
use crate::error::FlightServerError;
use crate::open::{Opened, Opener, ScanTicket};
use crate::progress::{Cut, Progress};
use crate::reports::Reports;

/// Messages, of about one MiB each, that wait for the network.
const AHEAD: usize = 1;

/// How long one that waits for memory has to take what a scan gave up, before another is.
const TURN: Duration = Duration::from_millis(20);

/// How often the time doubles for which a scan keeps its memory while its client takes nothing.
const MOST_DOUBLINGS: u32 = 10;

/// How long files that were being opened may take to stop. Nothing waits for it but the report.
const SETTLE_LIMIT: Duration = Duration::from_secs(1);

/// What one ticket sends.
pub(crate) type Messages = mpsc::Receiver<Result<FlightData, FlightServerError>>;

type Sender = mpsc::Sender<Result<FlightData, FlightServerError>>;

/// What all tickets of a process share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) opener: Opener,
    /// Held by the scan that is given up next when memory is short.
    pub(crate) making_room: tokio::sync::Mutex<()>,
    pub(crate) reports: Reports,
    /// The advertised location; empty when this server cannot tell.
    pub(crate) location: String,
    /// What reports call this server.
    pub(crate) name: String,
}

/// A ticket that was let in.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) ticket: ScanTicket,
    pub(crate) arrived: Instant,
    pub(crate) place: Place,
}

/// Starts a scan; dropping the messages stops it.
pub(crate) fn start(
    shared: Arc<Shared>,
    admitted: Admitted,
    running: &tokio_util::task::TaskTracker,
) -> Messages {
    let (sender, messages) = mpsc::channel(AHEAD);
    let span = tracing::info_span!(
        "ticket",
        query_id = %admitted.ticket.query_id,
        ticket_id = %admitted.ticket.ticket_id,
        table = %admitted.ticket.work.table,
    );
    running.spawn(run(shared, admitted, sender).instrument(span));
    messages
}

async fn run(shared: Arc<Shared>, admitted: Admitted, sender: Sender) {
    let Admitted {
        ticket,
        arrived,
        mut place,
    } = admitted;
    let ticket = Arc::new(ticket);
    let progress = Progress::begin(&shared.name, arrived, ticket.work.skip_rows);
    let progress = Arc::new(progress);
    let opened = catch_unwind(AssertUnwindSafe(|| shared.opener.open(&ticket.work)));
    let opened = match opened.unwrap_or_else(|panic| Err(broken(panic.as_ref()))) {
        Ok(opened) => opened,
        Err(error) => {
            tracing::warn!(%error, "ticket cannot be run");
            let _ = sender.send(Err(error)).await;
            return;
        }
    };
    let recorder = opened.recorder.clone();
    let closing = Arc::new(OnceLock::new());
    // What was shared with the scan is only read after a panic, and every piece of it stays valid.
    let (scan, messages) = messages(opened, &ticket, &progress, &closing);
    let given_up = AtomicU32::new(0);
    let idle = place.idle();
    let (scan, given_up, server) = (&scan, &given_up, &shared);
    let make_room = |waits_for: WaitsFor| async move {
        if waits_for == WaitsFor::Client {
            // Each time longer, so that a slow client comes to its end whatever others need. Who waits for a
            // place may wait for one that waits for this memory.
            let before = given_up.load(Ordering::Relaxed).min(MOST_DOUBLINGS);
            tokio::time::sleep(idle * ((1 << before) - 1)).await;
        }
        // One after the other: the first may be enough. Nobody sleeps here while others could make room.
        let _turn = server.making_room.lock().await;
        server.opener.memory_is_wanted().await;
        if scan.give_up() {
            given_up.fetch_add(1, Ordering::Relaxed);
            tracing::info!("client takes nothing, others wait for memory: scan given up for now");
            tokio::time::sleep(TURN).await;
        }
    };
    let end = AssertUnwindSafe(pass_on(messages, &sender, &mut place, make_room))
        .catch_unwind()
        .await;
    let end = end.unwrap_or_else(|panic| End::Failed(broken(panic.as_ref())));
    let report = match &end {
        End::Complete => closing.get().cloned(),
        End::Gone | End::Failed(_) => {
            let _ = tokio::time::timeout(SETTLE_LIMIT, recorder.settled()).await;
            None
        }
    };
    let report = report.unwrap_or_else(|| progress.report(&ticket, &recorder, end.cut()));
    log(&report, &end, &progress);
    shared.reports.send(&report, &recorder.take_learned());
    drop(place);
    if let End::Failed(error) = end {
        // The client may be gone by now, and then there is nobody to tell.
        let _ = sender.send(Err(error)).await;
    }
}

/// A scan and its messages, from the schema to the report, which is also put into `closing`.
fn messages(
    opened: Opened,
    ticket: &Arc<ScanTicket>,
    progress: &Arc<Progress>,
    closing: &Arc<OnceLock<ScanReport>>,
) -> (
    RunningScan,
    impl Stream<Item = Result<FlightData, FlightServerError>> + Send + 'static,
) {
    let Opened {
        plan,
        context,
        schema,
        recorder,
    } = opened;
    let batches = Batches::new(plan, context, Arc::clone(progress));
    let scan = batches.handle();
    let batches = batches.map_err(FlightServerError::Scan);
    let (ticket, progress) = (Arc::clone(ticket), Arc::clone(progress));
    let closing = Arc::clone(closing);
    let messages = encode(schema, batches, async move {
        report_json(closing.get_or_init(|| progress.report(&ticket, &recorder, None)))
    });
    (scan, messages)
}

/// What a scan waits for that is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    /// That its client takes something.
    Client,
    /// A place.
    Place,
}

/// How a scan ended.
enum End {
    Complete,
    Gone,
    Failed(FlightServerError),
}

impl End {
    fn cut(&self) -> Option<Cut> {
        match self {
            Self::Complete => None,
            Self::Gone => Some(Cut::Gone),
            Self::Failed(error) => Some(Cut::Failed(error.to_string())),
        }
    }
}

/// Sends messages until they end, one fails, or nobody takes them any more. The scan is gone when this
/// returns. While the client takes nothing, others have its place, and its memory when `make_room` finds
/// that they need it.
async fn pass_on<F: Future<Output = ()>>(
    messages: impl Stream<Item = Result<FlightData, FlightServerError>>,
    sender: &Sender,
    place: &mut Place,
    make_room: impl Fn(WaitsFor) -> F,
) -> End {
    let mut messages = pin!(messages);
    loop {
        let next = tokio::select! {
            biased;
            () = sender.closed() => return End::Gone,
            next = async {
                regain(place, make_room(WaitsFor::Place)).await;
                messages.next().await
            } => next,
        };
        match next {
            None => return End::Complete,
            Some(Err(error)) => return End::Failed(error),
            Some(Ok(message)) => {
                let Ok(free) = room(sender, place, make_room(WaitsFor::Client)).await else {
                    return End::Gone;
                };
                free.send(Ok(message));
            }
        }
    }
}

/// Waits for a place again. Who has it may wait for the memory of this scan.
async fn regain(place: &mut Place, make_room: impl Future<Output = ()>) {
    let mut regained = pin!(place.regain());
    tokio::select! {
        biased;
        () = &mut regained => return,
        () = make_room => {}
    }
    regained.await;
}

/// Waits until the client has taken enough for one more message.
async fn room<'a>(
    sender: &'a Sender,
    place: &mut Place,
    make_room: impl Future<Output = ()>,
) -> Result<mpsc::Permit<'a, Result<FlightData, FlightServerError>>, mpsc::error::SendError<()>> {
    if let Ok(room) = tokio::time::timeout(place.idle(), sender.reserve()).await {
        return room;
    }
    place.leave();
    tokio::select! {
        biased;
        room = sender.reserve() => return room,
        () = make_room => {}
    }
    sender.reserve().await
}

fn broken(panic: &(dyn Any + Send)) -> FlightServerError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    FlightServerError::Panicked {
        reason: text.unwrap_or("no reason given").to_owned(),
    }
}

fn log(report: &ScanReport, end: &End, progress: &Progress) {
    let counts = &report.counts;
    let (rows, requests, bytes) = (counts.rows_returned, counts.requests, counts.bytes_fetched);
    let elapsed_ms = progress.elapsed().as_millis();
    let queued_ms = counts.queued_ms;
    match end {
        End::Complete => {
            tracing::info!(
                rows,
                requests,
                bytes,
                queued_ms,
                elapsed_ms,
                "ticket scanned"
            );
        }
        End::Gone => {
            tracing::info!(
                rows,
                requests,
                bytes,
                queued_ms,
                elapsed_ms,
                "client went away"
            );
        }
        End::Failed(error) => {
            tracing::warn!(%error, rows, requests, bytes, queued_ms, elapsed_ms, "scan failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::{Categorized, Category};

    use super::*;
    use crate::admission::Gate;
    use crate::config::TicketLimits;

    #[tokio::test]
    async fn a_panic_in_a_scan_is_an_internal_error() {
        let (sender, _messages) = mpsc::channel(1);
        let messages = futures::stream::poll_fn(|_| panic!("a page that is not there"));
        let mut place = Gate::new(TicketLimits::default()).enter().await.unwrap();
        let end = AssertUnwindSafe(pass_on(messages, &sender, &mut place, |_| {
            std::future::pending()
        }))
        .catch_unwind()
        .await;
        let error = broken(end.err().unwrap().as_ref());
        assert_eq!(error.category(), Category::Internal);
        assert_eq!(
            error.to_string(),
            "scan broke down: a page that is not there"
        );
    }

    #[tokio::test]
    async fn a_scan_that_waits_for_its_store_stops_when_the_client_goes_away() {
        let (sender, messages) = mpsc::channel(1);
        let never = futures::stream::pending();
        let mut place = Gate::new(TicketLimits::default()).enter().await.unwrap();
        let passing = tokio::spawn(async move {
            pass_on(never, &sender, &mut place, |_| std::future::pending()).await
        });
        drop(messages);
        assert!(matches!(passing.await.unwrap(), End::Gone));
    }
}
