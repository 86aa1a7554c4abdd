//! What bad input gets: one line that names the thing, and a service that goes on.

use std::path::Path;

use crate::flight::Connection;
use crate::processes::{Service, local};
use crate::topology::{CLUSTER_ROWS, orders_in_a_cluster};

struct Fixture {
    dir: tempfile::TempDir,
    service: Service,
    connection: Connection,
}

impl Fixture {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        fixtures::orders_by_month(&data.join("orders"), 2_400).unwrap();
        let service = local(dir.path(), &data);
        let connection = Connection::open(&service.location()).await;
        Self {
            dir,
            service,
            connection,
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// The error of a query or command.
    async fn refused(&mut self, sql: &str) -> String {
        match self.connection.query(sql).await {
            Ok(answer) => panic!("{sql} gave {} rows", answer.rows()),
            Err(error) => error,
        }
    }

    async fn create(&mut self, name: &str, folder: &Path) -> Result<i64, String> {
        let sql = format!(
            "CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{}'",
            folder.display()
        );
        self.connection.update(&sql).await
    }

    /// The service still answers, and no half-made table is left.
    async fn goes_on(mut self) {
        let tables = "SELECT table_name FROM system.tables";
        assert_eq!(
            self.connection.query(tables).await.unwrap().scalar(),
            "orders"
        );
        let count = self
            .connection
            .query("SELECT count(*) FROM orders")
            .await
            .unwrap();
        assert_eq!(count.scalar(), "2400");
        assert!(self.service.terminate().success());
    }
}

#[track_caller]
pub(crate) fn assert_names(error: &str, parts: &[&str]) {
    assert!(!error.contains('\n'), "not one line: {error}");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not named in: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_that_cannot_be_planned_is_refused_by_name() {
    let mut fixture = Fixture::new().await;
    let cases: [(&str, &[&str]); 7] = [
        ("SELECT * FROM nowhere", &["nowhere", "NotFound"]),
        (
            "SELECT nothing FROM orders",
            &["nothing", "InvalidArgument"],
        ),
        ("SELEC 1", &["SELEC", "InvalidArgument"]),
        (
            "SELECT order_id + status FROM orders WHERE",
            &["InvalidArgument"],
        ),
        ("SELECT abs('x', 1)", &["abs", "InvalidArgument"]),
        (
            "INSERT INTO orders VALUES (1)",
            &["INSERT", "Unimplemented"],
        ),
        ("DROP TABLE nowhere", &["nowhere", "NotFound"]),
    ];
    for (sql, parts) in cases {
        let error = fixture.refused(sql).await;
        assert_names(&error, parts);
    }
    fixture.goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_are_no_table_are_refused_by_name() {
    let mut fixture = Fixture::new().await;
    let (empty, broken) = (fixture.path("empty"), fixture.path("broken"));
    std::fs::create_dir(&empty).unwrap();
    let error = fixture
        .create("t", &fixture.path("missing"))
        .await
        .unwrap_err();
    assert_names(&error, &["missing", "NotFound"]);
    let error = fixture.create("t", &empty).await.unwrap_err();
    assert_names(&error, &["empty"]);
    fixtures::truncated(&broken).unwrap();
    let error = fixture.create("t", &broken).await.unwrap_err();
    assert_names(&error, &[".parquet", "DataLoss"]);
    fixtures::not_parquet(&fixture.path("text")).unwrap();
    let error = fixture
        .create("t", &fixture.path("text"))
        .await
        .unwrap_err();
    assert_names(&error, &[".parquet", "DataLoss"]);
    fixtures::clashing_schemas(&fixture.path("clash")).unwrap();
    let error = fixture
        .create("t", &fixture.path("clash"))
        .await
        .unwrap_err();
    assert_names(&error, &["clash", ".parquet", "FailedPrecondition"]);
    let error = fixture
        .create("orders", &fixture.path("data/orders"))
        .await
        .unwrap_err();
    assert_names(&error, &["orders", "AlreadyExists"]);
    fixture.goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_break_after_they_were_planned_are_named() {
    let mut fixture = Fixture::new().await;
    let file = fixture.path("data/orders/month=2024-05/part-0.parquet");
    let whole = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let error = fixture.refused("SELECT note FROM orders").await;
    assert_names(&error, &["month=2024-05/part-0.parquet", "NotFound"]);
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let error = fixture.refused("SELECT note FROM orders").await;
    assert_names(
        &error,
        &["month=2024-05/part-0.parquet", "FailedPrecondition"],
    );
    std::fs::write(&file, &whole).unwrap();
    fixture
        .connection
        .update("REFRESH TABLE orders")
        .await
        .unwrap();
    fixture.goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_pages_are_an_error_and_not_the_end_of_the_service() {
    let mut fixture = Fixture::new().await;
    let folder = fixture.path("damaged");
    fixtures::corrupt_pages(&folder).unwrap();
    fixture.create("damaged", &folder).await.unwrap();
    let error = fixture.refused("SELECT * FROM damaged").await;
    assert_names(&error, &[".parquet", "DataLoss"]);
    fixture
        .connection
        .update("DROP TABLE damaged")
        .await
        .unwrap();
    fixture.goes_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_is_down_is_named_and_the_planner_answers_what_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "planner",
        "--catalog",
        "http://127.0.0.1:1",
        "--flight-servers",
        "http://127.0.0.1:2",
    ];
    let planner = Service::start(dir.path(), "planner", "127.0.0.1:0", &args);
    let mut connection = Connection::open(&planner.location()).await;
    let error = connection.query("SELECT * FROM orders").await.err();
    assert_names(&error.unwrap(), &["catalog", "127.0.0.1:1", "Unavailable"]);
    let sum = connection.query("SELECT 1 + 1").await.unwrap();
    assert_eq!(sum.scalar(), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_server_that_is_down_is_named_when_no_other_is_live() {
    let (_dir, mut cluster) = orders_in_a_cluster(1, 1).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let scan = "SELECT order_id FROM orders";
    let grouped = "SELECT status, count(*) FROM orders GROUP BY status";
    let info = connection.info(scan).await.unwrap();
    let address = cluster.flight_location(0).replace("grpc+tcp://", "");
    cluster.flight_servers[0].take().unwrap().kill();

    // Tickets that are out, statements of one endpoint, and new queries, which may fail to be planned.
    let error = connection.fetch(info.clone()).await.err().unwrap();
    assert_names(&error, &[&address, "Unavailable"]);
    for sql in [scan, grouped] {
        let error = connection.query(sql).await.err().unwrap();
        assert_names(&error, &["Flight server", "Unavailable"]);
    }
    assert_eq!(
        connection.query("SELECT 1 + 1").await.unwrap().scalar(),
        "2"
    );

    cluster.start_flight_server(0);
    let count = connection.fetch(info).await.unwrap().rows();
    assert_eq!(count as u64, CLUSTER_ROWS, "the same tickets work again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_too_large_for_a_message_is_refused_by_its_size() {
    let mut fixture = Fixture::new().await;
    let one = "FROM orders WHERE order_id = 1";
    // By a Flight server, by the planner, and just small enough.
    for (sql, fits) in [
        (
            format!("SELECT repeat(status, 4000000) AS text {one}"),
            false,
        ),
        ("SELECT repeat('x', 20000000) AS text".to_owned(), false),
        (format!("SELECT repeat('x', 3000000) AS text {one}"), true),
    ] {
        match fixture.connection.query(&sql).await {
            Ok(answer) => assert!(fits && answer.rows() == 1, "{sql}"),
            Err(error) => {
                assert!(!fits, "{sql}: {error}");
                assert_names(&error, &["row", "16776192", "ResourceExhausted"]);
            }
        }
    }
    fixture.goes_on().await;
}
