use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use fixtures::{Result, Written, orders_paged, orders_paged_dictionary, orders_sorted};
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::random_filters::{Shape, coerced, shapes};
use super::table::Table;
use crate::Limits;

struct Fixture {
    _dir: TempDir,
    table: Table,
    rows: RecordBatch,
}

/// So small that every row group is a wave and waits for the one before.
const TINY: Limits = Limits {
    wave_bytes: 1,
    memory_bytes: 1,
    patience: Duration::from_secs(10),
    footer_bytes: 1,
    batch_rows: 7,
    kept_bytes: 1,
    open_ahead: 1,
};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static AWKWARD: LazyLock<Fixture> = LazyLock::new(|| fixture(Limits::default(), fixtures::awkward));
static SORTED: LazyLock<Fixture> = LazyLock::new(|| fixture(TINY, |dir| orders_sorted(dir, 5_000)));
static PAGED: LazyLock<Fixture> =
    LazyLock::new(|| fixture(Limits::default(), |dir| orders_paged(dir, 50_000)));
static DICTIONARY: LazyLock<Fixture> = LazyLock::new(|| {
    fixture(Limits::default(), |dir| {
        orders_paged_dictionary(dir, 50_000)
    })
});

fn fixture(limits: Limits, write: impl Fn(&Path) -> Result<Written>) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let written = write(dir.path()).unwrap();
    let table = RUNTIME.block_on(Table::limited("fixture", &written, limits));
    let columns: Vec<String> = table
        .visible()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let rows = table.expected(&columns, None);
    Fixture {
        _dir: dir,
        table,
        rows,
    }
}

fn check(fixture: &Fixture, shape: &Shape, simplify: bool, projection: &[usize]) {
    let Fixture { table, rows, .. } = fixture;
    let schema = table.visible();
    let all: Vec<usize> = (0..schema.fields().len()).collect();
    let filter = coerced(shape.expr(rows, &all), &schema, simplify);
    let positions: Vec<usize> = projection
        .iter()
        .map(|position| position % all.len())
        .collect();
    RUNTIME.block_on(table.check(rows, &filter, &positions));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn awkward_rows_are_the_same_pruned_and_unpruned(
        shape in shapes(), simplify: bool, projection in prop::collection::vec(any::<usize>(), 0..3)
    ) {
        check(&AWKWARD, &shape, simplify, &projection);
    }

    #[test]
    fn orders_are_the_same_pruned_and_unpruned(
        shape in shapes(), simplify: bool, projection in prop::collection::vec(any::<usize>(), 0..3)
    ) {
        check(&SORTED, &shape, simplify, &projection);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn paged_orders_are_the_same_pruned_and_unpruned(
        shape in shapes(), simplify: bool, projection in prop::collection::vec(any::<usize>(), 0..3)
    ) {
        check(&PAGED, &shape, simplify, &projection);
        check(&DICTIONARY, &shape, simplify, &projection);
    }
}

#[test]
fn every_column_of_awkward_comes_through() {
    let Fixture { table, rows, .. } = &*AWKWARD;
    let schema = table.visible();
    for field in schema.fields() {
        let columns = [field.name().as_str()];
        let scanned = RUNTIME.block_on(table.scan(table.spec(&columns, None)));
        assert_eq!(
            scanned.rows.column(0),
            rows.column_by_name(field.name()).unwrap(),
            "{field}"
        );
    }
}
