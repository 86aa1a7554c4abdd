//! What a scan asks of an object store, request by request, and how long that takes on a network of 30 ms
//! and 80 MB/s in simulated time.

use std::sync::Arc;
use std::time::Duration;

use fixtures::{
    Result, Written, orders_bloom, orders_by_month, orders_paged, orders_paged_dictionary,
    orders_shuffled, orders_sorted,
};
use model::{Counts, Level};
use store::StoreProfile;
use tokio::time::Instant;

use super::table::Table;
use crate::scan::Scan;
use crate::{Recorder, ScanSpec};

const ROWS: u64 = 200_000;
const COLUMNS: [&str; 3] = ["order_id", "customer_id", "amount"];
const FORTNIGHT: &str = "order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'";

/// What one scan did.
struct Scanned {
    log: Vec<String>,
    counts: Counts,
    took: Duration,
    rows: usize,
    levels: Vec<Level>,
}

async fn table(
    write: impl Fn(&std::path::Path, u64) -> Result<Written>,
    profile: StoreProfile,
) -> Table {
    let dir = tempfile::tempdir().unwrap();
    let written = write(dir.path(), ROWS).unwrap();
    Table::remote("orders", &written, profile).await
}

/// The scan of one file, which a catalog has seen, by a server that has not.
async fn scan(table: &Table, spec: ScanSpec, file: usize) -> Scanned {
    let recorder = Recorder::new();
    let scan = Scan::new(Arc::clone(&table.scanner), Arc::new(spec), recorder.clone()).unwrap();
    let began = Instant::now();
    let mut task = Arc::new(scan).plan(table.tasks[file].clone()).await.unwrap();
    let mut rows = 0;
    while let Some(batch) = task.next().await.unwrap() {
        rows += batch.num_rows();
    }
    let took = began.elapsed();
    let log = task.ledger().entries();
    let line = |entry: &store::Entry| {
        let length = entry.range.end - entry.range.start;
        format!("{}: {} ({length})", entry.wave, entry.why)
    };
    let log = log.iter().map(line).collect();
    drop(task);
    let report = recorder.reports().remove(0);
    Scanned {
        log,
        counts: report.counts,
        took,
        rows,
        levels: report.skips.iter().map(|skip| skip.reason.level).collect(),
    }
}

async fn fortnight(table: &Table, file: usize) -> Scanned {
    let filter = table.filter(FORTNIGHT);
    scan(table, table.spec(&COLUMNS, Some(&filter)), file).await
}

fn takes(scanned: &Scanned, millis: std::ops::Range<u128>) {
    assert!(millis.contains(&scanned.took.as_millis()), "{:?} {:#?}", scanned.took, scanned.log);
}

#[tokio::test(start_paused = true)]
async fn of_a_month_the_footer_and_one_run_of_pages_are_read() {
    let table = table(orders_by_month, StoreProfile::BALANCED).await;
    let scanned = fortnight(&table, 2).await;
    assert_eq!(scanned.log, Vec::<String>::new());
    assert_eq!(scanned.rows, 7_651);
    takes(&scanned, 60..70);
}

#[tokio::test(start_paused = true)]
async fn where_bytes_count_each_column_is_a_request() {
    let table = table(orders_by_month, StoreProfile::BYTES).await;
    let scanned = fortnight(&table, 2).await;
    assert_eq!(scanned.log, Vec::<String>::new());
    let counts = scanned.counts;
    assert!(counts.bytes_fetched * 100 <= counts.bytes_needed * 105);
    takes(&scanned, 60..70);
}

#[tokio::test(start_paused = true)]
async fn of_pages_one_run_of_each_column_is_read() {
    for profile in [StoreProfile::BALANCED, StoreProfile::BYTES] {
        let table = table(orders_paged, profile).await;
        let scanned = fortnight(&table, 0).await;
        assert_eq!(scanned.log, Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn of_sorted_row_groups_the_two_that_can_match_are_read() {
    let table = table(orders_sorted, StoreProfile::BALANCED).await;
    let scanned = fortnight(&table, 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn of_shuffled_rows_all_is_read_at_once() {
    let table = table(orders_shuffled, StoreProfile::BALANCED).await;
    let scanned = fortnight(&table, 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn dictionaries_come_before_their_pages() {
    let table = table(orders_paged_dictionary, StoreProfile::BYTES).await;
    let scanned = fortnight(&table, 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_point_lookup_reads_the_output_where_its_row_is() {
    let table = table(orders_paged, StoreProfile::BYTES).await;
    let filter = table.filter("order_id = 123456");
    let scanned = scan(&table, table.spec(&COLUMNS, Some(&filter)), 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
    assert_eq!(scanned.rows, 1);
}

#[tokio::test(start_paused = true)]
async fn output_is_read_later_where_few_rows_are_left() {
    let table = table(orders_sorted, StoreProfile::BYTES).await;
    let filter = table.filter("customer_id = 4242 AND amount > 1");
    let scanned = scan(&table, table.spec(&["order_id", "note"], Some(&filter)), 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn bloom_filters_are_asked_where_bytes_count() {
    let table = table(orders_bloom, StoreProfile::BYTES).await;
    let filter = table.filter("customer_id = 4242");
    let scanned = scan(&table, table.spec(&["order_id", "note"], Some(&filter)), 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
    assert!(scanned.counts.row_groups_skipped_bloom > 0);
    assert!(scanned.levels.contains(&Level::Bloom));
}

#[tokio::test(start_paused = true)]
async fn a_dictionary_may_rule_a_row_group_out() {
    let table = table(orders_sorted, StoreProfile::BYTES).await;
    let filter = table.filter("status = 'pend'");
    let scanned = scan(&table, table.spec(&["order_id", "note"], Some(&filter)), 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
    assert_eq!(scanned.counts.row_groups_skipped_dictionary, 10);
    assert_eq!(scanned.rows, 0);
}

#[tokio::test(start_paused = true)]
async fn a_limit_stops_asking() {
    let table = table(orders_sorted, StoreProfile::BALANCED).await;
    let filter = table.filter("status = 'refunded'");
    let spec = ScanSpec {
        limit: Some(3),
        ..table.spec(&COLUMNS, Some(&filter))
    };
    let scanned = scan(&table, spec, 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
    assert_eq!(scanned.rows, 3);
}

#[tokio::test(start_paused = true)]
async fn a_footer_that_is_kept_is_not_read_again() {
    let table = table(orders_paged, StoreProfile::BALANCED).await;
    let first = fortnight(&table, 0).await;
    let second = fortnight(&table, 0).await;
    assert_eq!(second.log.len(), first.log.len() - 1);
    assert_eq!((second.counts.waves, second.counts.footer_cache_hits), (1, 1));
    takes(&second, 30..40);
}

#[tokio::test(start_paused = true)]
async fn a_filter_column_is_not_read_where_whole_pages_match() {
    let table = table(orders_paged, StoreProfile::BYTES).await;
    let filter = table.filter("order_id >= 20000");
    let scanned = scan(&table, table.spec(&["amount"], Some(&filter)), 0).await;
    assert_eq!(scanned.log, Vec::<String>::new());
}
