//! Scan reports on their way to the query log of a real catalog.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::time::Duration;

use arrow_flight::Ticket;
use catalog::{CatalogConfig, LogLimits};
use fulmar_flight_server::TicketLimits;
use futures::TryStreamExt;
use model::ScanReport;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use wire::ScanWork;
use wire::channel::connect_lazy;
use wire::proto::catalog_client::CatalogClient;
use wire::proto::{Log, ReadLogRequest, read_log_response::Row};
use wire::serve::Listener;

use support::{Server, eventually, many, months, sign};

/// Some 7 MB, far more than waits between a server and a client that does not read.
const MANY_ROWS: u64 = 100_000;

struct Catalog {
    location: String,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
    _dir: tempfile::TempDir,
}

impl Catalog {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = Listener::bind("127.0.0.1:0", false).await.unwrap();
        let location = listener.location();
        let shutdown = CancellationToken::new();
        let config = CatalogConfig {
            listener,
            database: dir.path().join("catalog.db").to_str().unwrap().to_owned(),
            warehouse: dir.path().join("warehouse").to_str().unwrap().to_owned(),
            log: LogLimits::default(),
        };
        let serving = catalog::serve(config, shutdown.clone());
        let task = tokio::spawn(async move { serving.await.unwrap() });
        Self {
            location,
            shutdown,
            task,
            _dir: dir,
        }
    }

    async fn reports(&self) -> Vec<ScanReport> {
        let mut client = CatalogClient::new(connect_lazy(&self.location).unwrap());
        let request = ReadLogRequest {
            log: Log::Tickets.into(),
            query_id: None,
            limit: None,
        };
        let answer = client.read_log(request).await.unwrap().into_inner();
        let rows: Vec<_> = answer.try_collect().await.unwrap();
        let report = |row| match row {
            Some(Row::Ticket(ticket)) => serde_json::from_slice(&ticket.report_json).unwrap(),
            other => panic!("{other:?}"),
        };
        rows.into_iter().map(|answer| report(answer.row)).collect()
    }

    async fn report(&self) -> ScanReport {
        eventually("the report", async || self.reports().await.pop()).await
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap();
    }
}

#[tokio::test]
async fn the_report_reaches_the_query_log() {
    let (_dir, _, work) = months(1_000).await;
    let catalog = Catalog::start().await;
    let location = Some(catalog.location.clone());
    let server = Server::start_with(location, TicketLimits::default()).await;
    let (_, sent) = server.rows(sign(work)).await.unwrap();
    let logged = catalog.report().await;
    assert_eq!(logged.counts, sent.counts);
    assert_eq!(logged.ticket_id, sent.ticket_id);
    assert!(logged.complete);
    server.stop().await;
    catalog.stop().await;
}

/// The report of a ticket whose client took one message and went away.
async fn left_half_way(work: ScanWork) -> ScanReport {
    let catalog = Catalog::start().await;
    let location = Some(catalog.location.clone());
    let server = Server::start_with(location, TicketLimits::default()).await;
    let mut client = server.client().await;
    let ticket = Ticket { ticket: sign(work) };
    let mut messages = client.do_get(ticket).await.unwrap().into_inner();
    messages.message().await.unwrap().unwrap();
    drop(messages);
    let report = catalog.report().await;
    assert!(!report.complete);
    assert_eq!(report.error, None);
    assert!(report.counts.requests > 0);
    server.stop().await;
    catalog.stop().await;
    report
}

#[tokio::test]
async fn a_client_that_goes_away_stops_its_scan_and_the_report_says_so() {
    let (_dir, files, work) = many(MANY_ROWS, 60).await;
    let report = left_half_way(work).await;
    let begun = report.tasks.len();
    assert!(
        begun < files.len(),
        "{begun} of {} files were begun",
        files.len()
    );
    assert!(
        report.counts.rows_returned < MANY_ROWS,
        "{:?}",
        report.counts
    );
}

#[tokio::test]
async fn the_file_that_was_read_when_a_client_went_away_is_in_the_report() {
    let (_dir, _, work) = many(MANY_ROWS, 1).await;
    let report = left_half_way(work).await;
    assert_eq!(report.tasks.len(), 1);
}

#[tokio::test]
async fn a_failed_scan_is_in_the_query_log_with_its_error() {
    let (_dir, files, work) = months(1_000).await;
    std::fs::remove_file(&files[3]).unwrap();
    let catalog = Catalog::start().await;
    let location = Some(catalog.location.clone());
    let server = Server::start_with(location, TicketLimits::default()).await;
    let (code, message) = server.error(sign(work)).await;
    assert_eq!(code, Code::NotFound, "{message}");
    let report = catalog.report().await;
    assert!(!report.complete);
    assert!(report.error.unwrap().contains(files[3].to_str().unwrap()));
    server.stop().await;
    catalog.stop().await;
}

#[tokio::test]
async fn a_catalog_that_is_down_costs_no_query_and_no_shutdown() {
    let (_dir, _, work) = months(1_000).await;
    let nobody = Listener::bind("127.0.0.1:0", false)
        .await
        .unwrap()
        .location();
    let server = Server::start_with(Some(nobody), TicketLimits::default()).await;
    for _ in 0..3 {
        let (rows, report) = server.rows(sign(work.clone())).await.unwrap();
        assert_eq!(rows.num_rows(), 1_000);
        assert!(report.complete);
    }
    tokio::time::timeout(Duration::from_secs(10), server.stop())
        .await
        .unwrap();
}
