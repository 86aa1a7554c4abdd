//! Every query gives exactly the rows of plain DataFusion with pruning off.

use crate::flight::Connection;
use crate::plain::{Plain, Rows};
use crate::processes::{Service, local};
use crate::queries::{AWKWARD_FILTERS, ORDERS_FILTERS, ORDERS_LAYOUTS, STATEMENTS};
use crate::tables;

const ORDERS_COLUMNS: &str = "order_id, customer_id, order_date, amount, status, country, note";

struct Pair {
    plain: Plain,
    fulmar: Connection,
    differences: Vec<String>,
    _service: Service,
    _dir: tempfile::TempDir,
}

impl Pair {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let service = local(dir.path(), &tables::folder());
        let fulmar = Connection::open(&service.location()).await;
        let plain = tables::plain().await;
        Self {
            plain,
            fulmar,
            differences: Vec::new(),
            _service: service,
            _dir: dir,
        }
    }

    async fn compare(&mut self, sql: &str) {
        let expected = self.plain.query(sql).await;
        let answer = match self.fulmar.query(sql).await {
            Ok(answer) => Rows::of(&answer.schema, &answer.batches),
            Err(error) => return self.differences.push(format!("{sql}\n  {error}")),
        };
        let ordered = sql.contains("ORDER BY") && !sql.contains("OVER");
        let (expected, answer) = if ordered {
            (expected, answer)
        } else {
            (expected.sorted(), answer.sorted())
        };
        if expected.columns != answer.columns {
            let (expected, got) = (expected.columns, answer.columns);
            self.differences.push(format!(
                "{sql}\n  columns {got:?}\n  instead of {expected:?}"
            ));
        } else if expected.rows != answer.rows {
            self.differences
                .push(format!("{sql}\n  {}", first_difference(&expected, &answer)));
        }
    }

    fn finish(self, queries: usize) {
        let wrong = self.differences.len();
        assert!(
            self.differences.is_empty(),
            "{wrong} of {queries} queries differ:\n{}",
            self.differences.join("\n")
        );
        println!("{queries} queries gave the same rows");
    }
}

fn first_difference(expected: &Rows, answer: &Rows) -> String {
    let counts = format!(
        "{} rows, expected {}",
        answer.rows.len(),
        expected.rows.len()
    );
    let missing = expected.rows.iter().find(|row| !answer.rows.contains(row));
    let extra = answer.rows.iter().find(|row| !expected.rows.contains(row));
    format!("{counts}; missing {missing:?}; not expected {extra:?}")
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_over_every_layout_of_orders() {
    let mut pair = Pair::start().await;
    for layout in ORDERS_LAYOUTS {
        for filter in ORDERS_FILTERS {
            pair.compare(&format!(
                "SELECT {ORDERS_COLUMNS} FROM {layout} WHERE {filter}"
            ))
            .await;
        }
    }
    pair.finish(ORDERS_LAYOUTS.len() * ORDERS_FILTERS.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_over_awkward_types() {
    let mut pair = Pair::start().await;
    for filter in AWKWARD_FILTERS {
        pair.compare(&format!("SELECT id FROM awkward WHERE {filter}"))
            .await;
    }
    pair.finish(AWKWARD_FILTERS.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_column_of_awkward() {
    let mut pair = Pair::start().await;
    let awkward = fixtures::awkward::awkward_batch(0..1).unwrap();
    let schema = awkward.schema();
    for field in &schema.fields()[1..] {
        let name = format!("\"{}\"", field.name());
        pair.compare(&format!("SELECT id, {name} FROM awkward WHERE id % 7 = 0"))
            .await;
    }
    pair.finish(schema.fields().len() - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_statements() {
    let mut pair = Pair::start().await;
    for statement in STATEMENTS {
        pair.compare(statement).await;
    }
    pair.finish(STATEMENTS.len());
}
