//! What a location's files become.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use futures::TryStreamExt;
use model::{Datum, Predicate};
use parquet::arrow::ArrowWriter;
use tonic::Code;
use wire::proto;

use super::{Running, equal, name, request, schema};

/// Writes a file of one column with the values 0 to 9.
pub(super) fn write_column(path: &Path, column: &str, kind: &DataType) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    let values = arrow::compute::cast(&numbers, kind).unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new(column, kind.clone(), true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values]).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

impl Running {
    /// The files of a snapshot with all that is known of them.
    async fn listed(&self, table: &str, snapshot_id: Option<i64>) -> Vec<proto::PlannedFile> {
        let request = proto::ListFilesRequest {
            name: Some(name(table)),
            snapshot_id,
        };
        let answer = self.client.clone().list_files(request).await.unwrap();
        let files: Vec<_> = answer.into_inner().try_collect().await.unwrap();
        files
            .into_iter()
            .map(|answer: proto::ListFilesResponse| answer.file.unwrap())
            .collect()
    }
}

fn write(folder: &Path, names: &[&str]) {
    for name in names {
        write_column(&folder.join(name), "x", &DataType::Int64);
    }
}

#[tokio::test]
async fn odd_names_are_files_like_others() {
    let catalog = Running::start().await;
    let names = [
        "100%/a%20b.parquet",
        "city=New York/ü€.parquet",
        "city=S%C3%A3o Paulo/x y.PARQUET",
        "city=a%2Fb/#?.parq",
    ];
    write(&catalog.data("odd"), &names);
    let table = catalog.create("odd", &catalog.data("odd")).await.unwrap();
    assert_eq!(catalog.files("odd", None).await, names);
    let city = schema(&table).id_of("city").unwrap();
    let plan = catalog.plan("odd", &Predicate::Always).await;
    let tasks = plan.tasks();
    let cities: Vec<_> = tasks
        .iter()
        .map(|task| task.partition_values[0].value.clone())
        .collect();
    let text = |value| Some(Datum::text(value));
    assert_eq!(
        cities,
        [None, text("New York"), text("São Paulo"), text("a/b")]
    );
    let paulo = catalog
        .plan("odd", &equal(city, "city", Datum::text("São Paulo")))
        .await;
    assert_eq!(paulo.files.len(), 1);
    let (_, progress) = catalog.refresh("odd").await.unwrap();
    assert_eq!(progress.footers_read, 0);
}

#[tokio::test]
async fn hidden_names_and_other_endings_are_no_data() {
    let catalog = Running::start().await;
    let folder = catalog.data("t");
    write(
        &folder,
        &[
            "a.parquet",
            "_b.parquet",
            ".c.parquet",
            "_temporary/d.parquet",
            "e.bin",
        ],
    );
    fs::write(folder.join("_SUCCESS"), "").unwrap();
    catalog.create("t", &folder).await.unwrap();
    assert_eq!(catalog.files("t", None).await, ["a.parquet"]);
    let single = catalog
        .create("single", &folder.join("e.bin"))
        .await
        .unwrap();
    assert_eq!((single.files, single.rows), (1, 10));
}

#[tokio::test]
async fn a_location_may_be_a_pattern() {
    let catalog = Running::start().await;
    let folder = catalog.data("t");
    write(
        &folder,
        &["y=1/a.pq", "y=1/b.parquet", "y=2/a.pq", "z/a.pq"],
    );
    let table = catalog.create("t", &folder.join("y=*/*.pq")).await.unwrap();
    assert_eq!(catalog.files("t", None).await, ["y=1/a.pq", "y=2/a.pq"]);
    assert_eq!(
        schema(&table).arrow().field(1).data_type(),
        &DataType::Int64
    );
    let (_, progress) = catalog.refresh("t").await.unwrap();
    assert_eq!((progress.files_total, progress.footers_read), (2, 0));
    let nothing = catalog
        .create("u", &folder.join("q=*/*.pq"))
        .await
        .unwrap_err();
    assert_eq!(nothing.code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn partition_columns_are_typed_by_all_of_their_values() {
    let catalog = Running::start().await;
    let names = [
        "n=1/d=2024-01-31/s=07/a.parquet",
        "n=20/d=2024-02-01/s=8/a.parquet",
        "n=__HIVE_DEFAULT_PARTITION__/d=2024-02-02/s=9/a.parquet",
    ];
    write(&catalog.data("t"), &names);
    let table = catalog.create("t", &catalog.data("t")).await.unwrap();
    let columns = schema(&table);
    let types: Vec<_> = columns
        .arrow()
        .fields()
        .iter()
        .skip(1)
        .map(|f| f.data_type())
        .collect();
    assert_eq!(
        types,
        [&DataType::Int64, &DataType::Date32, &DataType::Utf8]
    );
    let n = columns.id_of("n").unwrap();
    let everything = catalog.listed("t", None).await;
    let counts = |file: &proto::PlannedFile| (file.bounds[1].null_count, file.bounds[1].row_count);
    assert_eq!(
        everything.iter().map(counts).collect::<Vec<_>>(),
        [
            (Some(0), Some(10)),
            (Some(0), Some(10)),
            (Some(10), Some(10))
        ]
    );
    let twenty = catalog.plan("t", &equal(n, "n", Datum::Int(20))).await;
    assert_eq!(
        (twenty.files.len(), twenty.summary.skipped_by_partition),
        (1, 2)
    );

    // Declared, only these are columns.
    let mut declared = request("u", &catalog.data("t"));
    declared.partition_columns = vec!["s".to_owned()];
    let table = catalog.create_with(declared).await.unwrap();
    assert_eq!(schema(&table).arrow().fields().len(), 2);
    let mut missing = request("v", &catalog.data("t"));
    missing.partition_columns = vec!["q".to_owned()];
    let error = catalog.create_with(missing).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(
        error
            .message()
            .contains("partition column \"q\" is not in the path of file:///")
    );
}

#[tokio::test]
async fn the_path_wins_over_a_column_of_the_same_name_in_the_file() {
    let catalog = Running::start().await;
    write(&catalog.data("t"), &["x=5/a.parquet"]);
    let table = catalog.create("t", &catalog.data("t")).await.unwrap();
    let columns = schema(&table);
    assert_eq!(columns.arrow().fields().len(), 1);
    let x = columns.id_of("x").unwrap();
    let five = catalog.plan("t", &equal(x, "x", Datum::Int(5))).await;
    assert!(five.files[0].fully_matched);
    let one = catalog.plan("t", &equal(x, "x", Datum::Int(1))).await;
    assert_eq!(one.summary.skipped_by_partition, 1);
}

#[tokio::test]
async fn declared_columns_win_when_the_files_fit() {
    let catalog = Running::start().await;
    let folder = catalog.data("t");
    write_column(&folder.join("p=1/a.parquet"), "x", &DataType::Int32);
    let declare = |table: &str, fields: &[(&str, DataType)]| {
        let fields = fields
            .iter()
            .map(|(name, kind)| Field::new(*name, kind.clone(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let mut request = request(table, &folder);
        request.declared_schema = wire::schema::encode_schema(&schema);
        request
    };
    let wide = [("p", DataType::Int16), ("x", DataType::Int64)];
    let table = catalog.create_with(declare("wide", &wide)).await.unwrap();
    let fields = schema(&table).arrow().fields().clone();
    assert_eq!(
        (fields[0].name().as_str(), fields[0].data_type()),
        ("p", &DataType::Int16)
    );
    assert_eq!(
        (fields[1].name().as_str(), fields[1].data_type()),
        ("x", &DataType::Int64)
    );
    let (again, _) = catalog.refresh("wide").await.unwrap();
    assert_eq!(again, table);

    let refused = [
        (
            ("x", DataType::Int16),
            "column \"x\" is declared as Int16 but is Int32 in file:///",
        ),
        (
            ("q", DataType::Int16),
            "column \"q\" is declared but is in no file",
        ),
        (
            ("p", DataType::Boolean),
            "partition column \"p\": \"1\" is no Boolean in file:///",
        ),
    ];
    for (field, message) in refused {
        let error = catalog
            .create_with(declare("narrow", &[field]))
            .await
            .unwrap_err();
        assert!(error.message().contains(message), "{}", error.message());
    }
    assert_eq!(catalog.tables().await, ["wide"]);
}

/// Writes a file of the column `x` with these values.
fn write_values(path: &Path, values: &[Option<i64>]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values]).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[tokio::test]
async fn a_column_is_never_null_only_when_every_file_proves_it() {
    let catalog = Running::start().await;
    let folder = catalog.data("t");
    write_values(&folder.join("a.parquet"), &[Some(1), Some(2)]);
    write_values(&folder.join("empty.parquet"), &[]);
    let declare = |table: &str| {
        let schema = Schema::new(vec![Field::new("x", DataType::Int64, false)]);
        let mut request = request(table, &folder);
        request.declared_schema = wire::schema::encode_schema(&schema);
        request
    };
    let table = catalog.create_with(declare("t")).await.unwrap();
    assert!(!schema(&table).arrow().field(0).is_nullable());

    write_values(&folder.join("b.parquet"), &[Some(3), None]);
    let error = catalog.refresh("t").await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    let expected = "column \"x\" is declared NOT NULL but holds nulls in file://";
    assert!(error.message().contains(expected), "{}", error.message());
    assert!(
        error.message().ends_with("/t/b.parquet"),
        "{}",
        error.message()
    );
    assert_eq!(catalog.get("t").await.unwrap(), table);
    assert!(catalog.create_with(declare("u")).await.is_err());

    write_column(&folder.join("b.parquet"), "other", &DataType::Int64);
    let error = catalog.refresh("t").await.unwrap_err();
    let expected = "column \"x\" is declared NOT NULL but is missing in file://";
    assert!(error.message().contains(expected), "{}", error.message());
    assert!(catalog.create_with(declare("u")).await.is_err());

    write_values(&folder.join("b.parquet"), &[Some(3)]);
    let (table, _) = catalog.refresh("t").await.unwrap();
    assert!(!schema(&table).arrow().field(0).is_nullable());
}

#[tokio::test]
async fn files_are_listed_with_all_that_is_known_of_them() {
    let catalog = Running::start().await;
    let folder = catalog.data("t");
    write(&folder, &["k=a/1.parquet", "k=b/2.parquet"]);
    let table = catalog.create("t", &folder).await.unwrap();
    fs::remove_file(folder.join("k=a/1.parquet")).unwrap();
    catalog.refresh("t").await.unwrap();
    assert_eq!(catalog.listed("t", None).await.len(), 1);
    let first = catalog.listed("t", Some(table.snapshot_id)).await;
    assert_eq!(first.len(), 2);
    let task = first[0].task.clone().unwrap();
    assert!(task.file.unwrap().path.ends_with("/k=a/1.parquet"));
    assert_eq!(task.partition_values.len(), 1);
    assert_eq!(first[0].bounds.len(), 2);
}

#[tokio::test]
async fn tables_are_listed_by_schema() {
    let catalog = Running::start().await;
    write(&catalog.data("t"), &["a.parquet"]);
    for schema in ["main", "sales"] {
        let mut request = request("t", &catalog.data("t"));
        request.name = Some(proto::TableName {
            schema: schema.into(),
            table: "t".into(),
        });
        catalog.create_with(request).await.unwrap();
    }
    let count = async |schema: Option<&str>| {
        let request = proto::ListTablesRequest {
            schema: schema.map(str::to_owned),
        };
        catalog
            .client
            .clone()
            .list_tables(request)
            .await
            .unwrap()
            .into_inner()
            .tables
            .len()
    };
    assert_eq!(
        (
            count(None).await,
            count(Some("sales")).await,
            count(Some("x")).await
        ),
        (2, 1, 0)
    );
}
