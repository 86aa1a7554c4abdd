//! The service around the scan: actions, credentials, limits, clients that do not read, shutdown.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::path::PathBuf;
use std::time::Duration;

use arrow::compute::concat_batches;
use arrow_flight::{Action, Criteria, Empty, FlightDescriptor, HandshakeRequest, Ticket};
use fixtures::orders_batch;
use fulmar_flight_server::TicketLimits;
use futures::{StreamExt, TryStreamExt, stream};
use model::ScanReport;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use wire::ScanWork;
use wire::flight::decode;
use wire::serve::Listener;

use support::{Server, eventually, many, months, orders_spec, scan_work, sign, tasks, with_counts};

/// Some 7 MB, far more than waits between a server and a client that does not read.
const MANY_ROWS: u64 = 100_000;

#[tokio::test]
async fn a_planner_learns_where_the_server_is_and_its_version() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let actions: Vec<_> = client
        .list_actions(Empty::default())
        .await
        .unwrap()
        .into_inner()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(actions.len(), 1);
    let action = Action::new(actions[0].r#type.clone(), "");
    let mut answer = client.do_action(action).await.unwrap().into_inner();
    let body = answer.message().await.unwrap().unwrap().body;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["location"], server.location);
    assert_eq!(body["version"], env!("CARGO_PKG_VERSION"));
    server.stop().await;
}

#[tokio::test]
async fn what_only_a_planner_does_is_refused_with_that_advice() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let descriptor = || FlightDescriptor::new_cmd("SELECT 1");
    let refusals = [
        client.get_flight_info(descriptor()).await.unwrap_err(),
        client.poll_flight_info(descriptor()).await.unwrap_err(),
        client.get_schema(descriptor()).await.unwrap_err(),
        client.list_flights(Criteria::default()).await.unwrap_err(),
        client.do_put(stream::empty()).await.unwrap_err(),
        client.do_exchange(stream::empty()).await.unwrap_err(),
        client
            .do_action(Action::new("CloseSession", ""))
            .await
            .unwrap_err(),
    ];
    for refusal in refusals {
        assert_eq!(refusal.code(), Code::Unimplemented);
        assert!(refusal.message().contains("ask the planner"), "{refusal}");
    }
    server.stop().await;
}

#[tokio::test]
async fn any_credentials_do_and_a_bearer_token_is_kept() {
    let (_dir, _, work) = months(500).await;
    let server = Server::start().await;
    let mut client = server.client().await;
    let cases = [
        (None, "Bearer anonymous"),
        (Some("Basic YTpi"), "Bearer anonymous"),
        (Some("Bearer planner's"), "Bearer planner's"),
    ];
    for (given, expected) in cases {
        let mut request = Request::new(stream::iter([HandshakeRequest::default()]));
        if let Some(given) = given {
            request
                .metadata_mut()
                .insert("authorization", given.parse().unwrap());
        }
        let answer = client.handshake(request).await.unwrap();
        assert_eq!(answer.metadata().get("authorization").unwrap(), expected);

        let mut request = Request::new(Ticket {
            ticket: sign(work.clone()),
        });
        request
            .metadata_mut()
            .insert("authorization", expected.parse().unwrap());
        request
            .metadata_mut()
            .insert("x-anything", "else".parse().unwrap());
        let messages = client.do_get(request).await.unwrap().into_inner();
        assert!(messages.map(Result::unwrap).count().await > 1);
    }
    server.stop().await;
}

#[tokio::test]
async fn clients_that_do_not_read_give_their_memory_to_those_that_do() {
    let (_dir, files, work) = many(MANY_ROWS, 3).await;
    let counted = with_counts(&work);
    let tasks = tasks(files.iter().map(PathBuf::as_path)).await;
    let filtered = scan_work(orders_spec(Some(1_000)), tasks);
    // One place only: who has it must not wait for the memory of who waits for it.
    for running in [8, 1] {
        for work in [&work, &counted, &filtered] {
            stop_and_go_on(work, running).await;
        }
    }
}

/// Three clients take their first rows and stop, each with what one scan can have; then each goes on.
async fn stop_and_go_on(work: &ScanWork, running: usize) {
    let idle = Duration::from_millis(20);
    let server = Server::start_short_of_memory(running, idle, Duration::from_secs(30)).await;
    let (expected, _) = server.rows(sign(work.clone())).await.unwrap();
    let (_, undisturbed) = server.rows(sign(work.clone())).await.unwrap();
    let stop = async || {
        let ticket = sign(work.clone());
        let answer = server.client().await.do_get(Ticket { ticket }).await;
        let mut batches = decode(answer.unwrap().into_inner());
        let schema = batches.schema().await.unwrap();
        let first = batches.try_next().await.unwrap().unwrap();
        assert!(first.num_rows() < expected.num_rows());
        (batches, schema, vec![first])
    };
    // With one place, one other can have left it.
    let mut stopped = vec![stop().await, stop().await];
    if running > 1 {
        stopped.push(stop().await);
    }
    let clients = stopped.len() as u64;
    let mut requests = 0;
    for (mut batches, schema, mut read) in stopped {
        read.extend(batches.by_ref().try_collect::<Vec<_>>().await.unwrap());
        assert!(concat_batches(&schema, &read).unwrap() == expected);
        let report: ScanReport = serde_json::from_slice(batches.app_metadata()).unwrap();
        assert!(report.complete);
        let rows = report.counts.rows_returned;
        assert_eq!(rows, undisturbed.counts.rows_returned);
        requests += report.counts.requests;
    }
    // What was read twice is counted twice; where the rows of files are known, little is.
    let least = clients * undisturbed.counts.requests;
    let known = work
        .tasks
        .iter()
        .all(|task| task.file.record_count.is_some());
    assert!(known || requests > least, "{requests} <= {least}");
    server.stop().await;
}

#[tokio::test]
async fn without_that_a_scan_says_how_long_it_waited_for_memory() {
    let (_dir, _, work) = many(MANY_ROWS, 3).await;
    let server =
        Server::start_short_of_memory(8, Duration::from_mins(1), Duration::from_millis(300)).await;
    let ticket = sign(work.clone());
    let answer = server.client().await.do_get(Ticket { ticket }).await;
    let mut held = decode(answer.unwrap().into_inner());
    held.try_next().await.unwrap().unwrap();
    let (code, message) = server.error(sign(work)).await;
    assert_eq!(code, Code::ResourceExhausted, "{message}");
    assert!(message.contains("too many scans at once"), "{message}");
    drop(held);
    server.stop().await;
}

#[tokio::test]
async fn over_the_limit_a_ticket_is_told_when_to_come_again() {
    let (_dir, _, work) = many(MANY_ROWS, 60).await;
    let limits = TicketLimits {
        running: 1,
        waiting: 8,
        wait: Duration::from_millis(50),
        idle: Duration::from_mins(1),
    };
    let server = Server::start_with(None, limits).await;
    let ticket = || Ticket {
        ticket: sign(work.clone()),
    };
    // The first client takes its stream and does not read it.
    let held = server.client().await.do_get(ticket()).await.unwrap();
    let refusal = server.client().await.do_get(ticket()).await.unwrap_err();
    assert_eq!(refusal.code(), Code::ResourceExhausted, "{refusal}");
    assert!(
        refusal.message().contains("try again in 1000 ms"),
        "{refusal}"
    );
    assert_eq!(
        refusal.metadata().get("grpc-retry-pushback-ms").unwrap(),
        "1000"
    );
    drop(held);
    let (rows, _) = eventually("a free place", async || {
        server.rows(sign(work.clone())).await.ok()
    })
    .await;
    assert_eq!(rows, orders_batch(MANY_ROWS, 0..MANY_ROWS).unwrap());
    server.stop().await;
}

#[tokio::test]
async fn waiting_is_counted() {
    let (_dir, _, work) = many(MANY_ROWS, 60).await;
    let limits = TicketLimits {
        running: 1,
        idle: Duration::from_mins(1),
        ..TicketLimits::default()
    };
    let server = Server::start_with(None, limits).await;
    let ticket = sign(work);
    // A second ticket may be slow to arrive, so the first is held longer until the wait is seen.
    let mut hold = Duration::from_millis(50);
    eventually("a counted wait", async || {
        hold *= 2;
        let first = Ticket {
            ticket: ticket.clone(),
        };
        let first = server.client().await.do_get(first).await.unwrap();
        let (second, ()) = tokio::join!(server.rows(ticket.clone()), async {
            tokio::time::sleep(hold).await;
            drop(first);
        });
        let (_, report) = second.unwrap();
        let queued = u128::from(report.counts.queued_ms);
        (queued >= hold.as_millis() / 2).then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_keeps_no_other_waiting_and_loses_no_row() {
    let (_dir, _, work) = many(MANY_ROWS, 60).await;
    let limits = TicketLimits {
        running: 1,
        idle: Duration::from_millis(10),
        ..TicketLimits::default()
    };
    let server = Server::start_with(None, limits).await;
    let ticket = || Ticket {
        ticket: sign(work.clone()),
    };
    let mut clients = [server.client().await, server.client().await];
    let mut held = Vec::new();
    for client in &mut clients {
        held.push(client.do_get(ticket()).await.unwrap().into_inner());
    }
    let expected = orders_batch(MANY_ROWS, 0..MANY_ROWS).unwrap();
    let (rows, _) = server.rows(sign(work.clone())).await.unwrap();
    assert_eq!(rows, expected);
    for stream in held {
        let mut batches = decode(stream);
        let schema = batches.schema().await.unwrap();
        let read: Vec<_> = batches.by_ref().try_collect().await.unwrap();
        assert_eq!(concat_batches(&schema, &read).unwrap(), expected);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_listens_on_every_address_leaves_its_location_to_the_planner() {
    let listener = Listener::bind("0.0.0.0:0", true).await.unwrap();
    let server = Server::start_on(listener, None, TicketLimits::default());
    let mut client = server.client().await;
    let action = Action::new("fulmar.server", "");
    let mut answer = client.do_action(action).await.unwrap().into_inner();
    let body = answer.message().await.unwrap().unwrap().body;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["location"], "");
    server.stop().await;
}

#[tokio::test]
async fn at_shutdown_streams_finish_and_the_server_ends() {
    let (_dir, _, work) = many(MANY_ROWS, 60).await;
    let server = Server::start().await;
    let ticket = sign(work);
    let mut client = server.client().await;
    let first = Ticket {
        ticket: ticket.clone(),
    };
    let answer = client.do_get(first).await.unwrap();
    let late = Ticket { ticket };
    let mut batches = decode(answer.into_inner());
    batches.schema().await.unwrap();
    let uri = server.location.replace("grpc+tcp", "http");
    let channel = Channel::from_shared(uri).unwrap().connect().await.unwrap();
    let mut health = HealthClient::new(channel);
    let watch = HealthCheckRequest::default();
    let mut health = health.watch(watch).await.unwrap().into_inner();
    let serving = health.message().await.unwrap().unwrap().status();
    assert_eq!(serving, ServingStatus::Serving);

    server.shutdown.cancel();
    let serving = health.message().await.unwrap().unwrap().status();
    assert_eq!(serving, ServingStatus::NotServing);
    drop(health);
    let refusal = client.do_get(late).await.unwrap_err();
    // Which of the two depends on whether the connection knows already that it is closing.
    assert!(
        matches!(refusal.code(), Code::Unavailable | Code::Cancelled),
        "{refusal}"
    );
    let mut rows = 0;
    while let Some(batch) = batches.try_next().await.unwrap() {
        rows += batch.num_rows();
    }
    assert_eq!(rows as u64, MANY_ROWS);
    server.task.await.unwrap().unwrap();
}
