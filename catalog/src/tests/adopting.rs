//! Managed tables: real metadata over the same files, planned from that metadata, and refusals that
//! leave the table as it was.

use std::path::{Path, PathBuf};

use arrow_schema::DataType;
use model::{Datum, FieldId, Level, Predicate};
use tonic::Code;

use super::listing::write_column;
use super::{Running, between, equal, last, name, schema};
use wire::proto;

impl Running {
    async fn adopt(&self, table: &str) -> Result<proto::Table, tonic::Status> {
        let request = proto::AdoptTableRequest {
            name: Some(name(table)),
        };
        let stream = self.client.clone().adopt_table(request).await?.into_inner();
        last(stream).await.map(|(table, _)| table)
    }
}

fn metadata_path(table: &proto::Table) -> PathBuf {
    let location = table.metadata_location.as_deref().unwrap();
    PathBuf::from(location.strip_prefix("file://").unwrap())
}

fn metadata_files(table: &proto::Table) -> Vec<PathBuf> {
    let folder = metadata_path(table).parent().unwrap().to_owned();
    let names = std::fs::read_dir(folder).unwrap();
    names.map(|entry| entry.unwrap().path()).collect()
}

fn files_below(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, |entries| {
        let entries = entries.map(|entry| entry.unwrap().path());
        entries
            .map(|path| if path.is_dir() { files_below(&path) } else { 1 })
            .sum()
    })
}

#[tokio::test]
async fn an_adopted_table_is_planned_from_its_manifests() {
    let running = Running::start().await;
    fixtures::orders_by_month(&running.data("orders"), 12_000).unwrap();
    let listing = running
        .create("orders", &running.data("orders"))
        .await
        .unwrap();
    let before = files_below(&running.data("orders"));
    let fortnight = between(
        FieldId(3),
        "order_date",
        Datum::Date(19_783),
        Datum::Date(19_797),
    );
    let planned = running.plan("orders", &fortnight).await;

    let managed = running.adopt("orders").await.unwrap();
    assert_eq!(managed.kind, proto::TableKind::Managed as i32);
    assert_eq!(managed.schema, listing.schema);
    assert_eq!((managed.files, managed.rows), (listing.files, listing.rows));
    assert_ne!(managed.snapshot_id, listing.snapshot_id);
    assert_eq!(metadata_files(&managed).len(), 3);
    assert_eq!(files_below(&running.data("orders")), before);

    let again = running.plan("orders", &fortnight).await;
    assert_eq!(again.header.snapshot_id, managed.snapshot_id);
    assert_eq!(again.tasks(), planned.tasks());
    assert_eq!(
        again.summary.skipped_by_bounds,
        planned.summary.skipped_by_bounds
    );
    let by_month = equal(FieldId(8), "month", Datum::text("2024-05"));
    let by_month = running.plan("orders", &by_month).await;
    assert_eq!(
        (by_month.files.len(), by_month.summary.skipped_by_partition),
        (1, 11)
    );
    assert!(
        by_month
            .reasons()
            .iter()
            .all(|reason| reason.level == Level::Partition)
    );

    let old = running
        .plan_at("orders", Some(listing.snapshot_id), &Predicate::Always)
        .await;
    assert_eq!(old.unwrap().files.len(), 12);
}

#[tokio::test]
async fn an_adopted_table_survives_a_crash_and_is_not_refreshed_or_adopted_again() {
    let running = Running::start().await;
    fixtures::orders_sorted(&running.data("orders"), 5_000).unwrap();
    running
        .create("orders", &running.data("orders"))
        .await
        .unwrap();
    let managed = running.adopt("orders").await.unwrap();
    let running = running.crash().await;
    assert_eq!(running.get("orders").await.unwrap(), managed);
    assert_eq!(
        running.plan("orders", &Predicate::Always).await.files.len(),
        1
    );
    let error = running.adopt("orders").await.unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists);
    assert_eq!(
        error.message(),
        "table fulmar.main.orders is already managed"
    );
    let error = running.refresh("orders").await.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    let operations: Vec<_> = running.snapshots("orders").await;
    let operations: Vec<_> = operations
        .iter()
        .map(|snapshot| snapshot.operation.as_str())
        .collect();
    assert_eq!(operations, ["adopt", "create"]);
}

#[tokio::test]
async fn a_type_that_iceberg_lacks_is_refused_and_the_table_stays_as_it_was() {
    let running = Running::start().await;
    fixtures::awkward(&running.data("awkward")).unwrap();
    let listing = running
        .create("awkward", &running.data("awkward"))
        .await
        .unwrap();
    let error = running.adopt("awkward").await.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    assert_eq!(
        error.message(),
        "table fulmar.main.awkward cannot be adopted: column \"nothing\" is Null, which Iceberg lacks"
    );
    assert_eq!(running.get("awkward").await.unwrap(), listing);
    assert_eq!(files_below(&running.folder.path().join("warehouse")), 0);
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_listed_is_refused() {
    let running = Running::start().await;
    let folder = running.data("orders");
    let written = fixtures::orders_sorted(&folder, 5_000).unwrap();
    let listing = running.create("orders", &folder).await.unwrap();
    let path = written.paths().next().unwrap().to_owned();
    fixtures::orders_sorted(&folder, 6_000).unwrap();
    let error = running.adopt("orders").await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(
        error.message().contains(path.to_str().unwrap()),
        "{}",
        error.message()
    );
    assert_eq!(running.get("orders").await.unwrap(), listing);
}

#[tokio::test]
async fn partitions_whose_names_avro_forbids_can_be_read_again() {
    let running = Running::start().await;
    let folder = running.data("t");
    for day in ["2024-01-31", "2024-02-01"] {
        let path = folder.join(format!("event-date={day}/année=7/a.parquet"));
        write_column(&path, "x", &DataType::Int64);
    }
    let table = running.create("t", &folder).await.unwrap();
    let managed = running.adopt("t").await.unwrap();
    assert_eq!(managed.schema, table.schema);
    let date = schema(&table).id_of("event-date").unwrap();
    let february = equal(date, "event-date", Datum::Date(19_754));
    let running = running.crash().await;
    let plan = running.plan("t", &february).await;
    assert_eq!(plan.files.len(), 1);
    let tasks = plan.tasks();
    let values: Vec<_> = tasks[0]
        .partition_values
        .iter()
        .map(|value| value.value.clone())
        .collect();
    assert_eq!(values, [Some(Datum::Date(19_754)), Some(Datum::Int(7))]);
}

#[tokio::test]
async fn files_of_types_that_iceberg_does_not_promote_are_refused() {
    let running = Running::start().await;
    let folder = running.data("t");
    let (narrow, wide) = (DataType::Decimal128(9, 2), DataType::Decimal128(12, 4));
    write_column(&folder.join("a.parquet"), "x", &narrow);
    write_column(&folder.join("b.parquet"), "x", &wide);
    let listing = running.create("t", &folder).await.unwrap();
    let error = running.adopt("t").await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    let expected =
        format!("column \"x\" is {narrow}, which Iceberg cannot read as {wide}, in file://");
    assert!(error.message().contains(&expected), "{}", error.message());
    assert!(error.message().ends_with("/a.parquet"));
    assert_eq!(running.get("t").await.unwrap(), listing);
    assert_eq!(files_below(&running.folder.path().join("warehouse")), 0);
}
