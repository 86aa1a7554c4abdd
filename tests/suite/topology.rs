//! Catalog, planner and Flight servers as processes that come, go and die.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use arrow_flight::FlightEndpoint;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use datafusion::parquet::arrow::ArrowWriter;
use futures::TryStreamExt;

use crate::flight::{Connection, get};
use crate::processes::{Cluster, fulmar, local, wait_for};

/// Rows of the table of [`orders_in_a_cluster`].
pub(crate) const CLUSTER_ROWS: u64 = 24_000;

/// Orders by month as a table of processes of their own.
pub(crate) async fn orders_in_a_cluster(
    known: usize,
    started: usize,
) -> (tempfile::TempDir, Cluster) {
    let dir = tempfile::tempdir().unwrap();
    let orders = dir.path().join("data/orders");
    fixtures::orders_by_month(&orders, CLUSTER_ROWS).unwrap();
    let cluster = Cluster::start(dir.path(), known, started);
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let create = format!(
        "CREATE EXTERNAL TABLE orders STORED AS PARQUET PARTITIONED BY (month) LOCATION '{}'",
        orders.display()
    );
    connection.update(&create).await.unwrap();
    (dir, cluster)
}

/// The Flight servers that are offered as first locations.
async fn servers_in_use(connection: &mut Connection) -> BTreeSet<String> {
    let info = connection
        .info("SELECT order_id FROM orders")
        .await
        .unwrap();
    info.endpoint
        .iter()
        .map(|endpoint| endpoint.location[0].uri.clone())
        .collect()
}

/// Asks until exactly these Flight servers are offered as first locations.
async fn wait_for_servers(connection: &mut Connection, expected: &BTreeSet<String>) {
    for _ in 0..300 {
        if servers_in_use(connection).await == *expected {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!(
        "{:?} in use, expected {expected:?}",
        servers_in_use(connection).await
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn twelve_files_use_all_three_flight_servers() {
    let (_dir, cluster) = orders_in_a_cluster(3, 3).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let all = (0..3)
        .map(|server| cluster.flight_location(server))
        .collect();
    wait_for_servers(&mut connection, &all).await;
    let answer = connection
        .query("SELECT order_id FROM orders")
        .await
        .unwrap();
    assert_eq!(answer.endpoints.len(), 12);
    assert_eq!(answer.rows() as u64, CLUSTER_ROWS);
    assert_eq!(answer.served_by.into_iter().collect::<BTreeSet<_>>(), all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_server_that_dies_before_its_ticket_is_used_costs_no_row() {
    let (_dir, mut cluster) = orders_in_a_cluster(3, 3).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let all = (0..3)
        .map(|server| cluster.flight_location(server))
        .collect();
    wait_for_servers(&mut connection, &all).await;
    let info = connection
        .info("SELECT order_id, note FROM orders")
        .await
        .unwrap();
    cluster.flight_servers[1].take().unwrap().kill();
    let answer = connection.fetch(info).await.unwrap();
    assert_eq!(answer.rows() as u64, CLUSTER_ROWS);
    assert!(!answer.served_by.contains(&cluster.flight_location(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_only_through_the_planner_loses_no_row_either() {
    let (_dir, mut cluster) = orders_in_a_cluster(3, 3).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let mut info = connection
        .info("SELECT order_id, note FROM orders")
        .await
        .unwrap();
    info.endpoint
        .iter_mut()
        .for_each(|endpoint| endpoint.location.clear());
    cluster.flight_servers[0].take().unwrap().kill();
    let answer = connection.fetch(info).await.unwrap();
    assert_eq!(answer.rows() as u64, CLUSTER_ROWS);
}

/// Rows of two kilobytes, numbered: far more than all the buffers between a Flight server and a client
/// that reads slowly take.
const WIDE_ROWS: i64 = 60_000;

fn write_wide_rows(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let text = "x".repeat(2000);
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..WIDE_ROWS))),
        (
            "text",
            Arc::new(StringArray::from_iter_values((0..WIDE_ROWS).map(|_| &text))),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(folder.join("wide.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Reads ids until there are so many, or to the end.
async fn read_ids(stream: &mut FlightDataDecoder, ids: &mut Vec<i64>, until: usize) {
    while ids.len() < until {
        let Some(message) = stream.try_next().await.unwrap() else {
            return;
        };
        if let DecodedPayload::RecordBatch(batch) = message.payload {
            let numbers = batch.column(0).as_primitive::<Int64Type>();
            ids.extend(numbers.values());
        }
    }
}

/// Plans until the planner knows of both Flight servers; gives the one endpoint.
async fn endpoint_of_two(connection: &mut Connection) -> FlightEndpoint {
    for _ in 0..300 {
        let info = connection.info("SELECT id, text FROM wide").await.unwrap();
        // Both of them and the planner.
        if info.endpoint[0].location.len() == 3 {
            return info.endpoint[0].clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the planner does not know of two Flight servers");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_through_the_planner_survives_one_flight_server_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("data/wide");
    write_wide_rows(&folder);
    let mut cluster = Cluster::start(dir.path(), 2, 2);
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let create = format!(
        "CREATE EXTERNAL TABLE wide STORED AS PARQUET LOCATION '{}'",
        folder.display()
    );
    connection.update(&create).await.unwrap();
    let endpoint = endpoint_of_two(&mut connection).await;
    let first = usize::from(endpoint.location[0].uri != cluster.flight_location(0));

    let mut ids = Vec::new();
    let mut stream = get(&cluster.planner_location(), &endpoint).await.unwrap();
    read_ids(&mut stream, &mut ids, 3000).await;
    cluster.flight_servers[first].take().unwrap().kill();
    read_ids(&mut stream, &mut ids, 25_000).await;
    cluster.start_flight_server(first);
    endpoint_of_two(&mut connection).await;
    cluster.flight_servers[1 - first].take().unwrap().kill();
    read_ids(&mut stream, &mut ids, usize::MAX).await;
    assert_eq!(ids.len(), usize::try_from(WIDE_ROWS).unwrap());
    assert!(
        ids.into_iter().eq(0..WIDE_ROWS),
        "no row is lost or comes twice"
    );
    let log = cluster.planner.as_ref().unwrap().log();
    let resumed = log.matches("trying another Flight server").count();
    assert!(resumed >= 2, "both streams broke half-way: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_server_that_starts_later_is_used_without_any_restart() {
    let (_dir, mut cluster) = orders_in_a_cluster(3, 2).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let two = (0..2)
        .map(|server| cluster.flight_location(server))
        .collect();
    wait_for_servers(&mut connection, &two).await;
    cluster.start_flight_server(2);
    let three = (0..3)
        .map(|server| cluster.flight_location(server))
        .collect();
    wait_for_servers(&mut connection, &three).await;
    let answer = connection
        .query("SELECT order_id FROM orders")
        .await
        .unwrap();
    assert_eq!(answer.rows() as u64, CLUSTER_ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn planner_and_catalog_lose_nothing_when_they_are_killed() {
    let (_dir, mut cluster) = orders_in_a_cluster(2, 2).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let snapshots = "SELECT snapshot_id FROM system.snapshots WHERE table_name = 'orders'";
    let before = connection.query(snapshots).await.unwrap().scalar();
    let info = connection
        .info("SELECT order_id FROM orders")
        .await
        .unwrap();
    let grouped = "SELECT month, count(*) FROM orders GROUP BY month";
    let statement = connection.info(grouped).await.unwrap();

    let catalog_address = cluster.catalog.as_ref().unwrap().address().to_owned();
    let planner_address = cluster.planner.as_ref().unwrap().address().to_owned();
    cluster.catalog.take().unwrap().kill();
    cluster.planner.take().unwrap().kill();
    let answer = connection.fetch(info.clone()).await.unwrap();
    assert_eq!(
        answer.rows() as u64,
        CLUSTER_ROWS,
        "tickets need neither catalog nor planner"
    );

    cluster.start_catalog(&catalog_address);
    cluster.start_planner(&planner_address);
    let mut connection = Connection::open(&cluster.planner_location()).await;
    assert_eq!(connection.query(snapshots).await.unwrap().scalar(), before);
    assert_eq!(
        connection.fetch(info).await.unwrap().rows() as u64,
        CLUSTER_ROWS
    );
    assert_eq!(connection.fetch(statement).await.unwrap().rows(), 12);
    let count = connection
        .query("SELECT count(*) FROM orders")
        .await
        .unwrap();
    assert_eq!(count.scalar(), CLUSTER_ROWS.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_clients_at_once_all_get_their_rows() {
    let (_dir, cluster) = orders_in_a_cluster(3, 3).await;
    let location = cluster.planner_location();
    let clients = (0..8).map(|client: u64| {
        let location = location.clone();
        tokio::spawn(async move {
            let mut connection = Connection::open(&location).await;
            for _ in 0..5 {
                let sql = format!("SELECT order_id FROM orders WHERE order_id % 8 = {client}");
                assert_eq!(
                    connection.query(&sql).await.unwrap().rows() as u64,
                    CLUSTER_ROWS / 8
                );
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_three_hundred_files_is_read_through_at_most_sixteen_endpoints() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fixtures::orders_many(&data.join("orders"), 30_000, 300).unwrap();
    let service = local(dir.path(), &data);
    let mut connection = Connection::open(&service.location()).await;
    let answer = connection
        .query("SELECT order_id FROM orders")
        .await
        .unwrap();
    assert!(
        answer.endpoints.len() <= 16,
        "{} endpoints",
        answer.endpoints.len()
    );
    assert_eq!(answer.rows(), 30_000);
    let tasks: usize = answer.reports.iter().map(|report| report.tasks.len()).sum();
    assert_eq!(tasks, 300, "reports stay per file");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_read_only_one_endpoint_get_everything_through_it() {
    let (_dir, cluster) = orders_in_a_cluster(2, 2).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    connection.header("endpoints", "single");
    let answer = connection
        .query("SELECT order_id FROM orders")
        .await
        .unwrap();
    assert_eq!(answer.endpoints.len(), 1);
    assert_eq!(answer.rows() as u64, CLUSTER_ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_client_goes_on_elsewhere_when_a_location_does_not_answer() {
    let (_dir, mut cluster) = orders_in_a_cluster(1, 0).await;
    let nobody = "grpc+tcp://127.0.0.1:1";
    cluster.start_flight_server_with(0, &["--advertise", nobody]);
    let location = cluster.planner_location();
    let mut connection = Connection::open(&location).await;
    wait_for_servers(&mut connection, &BTreeSet::from([nobody.to_owned()])).await;
    let output = fulmar()
        .args(["sql", "--planner", &location, "--format", "csv"])
        .arg("SELECT order_id FROM orders")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let ids = lines.filter_map(|line| std::str::from_utf8(line).unwrap().parse::<u64>().ok());
    assert_eq!(ids.collect::<BTreeSet<_>>().len() as u64, CLUSTER_ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_start_picks_up_files_that_came_and_went() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fixtures::orders_by_month(&data.join("orders"), CLUSTER_ROWS).unwrap();
    let first = local(dir.path(), &data);
    assert!(first.terminate().success());

    std::fs::remove_dir_all(data.join("orders/month=2024-12")).unwrap();
    fixtures::customers(&data.join("customers"), 100).unwrap();
    let second = local(dir.path(), &data);
    let mut connection = Connection::open(&second.location()).await;
    let months = connection
        .query("SELECT count(DISTINCT month) FROM orders")
        .await
        .unwrap();
    assert_eq!(months.scalar(), "11");
    let customers = connection
        .query("SELECT count(*) FROM customers")
        .await
        .unwrap();
    assert_eq!(customers.scalar(), "100");
    let log = wait_for("the start to be logged", || {
        Some(second.log()).filter(|log| log.contains("orders"))
    });
    assert!(!log.contains("ERROR"), "{log}");
}
