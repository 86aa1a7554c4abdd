//! How processes and queries end: what is under way when a service is asked to stop, or a client leaves.

use std::time::Duration;

use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use futures::TryStreamExt;

use crate::flight::Connection;
use crate::processes::{Service, local, wait_for};
use crate::topology::orders_in_a_cluster;

/// Some 25 MB, 8 MB of each month, far more than waits anywhere between a service and a client that does not read.
const LONG: &str = "SELECT repeat(note, 200) AS text FROM orders WHERE order_id < 6000";
const LONG_ROWS: usize = 6_000;

/// Rows of the next batch; nothing at the end.
async fn next_rows(stream: &mut FlightDataDecoder) -> Result<Option<usize>, String> {
    while let Some(message) = stream.try_next().await.map_err(|e| e.to_string())? {
        if let DecodedPayload::RecordBatch(batch) = message.payload {
            return Ok(Some(batch.num_rows()));
        }
    }
    Ok(None)
}

/// Reads the first batch, asks the service to end, and reads the rest once it has begun to.
async fn rows_across_sigterm(mut stream: FlightDataDecoder, service: &Service) -> usize {
    let mut rows = next_rows(&mut stream).await.unwrap().unwrap();
    service.ask_to_end();
    wait_for("the service to drain", || {
        service.log().contains("asked to end").then_some(())
    });
    while let Some(more) = next_rows(&mut stream).await.unwrap() {
        rows += more;
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_half_read_survives_the_sigterm_of_its_flight_server() {
    let (_dir, mut cluster) = orders_in_a_cluster(1, 1).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let mut info = connection.info(LONG).await.unwrap();
    info.endpoint.truncate(1);
    let endpoint = info.endpoint[0].clone();
    assert_eq!(endpoint.location[0].uri, cluster.flight_location(0));
    let expected = connection.fetch(info).await.unwrap().rows();
    let stream = connection.open_endpoint(&endpoint).await.unwrap();
    let server = cluster.flight_servers[0].take().unwrap();
    assert_eq!(rows_across_sigterm(stream, &server).await, expected);
    assert!(server.ended().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_half_read_survives_the_sigterm_of_its_planner() {
    let (_dir, mut cluster) = orders_in_a_cluster(1, 1).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let sorted = format!("{LONG} ORDER BY order_id");
    let info = connection.info(&sorted).await.unwrap();
    let stream = connection.open_endpoint(&info.endpoint[0]).await.unwrap();
    let planner = cluster.planner.take().unwrap();
    assert_eq!(rows_across_sigterm(stream, &planner).await, LONG_ROWS);
    assert!(planner.ended().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_goes_on_for_too_long_is_cut_and_that_is_a_failure() {
    let (_dir, mut cluster) = orders_in_a_cluster(1, 0).await;
    cluster.start_flight_server_with(0, &["--drain-limit", "100ms"]);
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let info = connection.info(LONG).await.unwrap();
    let mut stream = connection.open_endpoint(&info.endpoint[0]).await.unwrap();
    next_rows(&mut stream).await.unwrap().unwrap();
    let server = cluster.flight_servers[0].take().unwrap();
    server.ask_to_end();
    wait_for("the streams to be cut", || {
        server.log().contains("were cut").then_some(())
    });
    assert_eq!(server.ended().code(), Some(1));
    let mut rest = Ok(Some(0));
    while let Ok(Some(_)) = rest {
        rest = next_rows(&mut stream).await;
    }
    assert!(rest.is_err(), "a cut stream does not look complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_process_drains_on_sigterm() {
    let (_dir, mut cluster) = orders_in_a_cluster(1, 1).await;
    let server = cluster.flight_servers[0].take().unwrap();
    for service in [
        cluster.planner.take().unwrap(),
        server,
        cluster.catalog.take().unwrap(),
    ] {
        assert!(service.terminate().success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_join_stops_when_its_client_goes_away() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fixtures::orders_paged(&data.join("orders"), 24_000).unwrap();
    let service = local(dir.path(), &data);
    let mut connection = Connection::open(&service.location()).await;
    let join = "SELECT count(*) FROM orders a JOIN orders b ON a.status = b.status \
                JOIN orders c ON b.status = c.status";
    let info = connection.info(join).await.unwrap();
    let patience = Duration::from_millis(500);
    let fetching = tokio::time::timeout(patience, connection.fetch(info));
    assert!(fetching.await.is_err(), "not huge");
    wait_for("the join to stop", || {
        let before = service.ticks();
        std::thread::sleep(patience);
        // Of fifty; a service at rest uses none.
        (service.ticks() - before < 5).then_some(())
    });
    let after = "SELECT count(*) FROM orders";
    assert_eq!(connection.query(after).await.unwrap().scalar(), "24000");
}
