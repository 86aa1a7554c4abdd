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
async fn the_first_rows_are_left_out_as_far_as_they_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::of("orders", &orders_many(dir.path(), 700, 7).unwrap()).await;
    let spec = table.spec(&["order_id"], None);
    let of = |tasks: &[ScanTask]| ScanExec::new(Arc::new(spec.clone()), vec![tasks.to_vec()]);
    let rows = |start, end| Some(RowRange { start, end });
    let mut tasks = table.tasks.clone();
    tasks[1].rows = rows(20, 60);
    let scan = of(&tasks);
    // Rows to leave out: how many are, the files that are left, and the rows of the first of them.
    for (leave_out, left_out, files, first) in [
        (0, 0, 7, None),
        (1, 1, 7, rows(1, u64::MAX)),
        (100, 100, 6, rows(20, 60)),
        (110, 110, 6, rows(30, 60)),
        (140, 140, 5, None),
        (639, 639, 1, rows(99, u64::MAX)),
        (640, 640, 0, None),
        (900, 640, 0, None),
    ] {
        let (rest, found) = scan.after(leave_out);
        assert_eq!(found, left_out, "{leave_out}");
        let rest = &rest.partitions()[0];
        assert_eq!(rest.len(), files, "{leave_out}");
        assert_eq!(rest.first().and_then(|task| task.rows), first);
    }
    // Behind a file of unknown rows nothing is known.
    tasks[2].file.record_count = None;
    assert_eq!(of(&tasks).after(500).1, 140);
    let filter = table.filter("status = 'paid'");
    let filtered = ScanSpec {
        limit: None,
        ..table.spec(&["order_id"], Some(&filter))
    };
    let limited = ScanSpec {
        limit: Some(600),
        ..spec.clone()
    };
    for spec in [filtered, limited] {
        let scan = ScanExec::new(Arc::new(spec), vec![table.tasks.clone()]);
        assert_eq!(scan.after(500).1, 0);
    }
    let parts = ScanExec::new(Arc::new(spec), vec![tasks.clone(), tasks]);
    assert_eq!(parts.after(500).1, 0);
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
