//! The commands as a user types them.

use crate::flight::Connection;
use crate::processes::{Running, fulmar, local, wait_for};
use crate::topology::orders_in_a_cluster;

fn run(args: &[&str]) -> (String, String) {
    let output = fulmar().args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{args:?}: {stderr}");
    (stdout, stderr)
}

#[test]
fn the_demo_shows_what_was_skipped_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let (shown, _) = run(&["demo", "--once", "--rows", "24000", "--dir", folder]);
    for part in [
        "order_id │ customer_id │ amount",
        "12: 11 ruled out",
        "month=2024-01",
        "requests",
        "adbc_driver_flightsql",
    ] {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
}

#[test]
fn statements_print_tables_csv_and_json() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fixtures::orders_by_month(&data.join("orders"), 2_400).unwrap();
    let service = local(dir.path(), &data);
    let location = service.location();
    let sql = |args: &[&str]| {
        let mut all = vec!["sql", "--planner", location.as_str()];
        all.extend(args);
        run(&all).0
    };
    let select = "SELECT order_id, status IS NULL AS x FROM orders WHERE order_id < 2 ORDER BY 1";
    assert_eq!(
        sql(&["--format", "csv", select]),
        "order_id,x\n0,false\n1,false\n"
    );
    assert_eq!(
        sql(&["--format", "json", select]),
        "{\"order_id\":0,\"x\":false}\n{\"order_id\":1,\"x\":false}\n"
    );
    assert!(
        sql(&[select]).contains("        0 │ false"),
        "{}",
        sql(&[select])
    );
    let report = fulmar()
        .args(["sql", "--planner", &location, "--report"])
        .arg("SELECT note FROM orders WHERE order_date = DATE '2024-03-01'")
        .output()
        .unwrap();
    let everything = String::from_utf8([report.stdout, report.stderr].concat()).unwrap();
    assert!(everything.contains("requests"), "{everything}");

    let table = |args: &[&str]| {
        let mut all = vec!["table"];
        all.extend(args);
        all.extend(["--planner", location.as_str()]);
        run(&all).0
    };
    assert!(table(&["list"]).contains("orders"));
    assert_eq!(table(&["files", "orders"]).matches(".parquet").count(), 12);
    let snapshots = |operation| {
        let csv = table(&["snapshots", "orders", "--format", "csv"]);
        csv.lines().filter(|line| line.contains(operation)).count()
    };
    assert_eq!((snapshots("create"), snapshots("adopt")), (1, 0));
    let metadata = table(&["adopt", "orders"]);
    assert!(metadata.trim().ends_with(".metadata.json"), "{metadata}");
    assert_eq!((snapshots("create"), snapshots("adopt")), (1, 1));
    assert!(sql(&["--format", "csv", "SELECT count(*) AS n FROM orders"]).contains("2400"));
    table(&["drop", "orders"]);
    assert!(!table(&["list"]).contains("orders"));
    assert!(
        data.join("orders/month=2024-01/part-0.parquet").exists(),
        "files stay"
    );
}

#[test]
fn a_demo_that_is_interrupted_while_it_makes_tables_ends_at_once_and_well() {
    let dir = tempfile::tempdir().unwrap();
    let notes = dir.path().join("notes");
    let demo = fulmar()
        .args(["demo", "--listen", "127.0.0.1:0", "--rows", "200000000"])
        .arg("--dir")
        .arg(dir.path().join("demo"))
        .stderr(std::fs::File::create(&notes).unwrap())
        .spawn();
    let mut demo = Running(demo.unwrap());
    wait_for("tables to be made", || {
        let notes = std::fs::read_to_string(&notes).unwrap();
        notes.starts_with("making 200,000,000 orders").then_some(())
    });
    demo.signal("INT");
    let status = demo.ended();
    assert!(
        status.success(),
        "{}",
        std::fs::read_to_string(notes).unwrap()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_as_json_name_the_query_and_the_ticket() {
    let (_dir, mut cluster) = orders_in_a_cluster(1, 0).await;
    cluster.start_flight_server_with(0, &["--log-format", "json"]);
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let scan = "SELECT order_id FROM orders WHERE order_id < 10";
    let answer = connection.query(scan).await.unwrap();
    let [report] = answer.reports.as_slice() else {
        panic!("{} reports", answer.reports.len());
    };
    let server = cluster.flight_servers[0].as_ref().unwrap();
    let line = wait_for("the scan to be logged", || {
        let lines = server.log();
        let mut lines = lines.lines().map(|line| {
            serde_json::from_str::<serde_json::Value>(line)
                .unwrap_or_else(|e| panic!("{line}: {e}"))
        });
        lines.find(|line| line["message"] == "ticket scanned")
    });
    assert_eq!(line["span"]["query_id"], report.query_id.0);
    assert_eq!(line["span"]["ticket_id"], report.ticket_id.0);
    assert_eq!(line["span"]["table"], "fulmar.main.orders");
    assert_eq!(line["rows"], 10);
}

#[test]
fn the_address_is_printed_as_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fixtures::customers(&data.join("customers"), 10).unwrap();
    let service = local(dir.path(), &data);
    let printed = wait_for("the address to be printed", || {
        Some(service.printed()).filter(|printed| printed.ends_with('\n'))
    });
    assert_eq!(printed, format!("listening on {}\n", service.address()));
}

#[test]
fn help_names_every_command() {
    let (help, _) = run(&["--help"]);
    for command in [
        "catalog",
        "planner",
        "flight-server",
        "local",
        "demo",
        "sql",
        "table",
    ] {
        assert!(help.contains(command), "{command}");
    }
}
