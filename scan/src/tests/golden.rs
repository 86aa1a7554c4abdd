use std::sync::Arc;

use fixtures::{
    Result, Written, orders_by_month, orders_paged, orders_paged_dictionary, orders_shuffled,
    orders_sorted,
};
use model::{RowRange, SkippedUnit, TaskReport};
use tempfile::TempDir;

use super::table::{Scanned, Table, shown};
use crate::scan::Scan;
use crate::{Limits, Recorder, ScanSpec};

const ROWS: u64 = 200_000;
const COLUMNS: [&str; 3] = ["order_id", "order_date", "amount"];
const FORTNIGHT: &str = "order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'";

async fn table(
    name: &str,
    write: impl Fn(&std::path::Path, u64) -> Result<Written>,
) -> (TempDir, Table) {
    let dir = tempfile::tempdir().unwrap();
    let written = write(dir.path(), ROWS).unwrap();
    let table = Table::of(name, &written).await;
    (dir, table)
}

/// The fortnight, checked against the rows themselves.
async fn fortnight(table: &Table) -> Scanned {
    let filter = table.filter(FORTNIGHT);
    let scanned = table.scan(table.spec(&COLUMNS, Some(&filter))).await;
    table.check_skips(&filter, &scanned.reports);
    scanned
}

fn only(scanned: &Scanned) -> &TaskReport {
    assert_eq!(scanned.reports.len(), 1);
    &scanned.reports[0]
}

#[tokio::test]
async fn of_march_only_the_pages_of_the_fortnight_are_read() {
    let (_dir, mut table) = table("orders-by-month", orders_by_month).await;
    table
        .tasks
        .retain(|task| task.file.path.contains("month=2024-03"));
    let scanned = fortnight(&table).await;
    assert_eq!(
        scanned.rows,
        table.expected(&COLUMNS, Some(&table.filter(FORTNIGHT)))
    );
    assert_eq!(
        shown(&only(&scanned).counts),
        [
            "requests 3",
            "waves 2",
            "bytes_fetched 149900",
            "bytes_needed 148933",
            "row_groups_total 1",
            "row_groups_read 1",
            "pages_considered 2",
            "pages_skipped 1",
            "pages_read 5",
            "rows_in_file 16940",
            "rows_selected 16384",
            "rows_decoded 16384",
            "rows_returned 7651",
        ]
    );
}

#[tokio::test]
async fn of_sorted_row_groups_only_those_that_can_match_are_read() {
    let (_dir, table) = table("orders-sorted", orders_sorted).await;
    let scanned = fortnight(&table).await;
    assert_eq!(
        scanned.rows,
        table.expected(&COLUMNS, Some(&table.filter(FORTNIGHT)))
    );
    assert_eq!(
        shown(&only(&scanned).counts),
        [
            "requests 5",
            "waves 2",
            "bytes_fetched 367036",
            "bytes_needed 367036",
            "row_groups_total 10",
            "row_groups_skipped_statistics 8",
            "row_groups_read 2",
            "rows_in_file 200000",
            "rows_selected 40000",
            "rows_decoded 40000",
            "rows_returned 7651",
        ]
    );
}

#[tokio::test]
async fn skipped_pages_have_their_reasons() {
    let (_dir, table) = table("orders-paged", orders_paged).await;
    let scanned = fortnight(&table).await;
    let skips = only(&scanned).skips.iter().map(|skip| {
        let SkippedUnit::Pages {
            row_group,
            column,
            first_page,
            pages,
        } = &skip.unit
        else {
            panic!("{skip:?}");
        };
        let last = first_page + pages - 1;
        let rows = skip.rows.unwrap();
        format!(
            "{row_group}/{column} {first_page}-{last}: {rows} rows, {}",
            skip.reason
        )
    });
    assert_eq!(
        skips.collect::<Vec<_>>(),
        [
            "0/order_date 0-1: 32768 rows, order_date >= 2024-03-01 AND <= 2024-03-14, \
             but values are 2024-01-01 to 2024-02-29",
            "0/order_date 3-12: 150848 rows, order_date >= 2024-03-01 AND <= 2024-03-14, \
             but values are 2024-03-30 to 2024-12-31",
        ]
    );
}

#[tokio::test]
async fn of_pages_only_those_that_can_match_are_read() {
    let (_dir, table) = table("orders-paged", orders_paged).await;
    let scanned = fortnight(&table).await;
    assert_eq!(
        scanned.rows,
        table.expected(&COLUMNS, Some(&table.filter(FORTNIGHT)))
    );
    assert_eq!(
        shown(&only(&scanned).counts),
        [
            "requests 4",
            "waves 2",
            "bytes_fetched 157251",
            "bytes_needed 149878",
            "row_groups_total 1",
            "row_groups_read 1",
            "pages_considered 13",
            "pages_skipped 12",
            "pages_read 5",
            "rows_in_file 200000",
            "rows_selected 16384",
            "rows_decoded 16384",
            "rows_returned 7651",
        ]
    );
    let counts = only(&scanned).counts;
    assert!(counts.bytes_fetched * 100 < table.tasks[0].file.size * 6);
}

#[tokio::test]
async fn of_shuffled_rows_nothing_is_skipped() {
    let (_dir, table) = table("orders-shuffled", orders_shuffled).await;
    let scanned = fortnight(&table).await;
    assert_eq!(
        scanned.rows,
        table.expected(&COLUMNS, Some(&table.filter(FORTNIGHT)))
    );
    assert_eq!(
        shown(&only(&scanned).counts),
        [
            "requests 21",
            "waves 2",
            "bytes_fetched 2369727",
            "bytes_needed 2369727",
            "row_groups_total 10",
            "row_groups_read 10",
            "rows_in_file 200000",
            "rows_selected 200000",
            "rows_decoded 200000",
            "rows_returned 7651",
        ]
    );
}

#[tokio::test]
async fn dictionaries_cost_bytes_and_no_pages() {
    let (_dir, table) = table("orders-paged-dictionary", orders_paged_dictionary).await;
    let scanned = fortnight(&table).await;
    assert_eq!(
        scanned.rows,
        table.expected(&COLUMNS, Some(&table.filter(FORTNIGHT)))
    );
    assert_eq!(
        shown(&only(&scanned).counts),
        [
            "requests 3",
            "waves 2",
            "bytes_fetched 1134441",
            "bytes_needed 1011373",
            "bytes_dictionaries 945293",
            "row_groups_total 1",
            "row_groups_read 1",
            "pages_considered 13",
            "pages_skipped 12",
            "pages_read 3",
            "rows_in_file 200000",
            "rows_selected 16384",
            "rows_decoded 16384",
            "rows_returned 7651",
        ]
    );
}

#[tokio::test]
async fn a_filter_that_every_row_passes_costs_no_column_of_its_own() {
    let (_dir, table) = table("orders-sorted", orders_sorted).await;
    let filter = table.filter("order_date >= DATE '2020-01-01'");
    let scanned = table.scan(table.spec(&["order_id"], Some(&filter))).await;
    let without = table.scan(table.spec(&["order_id"], None)).await;
    assert_eq!(scanned.rows, without.rows);
    assert_eq!(only(&scanned).counts.row_groups_fully_matched, 10);
    assert_eq!(
        only(&scanned).counts.bytes_needed,
        only(&without).counts.bytes_needed + table.tasks[0].file.footer_length.unwrap()
    );
}

#[tokio::test]
async fn a_second_scan_needs_no_footer() {
    let (_dir, table) = table("orders-paged", orders_paged).await;
    let first = fortnight(&table).await;
    let second = fortnight(&table).await;
    assert_eq!(first.rows, second.rows);
    let counts = [&first, &second].map(|scanned| only(scanned).counts);
    assert_eq!(counts.map(|counts| counts.footer_cache_hits), [0, 1]);
    assert_eq!(counts[1].requests, counts[0].requests - 1);
    assert_eq!(counts[1].waves, 1);
}

#[tokio::test]
async fn a_limit_stops_reading() {
    let (_dir, table) = table("orders-sorted", orders_sorted).await;
    let spec = ScanSpec {
        limit: Some(10),
        ..table.spec(&COLUMNS, None)
    };
    let scanned = table.scan(spec).await;
    assert_eq!(scanned.rows, table.expected(&COLUMNS, None).slice(0, 10));
    let counts = only(&scanned).counts;
    assert_eq!((counts.row_groups_read, counts.rows_returned), (1, 10));

    let filter = table.filter("status = 'refunded'");
    let spec = ScanSpec {
        limit: Some(10),
        ..table.spec(&COLUMNS, Some(&filter))
    };
    let scanned = table.scan(spec).await;
    assert_eq!(
        scanned.rows,
        table.expected(&COLUMNS, Some(&filter)).slice(0, 10)
    );
    assert_eq!(only(&scanned).counts.row_groups_read, 1);
}

#[tokio::test]
async fn a_limit_without_a_filter_reads_only_the_pages_it_needs() {
    let (_dir, table) = table("orders-paged", orders_paged).await;
    let spec = ScanSpec {
        limit: Some(10),
        ..table.spec(&["order_id", "note"], None)
    };
    let scanned = table.scan(spec).await;
    assert_eq!(scanned.rows.num_rows(), 10);
    let counts = only(&scanned).counts;
    assert_eq!((counts.pages_read, counts.rows_decoded), (2, 10));
}

#[tokio::test]
async fn a_range_of_rows_is_all_that_a_task_gives() {
    for (name, write) in [
        (
            "orders-sorted",
            orders_sorted as fn(&std::path::Path, u64) -> Result<Written>,
        ),
        ("orders-paged", orders_paged),
    ] {
        let (_dir, mut table) = table(name, write).await;
        let all = table.expected(&COLUMNS, None);
        let ends = [0, 1, 19_990, 20_000, 20_001, 133_333, ROWS];
        for pair in ends.windows(2) {
            table.tasks[0].rows = Some(RowRange {
                start: pair[0],
                end: pair[1],
            });
            let scanned = table.scan(table.spec(&COLUMNS, None)).await;
            let number = |rows: u64| usize::try_from(rows).unwrap();
            let (start, length) = (number(pair[0]), number(pair[1] - pair[0]));
            assert_eq!(scanned.rows, all.slice(start, length), "{name} {pair:?}");
            let filter = table.filter("order_id % 3 = 0");
            let scanned = table.scan(table.spec(&COLUMNS, Some(&filter))).await;
            assert_eq!(only(&scanned).counts.rows_in_file, pair[1] - pair[0]);
            assert!(scanned.rows.num_rows() >= length / 3);
        }
    }
}

#[tokio::test]
async fn a_scan_without_columns_counts_rows_and_reads_no_data() {
    let (_dir, table) = table("orders-sorted", orders_sorted).await;
    let scanned = table.scan(table.spec(&[], None)).await;
    assert_eq!(scanned.rows.num_rows() as u64, ROWS);
    assert_eq!(only(&scanned).counts.requests, 1);
}

#[tokio::test]
async fn the_io_log_is_the_footer_then_one_wave_of_pages() {
    let (_dir, table) = table("orders-paged", orders_paged).await;
    let filter = table.filter(FORTNIGHT);
    let spec = Arc::new(table.spec(&["order_date"], Some(&filter)));
    let scanner = Arc::clone(&table.scanner);
    let scan = Arc::new(Scan::new(scanner, spec, Recorder::new()).unwrap());
    let mut task = scan.plan(table.tasks[0].clone()).await.unwrap();
    while task.next().await.unwrap().is_some() {}
    let entries = task.ledger().entries();
    let log: Vec<_> = entries
        .iter()
        .map(|entry| (entry.why.as_str(), entry.wave))
        .collect();
    assert_eq!(log, [("footer", 1), ("page 2 of order_date", 2)]);
    let file = &table.tasks[0].file;
    assert_eq!(entries[0].range, file.page_index.unwrap().start..file.size);
}

#[tokio::test]
async fn row_groups_that_wait_for_nothing_come_after_those_before_them() {
    let (_dir, table) = table("orders-sorted", orders_sorted).await;
    // Of the first row groups the filter leaves a row in a while, of the last ones every row.
    let filter = table.filter("order_id >= 100000 OR (customer_id = 7 AND amount > 1)");
    let spec = table.spec(&["order_id", "note"], Some(&filter));
    let expected = table.expected(&["order_id", "note"], Some(&filter));
    assert_eq!(table.scan(spec.clone()).await.rows, expected);
    let sparing = table.scan_sparingly(spec).await;
    assert_eq!(sparing.rows, expected);
    assert_eq!(only(&sparing).counts.row_groups_fully_matched, 5);
}

#[tokio::test]
async fn a_row_group_larger_than_a_wave_is_read_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let written = orders_paged(dir.path(), ROWS).unwrap();
    let limits = Limits {
        wave_bytes: 1 << 20,
        ..Limits::default()
    };
    let table = Table::limited("orders-paged", &written, limits).await;
    let scanned = table.scan(table.spec(&["order_id", "note"], None)).await;
    assert_eq!(scanned.rows, table.expected(&["order_id", "note"], None));
    let counts = only(&scanned).counts;
    assert_eq!((counts.row_groups_read, counts.rows_decoded), (1, ROWS));
    let whole = Table::of("orders-paged", &written).await;
    let whole = whole.scan(whole.spec(&["order_id", "note"], None)).await;
    let indexes = counts.bytes_needed - only(&whole).counts.bytes_needed;
    assert!(
        indexes < 10_000,
        "only offset indexes are needed beside: {indexes}"
    );
}
