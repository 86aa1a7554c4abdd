//! What a scan asks of an object store, request by request, and how long that takes on a network of 30 ms
//! and 80 MB/s in simulated time.

use std::sync::Arc;
use std::time::Duration;

use fixtures::{
    Result, Written, orders_bloom, orders_by_month, orders_paged, orders_paged_dictionary,
    orders_shuffled, orders_sorted,
};
use model::{Counts, Level, ScanTask};
use store::{StoreProfile, Stores};
use tokio::time::Instant;

use super::table::Table;
use crate::forecast::forecast_in;
use crate::scan::Scan;
use crate::{Forecast, Recorder, ScanSpec};

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
    scan_task(table, spec, table.tasks[file].clone()).await
}

async fn scan_task(table: &Table, spec: ScanSpec, task: ScanTask) -> Scanned {
    let recorder = Recorder::new();
    let scan = Scan::new(Arc::clone(&table.scanner), Arc::new(spec), recorder.clone()).unwrap();
    let began = Instant::now();
    let mut task = Arc::new(scan).plan(task).await.unwrap();
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
    assert!(
        millis.contains(&scanned.took.as_millis()),
        "{:?} {:#?}",
        scanned.took,
        scanned.log
    );
}

#[tokio::test(start_paused = true)]
async fn of_a_month_the_footer_and_one_run_of_pages_are_read() {
    let table = table(orders_by_month, StoreProfile::BALANCED).await;
    let scanned = fortnight(&table, 2).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (2517)",
            "2: pages 0-1 of order_id, pages 0-1 of customer_id, page 0 of order_date, pages 0-1 of amount (215866)",
        ]
    );
    assert_eq!(scanned.rows, 7_651);
    takes(&scanned, 60..70);
}

#[tokio::test(start_paused = true)]
async fn where_bytes_count_each_column_is_a_request() {
    let table = table(orders_by_month, StoreProfile::BYTES).await;
    let scanned = fortnight(&table, 2).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (2517)",
            "2: pages 0-1 of order_id (65625)",
            "2: pages 0-1 of customer_id (63888)",
            "2: page 0 of order_date (3264)",
            "2: pages 0-1 of amount (78356)",
        ]
    );
    let counts = scanned.counts;
    assert!(counts.bytes_fetched * 100 <= counts.bytes_needed * 105);
    takes(&scanned, 60..70);
}

#[tokio::test(start_paused = true)]
async fn of_pages_one_run_of_each_column_is_read() {
    let table = table(orders_paged, StoreProfile::BYTES).await;
    let scanned = fortnight(&table, 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (9983)",
            "2: pages 4-5 of order_id (65625)",
            "2: pages 4-5 of customer_id (63894)",
            "2: page 2 of order_date (3270)",
            "2: pages 4-5 of amount (78373)",
        ]
    );
    takes(&scanned, 60..70);
}

#[tokio::test(start_paused = true)]
async fn of_sorted_row_groups_the_two_that_can_match_are_read() {
    let table = table(orders_sorted, StoreProfile::BALANCED).await;
    let scanned = fortnight(&table, 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (7421)",
            "2: all of order_date, all of order_id, all of customer_id, all of amount (873961)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn of_shuffled_rows_all_is_read_at_once() {
    let table = table(orders_shuffled, StoreProfile::BALANCED).await;
    let scanned = fortnight(&table, 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (7431)",
            "2: all of order_date, all of order_id, all of customer_id, all of amount (4127580)",
            "2: all of order_date, all of customer_id, all of amount, all of order_id (2236240)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn dictionaries_come_before_their_pages() {
    let table = table(orders_paged_dictionary, StoreProfile::BYTES).await;
    let scanned = fortnight(&table, 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (4918)",
            "2: dictionary of order_id (800457)",
            "2: page 2 of order_id (32831)",
            "2: dictionary of customer_id (81025)",
            "2: page 2 of customer_id (30783)",
            "2: dictionary of order_date (1486)",
            "2: page 2 of order_date (117)",
            "2: dictionary of amount (143350)",
            "2: page 2 of amount (30783)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_point_lookup_reads_the_output_where_its_row_is() {
    let table = table(orders_paged, StoreProfile::BYTES).await;
    let filter = table.filter("order_id = 123456");
    let scanned = scan(&table, table.spec(&COLUMNS, Some(&filter)), 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (9983)",
            "2: page 15 of order_id (32806)",
            "2: page 15 of customer_id (32014)",
            "2: page 15 of amount (39086)",
        ]
    );
    assert_eq!(scanned.rows, 1);
}

#[tokio::test(start_paused = true)]
async fn output_is_read_later_where_few_rows_are_left() {
    let table = table(orders_sorted, StoreProfile::BYTES).await;
    let filter = table.filter("customer_id = 4242 AND amount > 1");
    let scanned = scan(&table, table.spec(&["order_id", "note"], Some(&filter)), 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (7421)",
            "2: all of customer_id (78394)",
            "2: all of customer_id (78342)",
            "2: all of customer_id (78324)",
            "2: all of customer_id (78483)",
            "2: all of customer_id (78439)",
            "2: all of customer_id (78338)",
            "2: all of customer_id (78445)",
            "2: all of customer_id (78472)",
            "2: all of customer_id (78306)",
            "2: all of customer_id (78289)",
            "3: all of order_id (80135)",
            "3: all of amount (95641)",
            "3: all of note, all of order_id (424898)",
            "3: all of amount (95576)",
            "3: all of note, all of order_id (424990)",
            "3: all of amount (95753)",
            "3: all of note, all of order_id (424907)",
            "3: all of amount (95797)",
            "3: all of note, all of order_id (424863)",
            "3: all of amount (95748)",
            "3: all of note, all of order_id (424685)",
            "3: all of amount (95577)",
            "3: all of note (344510)",
            "3: all of order_id (80126)",
            "3: all of amount (95604)",
            "3: all of note, all of order_id (424667)",
            "3: all of amount (95608)",
            "3: all of note (344535)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn bloom_filters_are_asked_where_bytes_count() {
    let table = table(orders_bloom, StoreProfile::BYTES).await;
    let filter = table.filter("customer_id = 4242");
    let scanned = scan(&table, table.spec(&["order_id", "note"], Some(&filter)), 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (7510)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "2: Bloom filter of customer_id (16401)",
            "3: all of customer_id (78394)",
            "3: all of customer_id (78342)",
            "3: all of customer_id (78324)",
            "3: all of customer_id (78483)",
            "3: all of customer_id (78439)",
            "3: all of customer_id (78338)",
            "3: all of customer_id (78472)",
            "3: all of customer_id (78306)",
            "4: all of order_id (80135)",
            "4: all of note (344772)",
            "4: all of order_id (80126)",
            "4: all of note (344854)",
            "4: all of order_id (80136)",
            "4: all of note (344766)",
            "4: all of order_id (80141)",
            "4: all of note (344729)",
            "4: all of order_id (80134)",
            "4: all of note (344564)",
            "4: all of order_id (80121)",
            "4: all of note (344510)",
            "4: all of order_id (80126)",
            "4: all of note (344546)",
            "4: all of order_id (80121)",
            "4: all of note (344535)",
        ]
    );
    assert!(scanned.counts.row_groups_skipped_bloom > 0);
    assert!(scanned.levels.contains(&Level::Bloom));
}

#[tokio::test(start_paused = true)]
async fn a_dictionary_may_rule_a_row_group_out() {
    let table = table(orders_sorted, StoreProfile::BYTES).await;
    let filter = table.filter("status = 'pend'");
    let scanned = scan(&table, table.spec(&["order_id", "note"], Some(&filter)), 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (7421)",
            "2: dictionary of status (57)",
            "2: dictionary of status (56)",
            "2: dictionary of status (56)",
            "2: dictionary of status (56)",
            "2: dictionary of status (57)",
            "2: dictionary of status (57)",
            "2: dictionary of status (58)",
            "2: dictionary of status (56)",
            "2: dictionary of status (56)",
            "2: dictionary of status (57)",
        ]
    );
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
    assert_eq!(
        scanned.log,
        [
            "1: footer (7421)",
            "2: all of status, all of order_id, all of customer_id, all of amount (263359)",
        ]
    );
    assert_eq!(scanned.rows, 3);
}

#[tokio::test(start_paused = true)]
async fn a_footer_that_is_kept_is_not_read_again() {
    let table = table(orders_paged, StoreProfile::BALANCED).await;
    let first = fortnight(&table, 0).await;
    let second = fortnight(&table, 0).await;
    assert_eq!(second.log.len(), first.log.len() - 1);
    assert_eq!(
        (second.counts.waves, second.counts.footer_cache_hits),
        (1, 1)
    );
    takes(&second, 30..40);
}

#[tokio::test(start_paused = true)]
async fn with_the_footer_in_the_ticket_there_is_one_wave_and_it_was_foreseen() {
    type Write = fn(&std::path::Path, u64) -> Result<Written>;
    let tables: [(Write, usize); 5] = [
        (orders_by_month, 2),
        (orders_sorted, 0),
        (orders_paged, 0),
        (orders_shuffled, 0),
        (orders_bloom, 0),
    ];
    for (write, file) in tables {
        // So short that columns of a row group are read in parts.
        let parts = StoreProfile {
            max_request: 100_000,
            // Nothing but its connections bounds this network.
            throughput: 1 << 40,
            ..StoreProfile::FAST
        };
        for profile in [StoreProfile::BALANCED, StoreProfile::BYTES, parts] {
            let table = table(write, profile).await;
            let spec = table.spec(&COLUMNS, Some(&table.filter(FORTNIGHT)));
            let task = table.given(&spec)[file].clone();
            let given = scan_task(&table, spec.clone(), task.clone()).await;
            let read = scan(&table, spec.clone(), file).await;
            let rest = read
                .log
                .iter()
                .filter(|line| !line.starts_with("1: footer"));
            let rest: Vec<String> = rest.map(|line| line.replacen("2: ", "1: ", 1)).collect();
            assert_eq!(given.log, rest);
            assert_eq!((given.rows, given.counts.footers_in_ticket), (read.rows, 1));

            let stores = Stores::without_files().with_profile(profile);
            let foreseen = forecast_in(stores, &Arc::new(spec), &[vec![task]]).await;
            let Forecast { least, most, .. } = foreseen.unwrap();
            let counts = given.counts;
            assert_eq!(least, most);
            assert_eq!(
                (most.requests, most.bytes),
                (counts.requests, counts.bytes_fetched)
            );
            // The simulation's clock ticks by milliseconds, once for the first byte and once for the last.
            let late = given.took.saturating_sub(most.time);
            assert!(most.time <= given.took && late.as_millis() <= 2, "{late:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_values_tell_is_foreseen_within_bounds() {
    let table = table(orders_bloom, StoreProfile::BYTES).await;
    let spec = table.spec(&COLUMNS, Some(&table.filter("customer_id = 7")));
    let task = table.given(&spec)[0].clone();
    let scanned = scan_task(&table, spec.clone(), task.clone()).await;
    let stores = Stores::without_files().with_profile(StoreProfile::BYTES);
    let foreseen = forecast_in(stores, &Arc::new(spec), &[vec![task]]).await;
    let foreseen = foreseen.unwrap();
    let Forecast { least, most, .. } = foreseen;
    let counts = scanned.counts;
    assert!(least.requests < counts.requests && !foreseen.knows_requests);
    assert!(least.bytes < counts.bytes_fetched && counts.bytes_fetched < most.bytes);
    // Bloom filters, then the filter's column, then the output.
    assert_eq!((counts.waves, most.time.as_millis() / 30), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_small_file_is_read_whole_when_time_counts() {
    let dir = tempfile::tempdir().unwrap();
    let written = orders_by_month(dir.path(), 20_000).unwrap();
    for (profile, log) in [
        (StoreProfile::BALANCED, vec!["1: whole file (54003)"]),
        (
            StoreProfile::BYTES,
            vec![
                "1: footer (1853)",
                "2: all of order_id, all of customer_id, all of order_date, all of amount (21585)",
            ],
        ),
    ] {
        let table = Table::remote("orders", &written, profile).await;
        let scanned = fortnight(&table, 2).await;
        assert_eq!(scanned.log, log);
        assert_eq!(scanned.rows, 765);
        // Of a footer nothing is wanted but what it says.
        let counted = scan(&table, table.spec(&[], None), 3).await;
        assert_eq!(counted.log.len(), 1);
        assert!(counted.log[0].starts_with("1: footer"), "{:?}", counted.log);
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_column_is_not_read_where_whole_pages_match() {
    let table = table(orders_paged, StoreProfile::BYTES).await;
    let filter = table.filter("order_id >= 20000");
    let scanned = scan(&table, table.spec(&["amount"], Some(&filter)), 0).await;
    assert_eq!(
        scanned.log,
        [
            "1: footer (9983)",
            "2: page 2 of order_id (32813)",
            "2: page 2 of amount, pages 3-24 of amount (877460)",
        ]
    );
}
