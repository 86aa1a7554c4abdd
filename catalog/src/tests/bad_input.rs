//! What bad input gets: one line that names the thing, and nothing half-done.

use std::fs;
use std::path::Path;

use arrow_schema::DataType;
use fixtures::Written;
use tonic::Code;
use wire::proto;

use super::listing::write_column;
use super::{Running, name, request};

type Make = fn(&Path) -> fixtures::Result<Written>;

#[tokio::test]
async fn bad_files_are_named_and_leave_nothing_behind() {
    let catalog = Running::start().await;
    let cases: [(&str, Make, Code, &[&str]); 4] = [
        (
            "truncated",
            fixtures::truncated,
            Code::DataLoss,
            &["/truncated/part-0.parquet"],
        ),
        (
            "text",
            fixtures::not_parquet,
            Code::DataLoss,
            &["/text/part-0.parquet"],
        ),
        (
            "nothing",
            fixtures::empty_file,
            Code::DataLoss,
            &["/nothing/part-0.parquet"],
        ),
        (
            "clash",
            fixtures::clashing_schemas,
            Code::FailedPrecondition,
            &[
                "\"value\"",
                "/clash/part-0.parquet",
                "/clash/part-1.parquet",
            ],
        ),
    ];
    for (table, make, code, named) in cases {
        make(&catalog.data(table)).unwrap();
        let error = catalog
            .create(table, &catalog.data(table))
            .await
            .unwrap_err();
        assert_eq!(error.code(), code, "{table}: {}", error.message());
        for part in named {
            assert!(
                error.message().contains(part),
                "{table}: {}",
                error.message()
            );
        }
        assert!(!error.message().contains('\n'));
        assert_eq!(catalog.get(table).await.unwrap_err().code(), Code::NotFound);
    }
    assert!(catalog.tables().await.is_empty());
}

/// Pitfall 26: a folder whose log or metadata says which of its files count is no table of all of its files,
/// and neither is a part of it or a folder around it.
#[tokio::test]
async fn delta_logs_and_iceberg_metadata_are_not_passed_over() {
    let catalog = Running::start().await;
    for (place, beside, format, parts) in [
        (
            "lake/events",
            "_delta_log/00000000000000000000.json",
            "a Delta table",
            ["", "/p=1", "/*/*.parquet"],
        ),
        (
            "lake/orders",
            "metadata/v1.metadata.json",
            "an Iceberg table",
            ["", "/data", "/data/*/a.parquet"],
        ),
    ] {
        let table = catalog.data(place);
        for data in ["p=1/a.parquet", "data/p=1/a.parquet"] {
            write_column(&table.join(data), "x", &DataType::Int64);
        }
        let log = table.join(beside);
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        fs::write(log, "{}").unwrap();
        for part in parts {
            let location = format!("{}{part}", table.display());
            let error = catalog.create("t", Path::new(&location)).await;
            let error = error.unwrap_err();
            assert_eq!(error.code(), Code::Unimplemented, "{}", error.message());
            let named = format!("{} is {format}", table.display());
            assert!(error.message().contains(&named), "{}", error.message());
        }
    }
    let around = catalog.create("t", &catalog.data("lake")).await;
    assert_eq!(around.unwrap_err().code(), Code::Unimplemented);
    assert!(catalog.tables().await.is_empty());
}

/// A warehouse among the data, such as that of adopted tables, describes no file of its own.
#[tokio::test]
async fn metadata_of_files_that_lie_elsewhere_refuses_none() {
    let catalog = Running::start().await;
    let folder = catalog.data("lake");
    write_column(&folder.join("t/data/a.parquet"), "x", &DataType::Int64);
    let metadata = folder.join("warehouse/main/t/1/metadata");
    fs::create_dir_all(&metadata).unwrap();
    fs::write(metadata.join("00000-1.metadata.json"), "{}").unwrap();
    fs::create_dir_all(folder.join("t/metadata")).unwrap();
    fs::write(folder.join("t/metadata/columns.json"), "{}").unwrap();
    for location in [folder.clone(), folder.join("t"), folder.join("t/data")] {
        let mut request = request("t", &location);
        request.or_replace = true;
        assert_eq!(catalog.create_with(request).await.unwrap().files, 1);
    }
}

#[tokio::test]
async fn missing_and_empty_places_are_named() {
    let catalog = Running::start().await;
    let error = catalog
        .create("t", &catalog.data("absent"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(
        error.message().ends_with("/data/absent does not exist"),
        "{}",
        error.message()
    );
    fs::create_dir_all(catalog.data("bare")).unwrap();
    let error = catalog
        .create("t", &catalog.data("bare"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(
        error
            .message()
            .ends_with("/data/bare holds no Parquet file"),
        "{}",
        error.message()
    );
    for location in ["", "ftp://host/x", "s3:///x"] {
        let mut wrong = request("t", Path::new(""));
        wrong.location = location.to_owned();
        let error = catalog.create_with(wrong).await.unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{}", error.message());
    }
    assert!(catalog.tables().await.is_empty());
}

#[tokio::test]
async fn a_refresh_that_meets_a_bad_file_changes_nothing() {
    let catalog = Running::start().await;
    let folder = catalog.data("orders");
    fixtures::orders_many(&folder, 300, 3).unwrap();
    let before = catalog.create("orders", &folder).await.unwrap();
    fs::remove_file(folder.join("part-00000.parquet")).unwrap();
    fs::write(folder.join("part-00007.parquet"), "not at all").unwrap();
    let error = catalog.refresh("orders").await.unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(
        error.message().contains("part-00007.parquet"),
        "{}",
        error.message()
    );
    assert_eq!(catalog.get("orders").await.unwrap(), before);
    assert_eq!(catalog.snapshots("orders").await.len(), 1);

    fs::remove_dir_all(&folder).unwrap();
    let error = catalog.refresh("orders").await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert_eq!(catalog.get("orders").await.unwrap(), before);
}

#[tokio::test]
async fn a_failed_replacement_keeps_the_table() {
    let catalog = Running::start().await;
    fixtures::orders_sorted(&catalog.data("good"), 100).unwrap();
    fixtures::truncated(&catalog.data("bad")).unwrap();
    let before = catalog.create("t", &catalog.data("good")).await.unwrap();
    let mut replace = request("t", &catalog.data("bad"));
    replace.or_replace = true;
    catalog.create_with(replace).await.unwrap_err();
    assert_eq!(catalog.get("t").await.unwrap(), before);
}

#[tokio::test]
async fn names_that_cannot_be_tables_are_refused() {
    let catalog = Running::start().await;
    fixtures::orders_sorted(&catalog.data("t"), 100).unwrap();
    for (schema, table) in [
        ("system", "queries"),
        ("main", ""),
        ("main", "a\nb"),
        (" ", "t"),
    ] {
        let mut wrong = request("t", &catalog.data("t"));
        wrong.name = Some(proto::TableName {
            schema: schema.into(),
            table: table.into(),
        });
        let error = catalog.create_with(wrong).await.unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{}", error.message());
    }
    let nameless = proto::GetTableRequest {
        name: None,
        snapshot_id: None,
    };
    let error = catalog
        .client
        .clone()
        .get_table(nameless)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    for table in ["absent", "Ünknown"] {
        let request = proto::RefreshTableRequest {
            name: Some(name(table)),
        };
        let stream = catalog
            .client
            .clone()
            .refresh_table(request)
            .await
            .unwrap()
            .into_inner();
        let error = super::last(stream).await.unwrap_err();
        assert_eq!(
            error.message(),
            format!("table fulmar.main.{table} does not exist")
        );
    }
}
