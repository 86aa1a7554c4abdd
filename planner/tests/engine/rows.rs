//! The same rows as plain DataFusion, whoever runs the statement.

use crate::lake::Lake;

const STATEMENTS: &[&str] = &[
    "SELECT status, count(*) AS n, sum(order_id) AS total, min(order_date) AS first FROM orders GROUP BY status",
    "SELECT count(*) AS n FROM orders",
    "SELECT count(*) AS n, max(order_id) AS last FROM orders WHERE order_date > DATE '2024-06-30'",
    "SELECT order_id, amount * 2 AS twice FROM orders WHERE country IN ('UK', 'BR') AND amount < 10",
    "SELECT order_id FROM orders ORDER BY amount DESC, order_id LIMIT 7",
    "SELECT c.segment, count(*) AS n FROM orders o JOIN customers c ON o.customer_id = c.customer_id \
     WHERE o.order_date < DATE '2024-02-01' GROUP BY c.segment",
    "WITH big AS (SELECT * FROM orders WHERE amount > 400) \
     SELECT country, row_number() OVER (PARTITION BY country ORDER BY order_id) AS place FROM big",
    "SELECT order_id FROM orders WHERE order_id < 5 UNION ALL SELECT order_id FROM orders WHERE order_id > 23995",
    "SELECT order_id FROM orders WHERE order_id < 50 EXCEPT SELECT order_id FROM orders WHERE status = 'paid'",
    "SELECT (SELECT max(amount) FROM orders) AS most, count(*) AS n FROM customers",
    "SELECT order_id FROM orders WHERE amount = (SELECT max(amount) FROM orders)",
    "SELECT upper(status) AS s, order_id % 7 AS r FROM orders WHERE note LIKE '%ff' AND order_id < 900",
    "SELECT customer_id FROM customers c WHERE EXISTS \
     (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND o.amount > 500)",
    "SELECT x FROM generate_series(1, 3) AS t(x)",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_statement_gives_the_rows_of_plain_datafusion() {
    let lake = Lake::start(2).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 24_000).unwrap();
    })
    .await;
    lake.create("customers", |dir| {
        fixtures::customers(dir, 2_400).unwrap();
    })
    .await;
    for sql in STATEMENTS {
        let answer = lake.query(sql).await;
        let expected = lake.plain(&["orders", "customers"], sql).await;
        assert_eq!(answer.lines(), expected, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_of_all_rows_opens_no_file() {
    let lake = Lake::start(0).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 2_400).unwrap();
    })
    .await;
    let answer = lake.query("SELECT count(*) AS n FROM orders").await;
    assert_eq!(answer.column("n"), ["2400"]);
    assert_eq!(answer.reports[0].counts.requests, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_statement_promises_the_schema_of_its_plan() {
    use fulmar_planner::Prepared;

    use crate::lake::{session, statement};

    let lake = Lake::start(1).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 2_400).unwrap();
    })
    .await;
    for sql in STATEMENTS.iter().filter(|sql| !sql.contains("customers")) {
        let plan = lake.engine.plan(&session(), statement(sql)).await.unwrap();
        match lake.engine.prepare(&session(), sql).await.unwrap() {
            Prepared::Query { schema, .. } => assert_eq!(schema, plan.schema, "{sql}"),
            Prepared::Command => panic!("{sql} is a query"),
        }
    }
}
