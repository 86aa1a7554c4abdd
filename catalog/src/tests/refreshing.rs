//! Refreshing, snapshots, and what outlives the service.

use std::fs;

use arrow_schema::DataType;
use model::{Datum, FieldId, Predicate, ValueSet};
use tonic::Code;

use super::{Running, equal, request, schema};
use crate::tests::listing::write_column;

#[tokio::test]
async fn only_new_and_changed_footers_are_read_and_old_snapshots_keep_their_files() {
    let catalog = Running::start().await;
    let folder = catalog.data("orders");
    fixtures::orders_many(&folder, 400, 4).unwrap();
    let first = catalog.create("orders", &folder).await.unwrap();

    let (same, progress) = catalog.refresh("orders").await.unwrap();
    assert_eq!(same.snapshot_id, first.snapshot_id);
    assert_eq!((progress.footers_read, progress.files_total), (0, 4));

    fs::remove_file(folder.join("part-00000.parquet")).unwrap();
    fs::copy(
        folder.join("part-00002.parquet"),
        folder.join("part-00009.parquet"),
    )
    .unwrap();
    fixtures::orders_many(&catalog.data("other"), 90, 2).unwrap();
    fs::rename(
        catalog.data("other").join("part-00001.parquet"),
        folder.join("part-00001.parquet"),
    )
    .unwrap();
    let (second, progress) = catalog.refresh("orders").await.unwrap();
    assert_ne!(second.snapshot_id, first.snapshot_id);
    assert_eq!(
        (
            progress.footers_read,
            progress.files_done,
            progress.files_total
        ),
        (2, 4, 4)
    );
    assert_eq!((second.files, second.rows), (4, 100 + 100 + 100 + 45));

    let old = catalog.files("orders", Some(first.snapshot_id)).await;
    let new = catalog.files("orders", None).await;
    let named = |numbers: &[u32]| -> Vec<String> {
        numbers
            .iter()
            .map(|number| format!("part-0000{number}.parquet"))
            .collect()
    };
    assert_eq!(old, named(&[0, 1, 2, 3]));
    assert_eq!(new, named(&[1, 2, 3, 9]));
    let snapshots = catalog.snapshots("orders").await;
    let told: Vec<_> = snapshots
        .iter()
        .map(|s| {
            (
                s.sequence_number,
                s.operation.as_str(),
                s.files_added,
                s.files_removed,
                s.files,
            )
        })
        .collect();
    assert_eq!(told, [(2, "refresh", 2, 2, 4), (1, "create", 4, 0, 4)]);
}

#[tokio::test]
async fn a_table_outlives_a_restart_and_a_crash() {
    let catalog = Running::start().await;
    let folder = catalog.data("orders");
    fixtures::orders_many(&folder, 300, 3).unwrap();
    let first = catalog.create("orders", &folder).await.unwrap();
    let catalog = catalog.crash().await;
    assert_eq!(catalog.get("orders").await.unwrap(), first);
    fs::remove_file(folder.join("part-00000.parquet")).unwrap();
    let (second, _) = catalog.refresh("orders").await.unwrap();
    let catalog = catalog.crash().await.restart().await;
    assert_eq!(catalog.get("orders").await.unwrap(), second);
    assert_eq!(
        catalog.files("orders", Some(first.snapshot_id)).await.len(),
        3
    );
    assert_eq!(catalog.files("orders", None).await.len(), 2);
    let (_, progress) = catalog.refresh("orders").await.unwrap();
    assert_eq!(progress.footers_read, 0);
}

#[tokio::test]
async fn refreshes_at_the_same_time_commit_one_snapshot() {
    let catalog = Running::start().await;
    let folder = catalog.data("orders");
    fixtures::orders_many(&folder, 300, 3).unwrap();
    catalog.create("orders", &folder).await.unwrap();
    fs::remove_file(folder.join("part-00000.parquet")).unwrap();
    let (a, b) = tokio::join!(catalog.refresh("orders"), catalog.refresh("orders"));
    assert_eq!(a.unwrap().0.snapshot_id, b.unwrap().0.snapshot_id);
    assert_eq!(catalog.snapshots("orders").await.len(), 2);
}

#[tokio::test]
async fn creations_of_one_name_at_the_same_time_make_one_table() {
    let catalog = Running::start().await;
    let folder = catalog.data("orders");
    fixtures::orders_many(&folder, 300, 3).unwrap();
    let (a, b) = tokio::join!(
        catalog.create("orders", &folder),
        catalog.create("orders", &folder)
    );
    let refused = [a, b]
        .into_iter()
        .filter_map(Result::err)
        .collect::<Vec<_>>();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].code(), Code::AlreadyExists);
    assert_eq!(
        refused[0].message(),
        "table fulmar.main.orders already exists"
    );
}

#[tokio::test]
async fn a_column_that_comes_later_is_null_before_and_ids_are_never_used_again() {
    let catalog = Running::start().await;
    let folder = catalog.data("t");
    write_column(&folder.join("a.parquet"), "x", &DataType::Int32);
    catalog.create("t", &folder).await.unwrap();
    write_column(&folder.join("b.parquet"), "y", &DataType::Utf8);
    let (table, _) = catalog.refresh("t").await.unwrap();
    let columns = schema(&table);
    assert_eq!(
        (columns.id_of("x"), columns.id_of("y")),
        (Some(FieldId(1)), Some(FieldId(2)))
    );
    let has_y = Predicate::column(FieldId(2), "y", ValueSet::everything(), false);
    let plan = catalog.plan("t", &has_y).await;
    assert!(
        plan.tasks()[0].file.path.ends_with("/b.parquet"),
        "{:?}",
        plan.tasks()
    );
    assert_eq!(plan.files.len(), 1);

    // `y` goes, another column comes: it gets an id that none had.
    fs::remove_file(folder.join("b.parquet")).unwrap();
    write_column(&folder.join("c.parquet"), "z", &DataType::Int64);
    let (table, _) = catalog.refresh("t").await.unwrap();
    assert_eq!(schema(&table).ids(), [FieldId(1), FieldId(3)]);
}

#[tokio::test]
async fn bounds_of_files_read_before_a_column_widened_still_hold() {
    let catalog = Running::start().await;
    let folder = catalog.data("t");
    write_column(&folder.join("a.parquet"), "x", &DataType::Int32);
    catalog.create("t", &folder).await.unwrap();
    write_column(&folder.join("b.parquet"), "x", &DataType::Int64);
    let (table, progress) = catalog.refresh("t").await.unwrap();
    assert_eq!(progress.footers_read, 1);
    assert_eq!(
        schema(&table).arrow().field(0).data_type(),
        &DataType::Int64
    );
    let inside = catalog
        .plan("t", &equal(FieldId(1), "x", Datum::Int(1)))
        .await;
    assert_eq!(inside.files.len(), 2);
    let outside = catalog
        .plan("t", &equal(FieldId(1), "x", Datum::Int(1 << 40)))
        .await;
    assert!(outside.files.is_empty());
}

#[tokio::test]
async fn a_table_can_be_kept_or_replaced() {
    let catalog = Running::start().await;
    fixtures::orders_many(&catalog.data("a"), 300, 3).unwrap();
    fixtures::orders_many(&catalog.data("b"), 300, 2).unwrap();
    let first = catalog.create("t", &catalog.data("a")).await.unwrap();
    let mut keep = request("t", &catalog.data("b"));
    keep.if_not_exists = true;
    assert_eq!(catalog.create_with(keep.clone()).await.unwrap(), first);
    let replace = wire::proto::CreateTableRequest {
        or_replace: true,
        if_not_exists: false,
        ..keep.clone()
    };
    let second = catalog.create_with(replace).await.unwrap();
    assert_eq!((second.files, catalog.snapshots("t").await.len()), (2, 1));
    let both = wire::proto::CreateTableRequest {
        or_replace: true,
        ..keep
    };
    assert_eq!(
        catalog.create_with(both).await.unwrap_err().code(),
        Code::InvalidArgument
    );
}
