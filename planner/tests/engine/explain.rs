//! EXPLAIN says what is ruled out, and with ANALYZE what was read.

use crate::lake::Lake;

const QUERY: &str = "SELECT order_id FROM orders \
                     WHERE order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'";

async fn explained(lake: &Lake, kind: &str) -> Vec<(String, String)> {
    let answer = lake.query(&format!("{kind} {QUERY}")).await;
    let types = answer.column("plan_type");
    types.into_iter().zip(answer.column("plan")).collect()
}

fn part<'a>(rows: &'a [(String, String)], plan_type: &str) -> &'a str {
    let found = rows.iter().find(|(found, _)| found == plan_type);
    &found
        .unwrap_or_else(|| panic!("no {plan_type} in {rows:?}"))
        .1
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_explain_adds_its_facts() {
    let lake = Lake::start(1).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 24_000).unwrap();
    })
    .await;
    let rows = lake.query(QUERY).await.rows();

    let plain = explained(&lake, "EXPLAIN").await;
    assert!(part(&plain, "physical_plan").contains("ScanExec"));
    let files = part(&plain, "files");
    assert!(files.contains("12 files -> 12 after partition"), "{files}");
    assert!(files.contains("1 after bounds (11 skipped)"), "{files}");
    assert!(
        plain
            .iter()
            .all(|(kind, _)| kind != "scans" && kind != "skipped")
    );

    let analyzed = explained(&lake, "EXPLAIN ANALYZE").await;
    let scans = part(&analyzed, "scans");
    assert!(scans.starts_with(&format!("{rows} rows\n")), "{scans}");
    assert!(scans.contains("1 tickets, 1 files opened"), "{scans}");
    assert!(
        scans.contains(&format!("rows_returned: {rows}\n")),
        "{scans}"
    );

    let verbose = explained(&lake, "EXPLAIN ANALYZE VERBOSE").await;
    let skipped = part(&verbose, "skipped");
    let files = skipped
        .lines()
        .filter(|line| line.starts_with("file file://"));
    assert_eq!(files.count(), 11, "{skipped}");
    assert!(skipped.contains("order_date"), "{skipped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn very_many_skipped_files_are_counted_and_listed_only_when_asked_for() {
    let lake = Lake::start(1).await;
    lake.create("orders", |dir| {
        fixtures::orders_many(dir, 1200, 1200).unwrap();
    })
    .await;
    let sql = "SELECT order_id FROM orders WHERE order_id < 0";
    let answer = lake.query(sql).await;
    let metadata: serde_json::Value = serde_json::from_slice(&answer.plan.app_metadata).unwrap();
    assert_eq!(metadata["plan"]["files_skipped_by_bounds"], 1200);
    let logged = format!(
        "SELECT 1 FROM system.skips WHERE query_id = '{}'",
        answer.plan.query_id
    );
    let mut told = 0;
    for _ in 0..100 {
        told = lake.query(&logged).await.rows();
        if told > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(told, 1000);

    let verbose = lake.query(&format!("EXPLAIN VERBOSE {sql}")).await;
    let types = verbose.column("plan_type").into_iter();
    let skipped = types
        .zip(verbose.column("plan"))
        .filter(|(plan_type, _)| plan_type == "skipped");
    let lines: Vec<usize> = skipped.map(|(_, plan)| plan.lines().count()).collect();
    assert_eq!(lines, [1000, 200]);
}
