use std::sync::Arc;
use std::time::Duration;

use fixtures::{orders_by_month, orders_many, orders_paged, orders_sorted};
use futures::future::join_all;
use wire::Category;

use super::table::Table;
use crate::{Limits, category_of};

#[tokio::test]
async fn files_of_one_partition_come_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let written = orders_many(dir.path(), 3_000, 23).unwrap();
    let table = Table::of("orders", &written).await;
    let scanned = table.scan(table.spec(&["order_id"], None)).await;
    assert_eq!(scanned.rows, table.expected(&["order_id"], None));
    let reported = scanned.reports.iter().map(|report| &report.path);
    assert!(reported.eq(table.tasks.iter().map(|task| &task.file.path)));
}

#[tokio::test]
async fn files_after_the_limit_are_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::of("orders", &orders_by_month(dir.path(), 12_000).unwrap()).await;
    let mut spec = table.spec(&["order_id"], None);
    spec.limit = Some(1_500);
    let scanned = table.scan(spec).await;
    assert_eq!(
        scanned.rows,
        table.expected(&["order_id"], None).slice(0, 1_500)
    );
    assert_eq!(scanned.reports.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_need_one_footer_one_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let table = Arc::new(Table::of("orders", &orders_paged(dir.path(), 20_000).unwrap()).await);
    let scans = (0..12).map(|_| {
        let table = Arc::clone(&table);
        tokio::spawn(async move { table.scan(table.spec(&[], None)).await })
    });
    let scanned: Vec<_> = join_all(scans)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let counts = || scanned.iter().map(|scanned| scanned.reports[0].counts);
    assert_eq!(counts().map(|counts| counts.requests).sum::<u64>(), 1);
    assert_eq!(
        counts().map(|counts| counts.footer_cache_hits).sum::<u64>(),
        11
    );
}

#[tokio::test]
async fn footers_beyond_the_memory_for_them_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let written = orders_many(dir.path(), 2_000, 4).unwrap();
    let limits = Limits {
        footer_bytes: 1,
        ..Limits::default()
    };
    let table = Table::limited("orders", &written, limits).await;
    for _ in 0..2 {
        let scanned = table.scan(table.spec(&[], None)).await;
        let hits: u64 = scanned
            .reports
            .iter()
            .map(|r| r.counts.footer_cache_hits)
            .sum();
        // Only the last one is kept.
        assert!(hits <= 1, "{hits}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn scans_that_wait_for_each_others_memory_all_end() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        memory_bytes: 64 * 1024,
        wave_bytes: 1,
        ..Limits::default()
    };
    let written = orders_sorted(dir.path(), 20_000).unwrap();
    let table = Arc::new(Table::limited("orders", &written, limits).await);
    let scans = (0..8).map(|_| {
        let table = Arc::clone(&table);
        tokio::spawn(async move { table.scan(table.spec(&["order_id", "note"], None)).await })
    });
    for scanned in join_all(scans).await {
        assert_eq!(scanned.unwrap().rows.num_rows(), 20_000);
    }
}

#[tokio::test]
async fn a_scan_that_finds_no_memory_in_time_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        memory_bytes: 1,
        patience: Duration::from_millis(20),
        ..Limits::default()
    };
    let written = orders_sorted(dir.path(), 2_000).unwrap();
    let table = Table::limited("orders", &written, limits).await;
    let _held = table.scanner.memory.hold(1).await.unwrap();
    let error = table
        .try_scan(table.spec(&["note"], None), &table.tasks)
        .await
        .err()
        .unwrap();
    assert_eq!(category_of(&error), Category::Exhausted);
}
