use arrow::array::RecordBatchOptions;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::physical_plan::displayable;
use fixtures::orders_many;

use super::*;
use crate::tests::table::Table;

async fn scan() -> (tempfile::TempDir, ScanExec) {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::of("orders", &orders_many(dir.path(), 700, 7).unwrap()).await;
    let filter = table.filter("status = 'paid'");
    let spec = table.spec(&["order_id", "note"], Some(&filter));
    let partitions = table.tasks.chunks(4).map(<[ScanTask]>::to_vec).collect();
    (dir, ScanExec::new(Arc::new(spec), partitions))
}

#[tokio::test]
async fn a_plan_shows_the_table_the_filter_and_the_files() {
    let (_dir, scan) = scan().await;
    let shown = displayable(&scan).one_line().to_string();
    assert_eq!(
        shown.trim_end(),
        "ScanExec: table=fulmar.main.orders, columns=[order_id, note], filter=status@4 = paid, \
         files=7"
    );
    let verbose = displayable(&scan)
        .set_show_schema(false)
        .indent(true)
        .to_string();
    assert!(verbose.contains("part-00004.parquet, 2 more]"), "{verbose}");
}

#[tokio::test]
async fn a_limit_only_gets_tighter_and_bounds_the_estimate() {
    let (_dir, scan) = scan().await;
    let rows = |scan: &ScanExec, partition| scan.estimate(partition).unwrap().num_rows;
    assert_eq!(rows(&scan, None), Precision::Inexact(700));
    assert_eq!(rows(&scan, Some(1)), Precision::Inexact(300));
    scan.estimate(Some(2)).unwrap_err();
    let limited = scan.with_fetch(Some(10)).unwrap();
    let looser = limited.with_fetch(Some(20)).unwrap();
    assert_eq!((limited.fetch(), looser.fetch()), (Some(10), Some(10)));
    assert_eq!(
        rows(looser.downcast_ref().unwrap(), None),
        Precision::Inexact(10)
    );
}

#[tokio::test]
async fn a_limit_lets_go_of_the_scan_as_soon_as_it_is_reached() {
    let (_dir, scan) = scan().await;
    let empty = RecordBatch::new_empty(scan.schema());
    let rows = |rows| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let none = Arc::new(Schema::empty());
        RecordBatch::try_new_with_options(none, Vec::new(), &options).unwrap()
    };
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let batches = stream::iter([rows(3), rows(4), rows(5)]).map(move |batch| {
        assert!(Arc::strong_count(&held) > 0);
        Ok(batch)
    });
    let batches = Box::pin(RecordBatchStreamAdapter::new(rows(0).schema(), batches));
    let mut cut = at_most(5, batches);
    assert_eq!(cut.next().await.unwrap().unwrap().num_rows(), 3);
    assert_eq!(Arc::strong_count(&alive), 2);
    assert_eq!(cut.next().await.unwrap().unwrap().num_rows(), 2);
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(cut.next().await.is_none());
    let none = RecordBatchStreamAdapter::new(empty.schema(), stream::iter([Ok(empty)]));
    assert!(at_most(0, Box::pin(none)).next().await.is_none());
}

#[tokio::test]
async fn without_a_runner_a_scan_says_so() {
    let (_dir, scan) = scan().await;
    let error = scan
        .execute(0, Arc::new(TaskContext::default()))
        .err()
        .unwrap();
    assert!(error.to_string().contains("fulmar.main.orders"), "{error}");
}
