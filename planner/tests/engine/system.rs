//! Commands through tickets, and what the system tables say afterwards.

use std::time::Duration;

use crate::lake::{Answer, Lake, session, statement};

/// Asks until the log has what was asked for; it is written behind the queries.
async fn until(lake: &Lake, sql: &str, rows: usize) -> Answer {
    for _ in 0..100 {
        let answer = lake.query(sql).await;
        if answer.rows() == rows {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never {rows} rows: {sql}");
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_tickets_and_skips_are_rows() {
    let lake = Lake::start(1).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 24_000).unwrap();
    })
    .await;
    let query = "SELECT order_id FROM orders WHERE order_date = DATE '2024-03-07'";
    let answer = lake.query(query).await;
    let id = &answer.plan.query_id.0;

    let sql =
        format!("SELECT * FROM system.queries WHERE query_id = '{id}' AND state = 'finished'");
    let row = until(&lake, &sql, 1).await;
    assert_eq!(row.column("files_total"), ["12"]);
    assert_eq!(row.column("files_skipped_by_bounds"), ["11"]);
    assert_eq!(row.column("tickets"), ["1"]);
    assert_eq!(row.column("principal"), ["tester"]);
    assert_eq!(row.column("rows_returned"), [answer.rows().to_string()]);

    let sql = format!("SELECT * FROM system.tickets WHERE query_id = '{id}'");
    let row = until(&lake, &sql, 1).await;
    assert_eq!(row.column("table_name"), ["fulmar.main.orders"]);
    assert_eq!(row.column("complete"), ["true"]);
    assert_eq!(
        row.column("requests"),
        [answer.reports[0].counts.requests.to_string()]
    );

    let sql = format!("SELECT * FROM system.skips WHERE query_id = '{id}' AND unit = 'file'");
    let rows = until(&lake, &sql, 11).await;
    assert!(
        rows.column("reason")
            .iter()
            .all(|reason| reason.contains("order_date"))
    );
    assert!(rows.column("level").iter().all(|level| level == "bounds"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_files_and_snapshots_are_rows_and_commands_change_them() {
    let lake = Lake::start(1).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 2_400).unwrap();
    })
    .await;
    let tables = lake.query("SELECT * FROM system.tables").await;
    assert_eq!(tables.column("table_name"), ["orders"]);
    assert_eq!(tables.column("kind"), ["listing"]);
    assert_eq!(tables.column("row_count"), ["2400"]);
    let files = lake.query("SELECT * FROM system.files ORDER BY path").await;
    assert_eq!(files.rows(), 12);
    assert!(files.column("partition_values")[0].starts_with("month="));
    assert!(files.column("bounds")[0].contains("order_id: 0 to "));
    let snapshots = lake.query("SELECT snapshot_id FROM system.snapshots").await;
    assert_eq!(snapshots.rows(), 1);

    let refreshed = lake.query("REFRESH TABLE orders").await;
    assert!(refreshed.column("status")[0].starts_with("refreshed fulmar.main.orders: 12 files"));
    let planned = lake
        .engine
        .plan(&session(), statement("DROP TABLE orders"))
        .await
        .unwrap();
    assert_eq!(
        lake.query("SELECT * FROM system.tables").await.rows(),
        1,
        "not run by planning"
    );
    let dropped = lake.fetch(planned).await.unwrap();
    assert_eq!(dropped.column("status"), ["dropped fulmar.main.orders"]);
    assert_eq!(lake.query("SELECT * FROM system.tables").await.rows(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_can_be_read_with_sql() {
    let lake = Lake::start(1).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 2_400).unwrap();
    })
    .await;
    let shown = lake.query("SHOW TABLES").await;
    assert!(shown.column("table_name").contains(&"orders".to_owned()));
    assert!(shown.column("table_name").contains(&"queries".to_owned()));
    let columns = lake.query("DESCRIBE orders").await;
    assert!(columns.column("column_name").contains(&"month".to_owned()));
    let sql = "SELECT data_type FROM information_schema.columns \
               WHERE table_name = 'orders' AND column_name = 'order_date'";
    assert_eq!(lake.query(sql).await.column("data_type"), ["Date32"]);
}
