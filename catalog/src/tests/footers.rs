//! Which footers are kept, given along, believed and forgotten.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use model::{
    ColumnMapping, DataFile, FieldId, FilePiece, FooterColumn, LearnedFooter, TableName,
    TableSchema,
};
use tempfile::TempDir;

use crate::database::{ColumnsWanted, Database, KnownFooter};
use crate::index::TableIndex;
use crate::known_footers::{FootersWanted, Known, KnownFooters, is_plausible, worth_keeping};
use crate::plan::PlanPart;
use crate::table::{Change, Columns, Declaration, Definition, FileFacts, Table, TableKind};

/// A database with a table of files in an object store, which nobody asks.
struct Kept {
    _folder: TempDir,
    database: Database,
    table: Table,
}

fn file(number: usize) -> DataFile {
    DataFile {
        path: format!("s3://lake/t/{number}.parquet"),
        size: 10_000_000,
        version: Some(format!("v{number}")),
        record_count: Some(7),
        footer_length: Some(1_000),
        page_index: None,
    }
}

fn column(name: &str, field_id: Option<i32>, bytes: usize) -> FooterColumn {
    let piece = |start| FilePiece {
        start,
        bytes: vec![3; 10],
    };
    FooterColumn {
        name: name.to_owned(),
        field_id,
        footer: vec![1; bytes],
        column_indexes: vec![piece(1)],
        offset_indexes: vec![piece(2)],
    }
}

fn columns() -> Vec<FooterColumn> {
    vec![
        column("a", None, 100),
        column("b", None, 100),
        column("c", None, 100),
    ]
}

fn schema() -> Schema {
    let names = ["a", "b", "c", "d"];
    Schema::new(
        names
            .map(|name| Field::new(name, DataType::Int64, true))
            .to_vec(),
    )
}

fn change(added: Vec<(usize, Option<Vec<FooterColumn>>)>, removed: Vec<String>) -> Change {
    let facts = added.into_iter().map(|(number, footer)| FileFacts {
        file: file(number),
        schema: Arc::new(schema()),
        partitions: Vec::new(),
        bounds: Vec::new(),
        footer,
    });
    Change {
        operation: "test",
        columns: Columns {
            schema: TableSchema::numbered(&schema()),
            partition_fields: Vec::new(),
        },
        added: facts.collect(),
        removed,
    }
}

impl Kept {
    async fn with(added: Vec<(usize, Option<Vec<FooterColumn>>)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let database = Database::open(path.to_str().unwrap()).await.unwrap();
        let definition = Definition {
            name: TableName::main("t"),
            kind: TableKind::Listing,
            location: "s3://lake/t".to_owned(),
            mapping: ColumnMapping::ByName,
            declaration: Declaration::default(),
            metadata_location: None,
        };
        let change = change(added, Vec::new());
        let table = database
            .create_table(&definition, &change, false)
            .await
            .unwrap();
        Self {
            _folder: folder,
            database,
            table,
        }
    }

    async fn index(&self) -> Arc<TableIndex> {
        let files = self.database.snapshot_files(&self.table).await.unwrap();
        Arc::new(TableIndex::build(self.table.clone(), files).unwrap())
    }

    /// What a plan says of each file's footer.
    async fn planned(&self, most_bytes: usize) -> Vec<Known> {
        let index = self.index().await;
        let mut parts: Vec<PlanPart> = (0..index.files.len())
            .map(|position| PlanPart::File {
                index: Arc::clone(&index),
                position,
                fully_matched: false,
                footer: Known::Nothing,
            })
            .collect();
        let wanted = FootersWanted {
            read: vec![FieldId(1), FieldId(2)],
            judged: vec![FieldId(2)],
            most_bytes,
        };
        let schema = &self.table.snapshot.columns.schema;
        let mut footers = KnownFooters::new(self.database.clone(), &wanted, schema);
        footers.add(&mut parts).await;
        let known = parts.into_iter().map(|part| match part {
            PlanPart::File { footer, .. } => footer,
            other => panic!("{other:?}"),
        });
        known.collect()
    }

    async fn rows(&self) -> i64 {
        let rows = sqlx::query_scalar("SELECT count(*) FROM footer_columns");
        rows.fetch_one(self.database.readers()).await.unwrap()
    }
}

fn names(known: &Known) -> Vec<(&str, usize, usize)> {
    let Known::Here(columns) = known else {
        panic!("{known:?}");
    };
    let told =
        |column: &'_ FooterColumn| (column.column_indexes.len(), column.offset_indexes.len());
    columns
        .iter()
        .map(|column| (column.name.as_str(), told(column).0, told(column).1))
        .collect()
}

#[tokio::test]
async fn a_plan_brings_what_the_scan_needs_and_says_what_is_lacking() {
    let kept = Kept::with(vec![
        (0, Some(columns())),
        (1, None),
        (2, Some(Vec::new())),
        (
            3,
            Some(vec![column("c", None, 100), column("x", None, 100)]),
        ),
        (
            4,
            Some(vec![column("x", Some(9), 100), column("old", Some(2), 100)]),
        ),
    ])
    .await;
    let planned = kept.planned(1_000_000).await;
    assert_eq!(names(&planned[0]), [("a", 0, 1), ("b", 1, 1)]);
    assert_eq!(planned[1], Known::Wanted);
    // Too large to be kept.
    assert_eq!(planned[2], Known::Nothing);
    // A file that lacks the columns still says how many rows it has.
    assert_eq!(names(&planned[3]), [("c", 0, 1)]);
    // An older name of the second column.
    assert_eq!(names(&planned[4]), [("old", 1, 1)]);
}

#[tokio::test]
async fn there_is_only_so_much_room() {
    let large = vec![column("a", None, 300_000)];
    let files = (0..40).map(|number| (number, Some(columns())));
    let kept = Kept::with(files.chain([(40, Some(large))]).collect()).await;
    let here = |planned: Vec<Known>| {
        let here = planned
            .iter()
            .filter(|known| matches!(known, Known::Here(_)));
        here.count()
    };
    // Two columns have about 250 bytes.
    assert_eq!(here(kept.planned(0).await), 0);
    assert_eq!(here(kept.planned(2_600).await), 10);
    let all = kept.planned(1_000_000).await;
    assert_eq!(here(all.clone()), 40);
    // No ticket would have room for it.
    let names = kept
        .index()
        .await
        .files
        .iter()
        .map(|file| file.file.path.clone())
        .collect::<Vec<_>>();
    let large = names
        .iter()
        .position(|path| path.ends_with("/40.parquet"))
        .unwrap();
    assert_eq!(all[large], Known::Nothing);
}

#[tokio::test]
async fn footers_are_those_of_one_version_and_go_with_their_file() {
    let mut kept = Kept::with(vec![(0, Some(columns())), (1, Some(columns()))]).await;
    let index = kept.index().await;
    let id = index.files[0].id.unwrap();
    let wanted = ColumnsWanted {
        names: vec!["a".to_owned()],
        ..ColumnsWanted::default()
    };
    let other = DataFile {
        version: Some("other".to_owned()),
        ..file(0)
    };
    let unknown = DataFile {
        version: None,
        ..file(0)
    };
    for file in [other, unknown] {
        let known = kept
            .database
            .footers(&[(id, &file)], &wanted)
            .await
            .unwrap();
        assert_eq!(known, HashMap::new());
    }
    let own = file(0);
    let known = kept.database.footers(&[(id, &own)], &wanted).await.unwrap();
    assert!(matches!(&known[&id], KnownFooter::Columns(columns) if columns.len() == 1));

    assert_eq!(kept.rows().await, 6);
    let removed = change(vec![(2, Some(columns()))], vec![file(0).path]);
    kept.table = kept.database.commit(&kept.table, &removed).await.unwrap();
    assert_eq!(kept.rows().await, 6);
    let known = kept.database.footers(&[(id, &own)], &wanted).await.unwrap();
    assert_eq!(known, HashMap::new());
    kept.database.drop_table(kept.table.name()).await.unwrap();
    assert_eq!(kept.rows().await, 0);
}

#[tokio::test]
async fn only_what_can_be_the_footer_of_a_file_is_learned() {
    let kept = Kept::with(vec![(0, None)]).await;
    let index = kept.index().await;
    let learned = |version: &str, columns| LearnedFooter {
        path: file(0).path,
        size: file(0).size,
        version: version.to_owned(),
        columns,
    };
    assert!(is_plausible(&index, &learned("v0", Vec::new())));
    assert!(!is_plausible(&index, &learned("v1", Vec::new())));
    assert!(
        !is_plausible(&index, &learned("v0", columns())),
        "it is no footer"
    );
    let name = kept.table.name();
    kept.database
        .learn_footer(name, &learned("v1", columns()))
        .await
        .unwrap();
    assert_eq!(kept.planned(1_000).await, [Known::Wanted]);
    kept.database
        .learn_footer(name, &learned("v0", columns()))
        .await
        .unwrap();
    assert_eq!(names(&kept.planned(1_000).await[0]).len(), 2);
}

#[test]
fn footers_of_near_and_of_small_files_are_not_kept() {
    assert!(worth_keeping("s3://lake/orders/1.parquet", 10_000_000));
    assert!(!worth_keeping("s3://lake/orders/1.parquet", 10_000));
    assert!(!worth_keeping("file:///lake/orders/1.parquet", 10_000_000));
}
