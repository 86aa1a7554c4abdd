//! PlanFiles over real tables.

use arrow_schema::DataType;
use model::{Datum, Level, Predicate, ValueSet};
use tonic::Code;

use super::{Running, between, condition, equal, schema};

/// 2024-03-01 and 2024-03-15 as days since 1970.
const FORTNIGHT: (i32, i32) = (19_783, 19_797);

#[tokio::test]
async fn a_fortnight_leaves_one_month_of_twelve_with_a_reason_for_each_other() {
    let catalog = Running::start().await;
    let written = fixtures::orders_by_month(&catalog.data("orders"), 20_000).unwrap();
    let table = catalog
        .create("orders", &catalog.data("orders"))
        .await
        .unwrap();
    assert_eq!(
        (table.files, table.rows, table.bytes),
        (12, 20_000, written.bytes())
    );
    let columns = schema(&table);
    let date = columns.id_of("order_date").unwrap();
    assert_eq!(columns.arrow().fields().last().unwrap().name(), "month");
    assert_eq!(
        columns.arrow().fields().last().unwrap().data_type(),
        &DataType::Utf8
    );

    let (from, to) = FORTNIGHT;
    let predicate = between(date, "order_date", Datum::Date(from), Datum::Date(to));
    let plan = catalog.plan("orders", &predicate).await;
    let tasks = plan.tasks();
    assert_eq!(tasks.len(), 1);
    assert!(
        tasks[0]
            .file
            .path
            .ends_with("/month=2024-03/part-0.parquet")
    );
    assert!(tasks[0].file.footer_length.is_some() && tasks[0].file.page_index.is_some());
    assert!(tasks[0].file.version.is_some() && tasks[0].file.record_count.is_some());
    assert_eq!(
        tasks[0].partition_values[0].value,
        Some(Datum::text("2024-03"))
    );
    assert_eq!(plan.skipped.len(), 11);
    for reason in plan.reasons() {
        assert_eq!(reason.level, Level::Bounds);
        assert_eq!(condition(&reason).column, "order_date");
        assert_eq!(condition(&reason).test, ">= 2024-03-01 AND <= 2024-03-14");
    }
    assert_eq!(plan.summary.files_total, 12);
    assert_eq!(plan.summary.skipped_by_bounds, 11);
    assert_eq!(plan.summary.bytes_total, written.bytes());
    assert_eq!(plan.summary.bytes_left, tasks[0].file.size);
    assert!(plan.files[0].bounds.is_empty());
}

#[tokio::test]
async fn partition_values_rule_files_out_before_bounds_do() {
    let catalog = Running::start().await;
    fixtures::orders_by_country(&catalog.data("orders"), 6_000, 400).unwrap();
    let table = catalog
        .create("orders", &catalog.data("orders"))
        .await
        .unwrap();
    let columns = schema(&table);
    let country = columns.id_of("country").unwrap();
    assert_eq!(table.partition_field_ids, [country.0]);
    let uk = equal(country, "country", Datum::text("UK"));
    let plan = catalog.plan("orders", &uk).await;
    assert!(plan.files.iter().all(|file| file.fully_matched) && plan.files.len() > 1);
    assert!(
        plan.tasks()
            .iter()
            .all(|task| task.file.path.contains("/country=UK/"))
    );
    assert_eq!(plan.summary.skipped_by_partition, plan.skipped.len() as u64);
    assert!(
        plan.reasons()
            .iter()
            .all(|reason| reason.level == Level::Partition)
    );

    // A second condition leaves one of the UK's files; the others are ruled out by their bounds.
    let order = columns.id_of("order_id").unwrap();
    let both = Predicate::and([uk, equal(order, "order_id", Datum::Int(0))]);
    let narrower = catalog.plan("orders", &both).await;
    assert_eq!(
        narrower.summary.skipped_by_partition,
        plan.summary.skipped_by_partition
    );
    assert!(narrower.summary.skipped_by_bounds >= plan.files.len() as u64 - 1);
}

#[tokio::test]
async fn a_filter_that_matches_nothing_scans_nothing_and_unknown_ones_scan_everything() {
    let catalog = Running::start().await;
    fixtures::orders_by_country(&catalog.data("orders"), 600, 100).unwrap();
    let table = catalog
        .create("orders", &catalog.data("orders"))
        .await
        .unwrap();
    let never = catalog.plan("orders", &Predicate::Never).await;
    assert_eq!(never.summary.skipped_by_bounds, table.files);
    assert!(
        never
            .reasons()
            .iter()
            .all(|reason| reason.conditions.is_empty())
    );
    let unknown = catalog.plan("orders", &Predicate::Unknown).await;
    assert_eq!(unknown.files.len() as u64, table.files);
    assert!(unknown.files.iter().all(|file| !file.fully_matched));
    let paths: Vec<_> = unknown
        .tasks()
        .into_iter()
        .map(|task| task.file.path)
        .collect();
    assert!(paths.is_sorted(), "{paths:?}");
}

#[tokio::test]
async fn a_file_without_rows_is_never_scanned() {
    let catalog = Running::start().await;
    fixtures::zero_rows(&catalog.data("empty")).unwrap();
    catalog
        .create("empty", &catalog.data("empty"))
        .await
        .unwrap();
    let plan = catalog.plan("empty", &Predicate::Always).await;
    assert!(plan.files.is_empty());
    assert_eq!(condition(&plan.reasons()[0]).column, "row count");
    assert_eq!(plan.summary.skipped_by_bounds, 1);
}

#[tokio::test]
async fn every_awkward_column_plans() {
    let catalog = Running::start().await;
    fixtures::awkward(&catalog.data("awkward")).unwrap();
    let table = catalog
        .create("awkward", &catalog.data("awkward"))
        .await
        .unwrap();
    let columns = schema(&table);
    for (id, field) in columns.ids().iter().zip(columns.arrow().fields()) {
        let is_null = Predicate::column(*id, field.name(), ValueSet::empty(), true);
        let plan = catalog.plan("awkward", &is_null).await;
        assert_eq!(plan.summary.files_total, table.files, "{}", field.name());
    }
}

#[tokio::test]
async fn planning_a_dropped_table_or_a_strange_snapshot_names_it() {
    let catalog = Running::start().await;
    fixtures::orders_sorted(&catalog.data("orders"), 100).unwrap();
    catalog
        .create("orders", &catalog.data("orders"))
        .await
        .unwrap();
    let strange = catalog.plan_at("orders", Some(7), &Predicate::Always).await;
    let strange = strange.err().unwrap();
    assert_eq!(strange.code(), Code::NotFound);
    assert_eq!(
        strange.message(),
        "table fulmar.main.orders has no snapshot 7"
    );
    let request = wire::proto::DropTableRequest {
        name: Some(super::name("orders")),
        if_exists: false,
    };
    let dropped = catalog
        .client
        .clone()
        .drop_table(request.clone())
        .await
        .unwrap();
    assert!(dropped.into_inner().dropped);
    let gone = catalog
        .plan_at("orders", None, &Predicate::Always)
        .await
        .err()
        .unwrap();
    assert_eq!(gone.code(), Code::NotFound);
    assert_eq!(gone.message(), "table fulmar.main.orders does not exist");
    let again = catalog
        .client
        .clone()
        .drop_table(request)
        .await
        .unwrap_err();
    assert_eq!(again.code(), Code::NotFound);
    assert_eq!(
        std::fs::read_dir(catalog.data("orders")).unwrap().count(),
        1
    );
}
