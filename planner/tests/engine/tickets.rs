//! Which statements become which tickets, and that every ticket is served.

use std::collections::BTreeSet;

use fulmar_planner::PlannerError;
use serde_json::Value;
use wire::{Categorized, Category};

use crate::lake::{Lake, session, statement};

const ROWS: u64 = 24_000;

const FORTNIGHT: &str = "order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'";

async fn by_month(servers: usize) -> Lake {
    let lake = Lake::start(servers).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, ROWS).unwrap();
    })
    .await;
    lake
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fortnight_is_one_ticket_of_twelve_files() {
    let lake = by_month(1).await;
    let sql = format!("SELECT order_id, amount FROM orders WHERE {FORTNIGHT}");
    let answer = lake.query(&sql).await;
    assert_eq!(answer.plan.endpoints.len(), 1);
    let metadata: Value = serde_json::from_slice(&answer.plan.app_metadata).unwrap();
    assert_eq!(metadata["query_id"], answer.plan.query_id.0);
    assert_eq!(metadata["plan"]["files_total"], 12);
    assert_eq!(metadata["plan"]["files_skipped_by_bounds"], 11);
    assert_eq!(answer.lines(), lake.plain(&["orders"], &sql).await);
    let [report] = answer.reports.as_slice() else {
        panic!("one ticket, one report");
    };
    assert!(report.complete);
    assert_eq!(report.counts.rows_returned, answer.rows() as u64);
    assert!(
        report.counts.requests <= 6,
        "{} requests",
        report.counts.requests
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn twelve_files_are_twelve_endpoints_on_all_three_servers() {
    let lake = by_month(3).await;
    lake.engine
        .plan(&session(), statement("SELECT 1"))
        .await
        .unwrap();
    wait_for_servers(&lake, 3).await;
    let answer = lake.query("SELECT * FROM fulmar.main.orders").await;
    assert_eq!(answer.plan.endpoints.len(), 12);
    assert_eq!(answer.rows() as u64, ROWS);
    let preferred: BTreeSet<&String> = answer
        .plan
        .endpoints
        .iter()
        .map(|endpoint| &endpoint.locations[0])
        .collect();
    assert_eq!(preferred.len(), 3);
    for endpoint in &answer.plan.endpoints {
        assert_eq!(endpoint.locations.len(), 3);
        assert_ne!(endpoint.locations[0], endpoint.locations[1]);
        assert!(endpoint.locations[2].starts_with("arrow-flight-reuse-connection"));
    }
}

/// Plans until all servers were found.
async fn wait_for_servers(lake: &Lake, servers: usize) {
    for _ in 0..200 {
        let sql = "SELECT order_id FROM orders";
        let plan = lake.engine.plan(&session(), statement(sql)).await.unwrap();
        let endpoints = plan.endpoints.iter();
        let found: BTreeSet<&String> = endpoints.map(|endpoint| &endpoint.locations[0]).collect();
        if found.len() == servers {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{servers} servers were not found");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_files_are_packed_into_sixteen_endpoints() {
    let lake = Lake::start(2).await;
    lake.create("orders", |dir| {
        fixtures::orders_many(dir, 3_000, 300).unwrap();
    })
    .await;
    let answer = lake.query("SELECT order_id FROM orders").await;
    assert_eq!(answer.plan.endpoints.len(), 16);
    assert_eq!(answer.rows(), 3_000);
    assert_eq!(
        answer
            .column("order_id")
            .into_iter()
            .collect::<BTreeSet<_>>()
            .len(),
        3_000
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn union_all_is_scanned_too_and_everything_else_is_one_endpoint() {
    let lake = by_month(1).await;
    let month =
        |month: u32| format!("SELECT order_id AS id FROM orders WHERE month = '2024-{month:02}'");
    for (sql, endpoints, scanned) in [
        (format!("{} UNION ALL {}", month(1), month(2)), 2, true),
        // One file surely holds enough rows, so that one ticket gives them all.
        ("SELECT order_id FROM orders LIMIT 3".to_owned(), 1, true),
        (
            "SELECT order_id FROM orders LIMIT 9000".to_owned(),
            1,
            false,
        ),
        (
            "SELECT order_id FROM orders ORDER BY 1".to_owned(),
            1,
            false,
        ),
        (
            "SELECT order_id FROM orders WHERE order_id < 0".to_owned(),
            1,
            false,
        ),
        (
            "SELECT order_id FROM orders WHERE random() < 2".to_owned(),
            1,
            false,
        ),
        ("SELECT abs(-1) AS one".to_owned(), 1, false),
    ] {
        let answer = lake.query(&sql).await;
        assert_eq!(answer.plan.endpoints.len(), endpoints, "{sql}");
        let locations = &answer.plan.endpoints[0].locations;
        assert_eq!(!locations.is_empty(), scanned, "{sql}");
        let limit = sql
            .split("LIMIT ")
            .nth(1)
            .and_then(|limit| limit.parse().ok());
        assert_eq!(limit.unwrap_or(answer.rows()), answer.rows(), "{sql}");
    }
    let mut single = session();
    single
        .options
        .insert("endpoints".to_owned(), "single".to_owned());
    let answer = lake
        .query_in(&single, "SELECT order_id FROM orders")
        .await
        .unwrap();
    assert_eq!(answer.plan.endpoints.len(), 1);
    assert_eq!(answer.rows() as u64, ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_survive_the_death_of_a_server() {
    let lake = by_month(2).await;
    wait_for_servers(&lake, 2).await;
    let sql = "SELECT order_id FROM orders";
    let plan = lake.engine.plan(&session(), statement(sql)).await.unwrap();
    let grouped = "SELECT month, count(*) AS n FROM orders GROUP BY month";
    let statement = lake
        .engine
        .plan(&session(), statement(grouped))
        .await
        .unwrap();
    lake.servers[0].1.cancel();
    let answer = lake.fetch(plan).await.unwrap();
    assert_eq!(answer.rows() as u64, ROWS);
    let answer = lake.fetch(statement).await.unwrap();
    assert_eq!(answer.rows(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_what_is_wrong() {
    let lake = by_month(0).await;
    let failing = [
        ("SELECT * FROM", Category::Invalid, "Expected"),
        (
            "SELECT * FROM ordres",
            Category::NotFound,
            "did you mean main.orders?",
        ),
        (
            "SELECT * FROM x.main.orders",
            Category::NotFound,
            "x.main.orders",
        ),
        ("SELECT colour FROM orders", Category::Invalid, "colour"),
        (
            "SELECT order_id + status FROM orders",
            Category::Invalid,
            "Int64 + Utf8",
        ),
        (
            "INSERT INTO orders VALUES (1)",
            Category::Unsupported,
            "INSERT INTO",
        ),
        ("DROP TABLE system.queries", Category::Invalid, "read-only"),
        ("DROP TABLE nothing", Category::NotFound, "nothing"),
        (
            "SELECT order_id FROM orders",
            Category::Unavailable,
            "no Flight server",
        ),
    ];
    for (sql, category, part) in failing {
        let error = lake.query_in(&session(), sql).await.unwrap_err();
        assert_eq!(error.category(), category, "{sql}: {error}");
        assert!(error.to_string().contains(part), "{sql}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_tickets_are_refused() {
    let lake = by_month(1).await;
    let sql = "SELECT order_id FROM orders";
    let plan = lake.engine.plan(&session(), statement(sql)).await.unwrap();
    let mut ticket = plan.endpoints[0].ticket.to_vec();
    let last = ticket.len() - 1;
    ticket[last] ^= 1;
    let error: PlannerError = lake.engine.do_get(&ticket).await.unwrap_err();
    assert_eq!(error.category(), Category::Unauthenticated);
}
