use std::fs;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use fixtures::{corrupt_pages, orders_sorted, zero_rows};
use futures::StreamExt;
use model::{Datum, PartitionValue};
use tempfile::TempDir;
use wire::Category;

use super::table::Table;
use crate::category_of;

async fn sorted() -> (TempDir, Table) {
    let dir = tempfile::tempdir().unwrap();
    let written = orders_sorted(dir.path(), 2_000).unwrap();
    let table = Table::of("orders", &written).await;
    (dir, table)
}

fn path(table: &Table) -> PathBuf {
    PathBuf::from(table.tasks[0].file.path.strip_prefix("file://").unwrap())
}

async fn error(table: &Table) -> DataFusionError {
    let spec = table.spec(&["order_id", "note"], None);
    table.try_scan(spec, &table.tasks).await.err().unwrap()
}

/// The category is right, and the message is one line that names the file.
fn check(table: &Table, error: &DataFusionError, category: Category) {
    assert_eq!(category_of(error), category, "{error}");
    let text = error.to_string();
    assert!(text.contains(&table.tasks[0].file.path), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[tokio::test]
async fn a_file_that_is_gone_is_named() {
    let (_dir, table) = sorted().await;
    fs::remove_file(path(&table)).unwrap();
    check(&table, &error(&table).await, Category::NotFound);
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_planned_is_refused() {
    let (dir, table) = sorted().await;
    orders_sorted(dir.path(), 3_000).unwrap();
    check(&table, &error(&table).await, Category::Precondition);
}

#[tokio::test]
async fn a_file_that_changes_after_its_footer_was_kept_is_refused() {
    let (dir, table) = sorted().await;
    table.scan(table.spec(&["order_id"], None)).await;
    orders_sorted(dir.path(), 3_000).unwrap();
    check(&table, &error(&table).await, Category::Precondition);
}

#[tokio::test]
async fn broken_pages_are_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::of("corrupt", &corrupt_pages(dir.path()).unwrap()).await;
    check(&table, &error(&table).await, Category::Corrupt);
}

#[tokio::test]
async fn no_change_of_a_byte_makes_a_scan_panic() {
    let (_dir, mut table) = sorted().await;
    let sound = fs::read(path(&table)).unwrap();
    for start in (4..sound.len()).step_by(997) {
        let mut broken = sound.clone();
        broken[start..]
            .iter_mut()
            .take(7)
            .for_each(|byte| *byte ^= 0xa5);
        fs::write(path(&table), broken).unwrap();
        table.tasks[0].file.version = None;
        let spec = table.spec(&["order_id", "order_date", "status", "note"], None);
        if let Err(error) = table.try_scan(spec, &table.tasks).await {
            assert!(error.to_string().contains("part-0.parquet"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_file_without_rows_gives_none() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::of("empty", &zero_rows(dir.path()).unwrap()).await;
    let filter = table.filter("order_id > 5");
    let scanned = table.scan(table.spec(&["note"], Some(&filter))).await;
    assert_eq!(scanned.rows.num_rows(), 0);
    assert_eq!(scanned.reports.len(), 1);
}

#[tokio::test]
async fn a_filter_that_fails_names_the_table() {
    let (_dir, table) = sorted().await;
    let filter = table.filter("10 / (order_id - order_id) > 1");
    let spec = table.spec(&["order_id"], Some(&filter));
    let error = table.try_scan(spec, &table.tasks).await.err().unwrap();
    assert_eq!(category_of(&error), Category::Invalid);
    assert!(error.to_string().contains("fulmar.main.orders"), "{error}");
}

#[tokio::test]
async fn partition_values_stand_in_for_columns_and_settle_filters() {
    let (_dir, mut table) = sorted().await;
    let country = table.schema.id_of("country").unwrap();
    let value = Some(Datum::text("ZZ"));
    table.tasks[0].partition_values = vec![PartitionValue {
        field: country,
        value,
    }];
    let filter = table.filter("country = 'ZZ'");
    let scanned = table.scan(table.spec(&["country"], Some(&filter))).await;
    assert_eq!(scanned.rows.num_rows(), 2_000);
    assert_eq!(scanned.reports[0].counts.row_groups_fully_matched, 10);
    assert_eq!(scanned.reports[0].counts.requests, 1);
    let filter = table.filter("country = 'UK'");
    let scanned = table.scan(table.spec(&["country"], Some(&filter))).await;
    assert_eq!(scanned.rows.num_rows(), 0);
    assert_eq!(scanned.reports[0].counts.row_groups_skipped_statistics, 10);
}

#[tokio::test]
async fn a_stream_that_is_dropped_stops_and_leaves_its_report() {
    use std::sync::Arc;

    use crate::{LocalRunner, Recorder, TaskRunner};

    let (_dir, table) = sorted().await;
    let recorder = Recorder::new();
    let runner = LocalRunner::new(Arc::clone(&table.scanner), recorder.clone());
    let spec = Arc::new(table.spec(&["order_id"], None));
    let mut stream = runner.run(&spec, &table.tasks, 0).unwrap();
    assert!(stream.next().await.unwrap().unwrap().num_rows() > 0);
    assert!(recorder.reports().is_empty());
    drop(stream);
    assert_eq!(recorder.reports().len(), 1);
    assert!(recorder.reports()[0].counts.requests > 0);
}
