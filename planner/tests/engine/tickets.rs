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
async fn filters_of_tens_of_thousands_of_terms_are_run() {
    let lake = by_month(1).await;
    let ids: Vec<String> = (0..20_000).map(|id| (id * 2).to_string()).collect();
    let list = |column: &str| format!("{column} IN ({})", ids.join(", "));
    let chain = |test: &str, operator: &str, terms: usize| -> String {
        let ids = ids.iter().take(terms);
        let terms: Vec<String> = ids.map(|id| format!("{test} {id}")).collect();
        terms.join(operator)
    };
    let expected = lake.query("SELECT order_id FROM orders WHERE order_id % 2 = 0");
    let expected = expected.await.lines();
    for filter in [
        list("order_id"),
        list("order_id + 0"),
        chain("order_id =", " OR ", 20_000),
        chain("order_id <> -1 -", " AND ", 5000) + " AND order_id % 2 = 0",
    ] {
        let answer = lake
            .query(&format!("SELECT order_id FROM orders WHERE {filter}"))
            .await;
        assert_eq!(answer.lines(), expected, "{}", &filter[..100]);
    }
    let outer = chain("order_id =", " OR ", 3000);
    let counted = lake
        .query(&format!(
            "SELECT count(*) AS n FROM (SELECT * FROM orders LIMIT 100000) WHERE {outer}"
        ))
        .await;
    assert_eq!(counted.column("n"), ["3000"]);
    let sum = vec!["order_id"; 200].join(" + ");
    let answer = lake
        .query(&format!("SELECT max({sum}) AS n FROM orders"))
        .await;
    assert_eq!(answer.rows(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_cuts_scans_short_is_told() {
    let lake = by_month(1).await;
    let sql = "SELECT order_id FROM orders LIMIT 9000";
    let answer = lake.query(sql).await;
    assert_eq!(answer.rows(), 9000);
    let whole = lake
        .query("SELECT count(DISTINCT order_id) FROM orders")
        .await;
    assert!(whole.reports[0].complete);
    let explained = lake.query(&format!("EXPLAIN {sql}")).await;
    let files = explained.column("plan").pop().unwrap();
    let expected = "predicted: at least 5 requests";
    assert!(files.contains(expected), "{files}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_tables_that_are_read_are_pinned() {
    let lake = by_month(1).await;
    lake.create("others", |dir| {
        fixtures::orders_sorted(dir, 100).unwrap();
    })
    .await;
    let pins = |plan: &fulmar_planner::QueryPlan| {
        let keys = wire::TicketKeys::parse("test:000102030405060708090a0b0c0d0e0f").unwrap();
        let now = chrono::Utc::now().timestamp_millis();
        match keys.verify(&plan.endpoints[0].ticket, now).unwrap().work {
            wire::Work::Statement(work) => work.snapshots,
            wire::Work::Scan(_) => panic!("it is no scan"),
        }
    };
    let listing =
        "SELECT count(*) AS n FROM information_schema.columns WHERE table_schema = 'main'";
    let plan = lake.engine.plan(&session(), statement(listing)).await;
    assert_eq!(pins(&plan.unwrap()), []);
    let both = format!("SELECT (SELECT count(*) FROM others) AS rows, ({listing}) AS columns");
    let plan = lake
        .engine
        .plan(&session(), statement(&both))
        .await
        .unwrap();
    let [pin] = pins(&plan).try_into().unwrap();
    assert_eq!(pin.table.table, "others");
    let folder = lake.dir.path().join("others");
    fixtures::orders_sorted(&folder.join("more"), 50).unwrap();
    let refresh = statement("REFRESH TABLE others");
    lake.engine
        .execute_update(&session(), refresh)
        .await
        .unwrap();
    let answer = lake.fetch(plan).await.unwrap();
    assert_eq!(answer.column("rows"), ["100"]);
    assert_eq!(lake.query(&both).await.column("rows"), ["150"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_partitions_are_identifiers() {
    let lake = Lake::start(1).await;
    let folder = lake.dir.path().join("orders");
    fixtures::orders_by_month(&folder, 1200).unwrap();
    for (name, works) in [("MONTH", true), ("\"month\"", true), ("\"Month\"", false)] {
        let sql = format!(
            "CREATE OR REPLACE EXTERNAL TABLE orders STORED AS PARQUET PARTITIONED BY ({name}) LOCATION '{}'",
            folder.display()
        );
        let done = lake
            .engine
            .execute_update(&session(), statement(&sql))
            .await;
        assert_eq!(done.is_ok(), works, "{name}: {done:?}");
    }
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
