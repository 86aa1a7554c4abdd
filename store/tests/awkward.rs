//! The bounds of every column of `awkward` really bound what the files hold, in each file, row group and
//! page.

#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // ids and rows are small

mod values;

use std::path::Path;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use fulmar_store::{
    FileColumns, Footer, FooterHint, IndexesWanted, Ledger, Stores, arrow_schema, file_bounds,
    match_columns, page_bounds, page_rows, read_footer, read_page_indexes, row_group_bounds,
};
use model::{ColumnBounds, ColumnMapping, TableSchema};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

struct Opened {
    ledger: Ledger,
    footer: Footer,
    columns: FileColumns,
    batches: Vec<RecordBatch>,
}

async fn open(path: &Path) -> Opened {
    let location = Stores::from_env().resolve(path.to_str().unwrap()).unwrap();
    let ledger = Ledger::new(location);
    let size = std::fs::metadata(path).unwrap().len();
    let footer = read_footer(&ledger, Some(size), FooterHint::default())
        .await
        .unwrap();
    let schema = arrow_schema(ledger.url(), &footer.metadata).unwrap();
    let table = TableSchema::numbered(&schema);
    let mapping = ColumnMapping::ByName;
    let columns = match_columns(ledger.url(), &footer.metadata, &table, mapping).unwrap();
    let read = |group: usize| {
        let file = std::fs::File::open(path).unwrap();
        let options = ArrowReaderOptions::new().with_schema(schema.clone());
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
        let reader = reader.with_row_groups(vec![group]).build().unwrap();
        concat_batches(&schema, &reader.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
    };
    Opened {
        batches: (0..footer.metadata.num_row_groups()).map(read).collect(),
        ledger,
        footer,
        columns,
    }
}

/// What was proved, so that a test that proves nothing fails.
#[derive(Debug, Default)]
struct Proved {
    bounds: usize,
    null_counts: usize,
    exact: usize,
}

impl Proved {
    fn check(&mut self, name: &str, values: &[ArrayRef], bounds: &ColumnBounds) {
        let rows: usize = values.iter().map(|array| array.len()).sum();
        let nulls: usize = values.iter().map(|array| array.logical_null_count()).sum();
        assert_eq!(bounds.row_count, Some(rows as u64), "{name}");
        if let Some(count) = bounds.null_count {
            assert_eq!(count, nulls as u64, "nulls of {name}");
            self.null_counts += 1;
        }
        let found: Vec<_> = values.iter().flat_map(values::values).collect();
        for (bound, side) in [(&bounds.lower, true), (&bounds.upper, false)] {
            let Some(bound) = bound else { continue };
            self.bounds += 1;
            for value in found.iter().filter(|value| !value.is_nan()) {
                let order = bound
                    .value
                    .compare(value)
                    .unwrap_or_else(|| panic!("{name}: {bound:?}"));
                let zeros = values::is_zero(&bound.value) && values::is_zero(value);
                let holds = if side { order.is_le() } else { order.is_ge() };
                assert!(holds || zeros, "{name}: {value} is beyond {bound:?}");
            }
            if bound.exact {
                self.exact += 1;
                assert!(
                    found.contains(&bound.value),
                    "{name}: {bound:?} does not occur"
                );
            }
        }
    }
}

#[tokio::test]
async fn bounds_of_files_and_row_groups_hold_for_every_value() {
    let folder = tempfile::tempdir().unwrap();
    let written = fixtures::awkward(folder.path()).unwrap();
    let mut proved = Proved::default();
    for path in written.paths() {
        let opened = open(path).await;
        let column = |batch: &RecordBatch, id: i32| batch.column(id as usize - 1).clone();
        for (id, bounds) in file_bounds(&opened.footer.metadata, &opened.columns) {
            let name = opened.batches[0]
                .schema()
                .field(id.0 as usize - 1)
                .name()
                .clone();
            let values: Vec<_> = opened
                .batches
                .iter()
                .map(|batch| column(batch, id.0))
                .collect();
            proved.check(&name, &values, &bounds);
        }
        for (group, batch) in opened.batches.iter().enumerate() {
            for (id, bounds) in row_group_bounds(&opened.footer.metadata, group, &opened.columns) {
                let name = batch.schema().field(id.0 as usize - 1).name().clone();
                proved.check(
                    &format!("{name} of {group}"),
                    &[column(batch, id.0)],
                    &bounds,
                );
            }
        }
    }
    println!("{proved:?}");
    assert!(
        proved.bounds > 500 && proved.null_counts > 300 && proved.exact > 200,
        "{proved:?}"
    );
}

#[tokio::test]
async fn bounds_of_pages_hold_for_every_value() {
    let folder = tempfile::tempdir().unwrap();
    let written = fixtures::awkward(folder.path()).unwrap();
    let mut proved = Proved::default();
    for path in written.paths() {
        let opened = open(path).await;
        let groups: Vec<usize> = (0..opened.batches.len()).collect();
        let leaves = opened
            .footer
            .metadata
            .file_metadata()
            .schema_descr()
            .num_columns();
        let judged: Vec<usize> = (0..leaves).collect();
        let wanted = IndexesWanted {
            row_groups: &groups,
            judged: &judged,
            read: &[],
        };
        let indexes = read_page_indexes(&opened.ledger, &opened.footer, wanted)
            .await
            .unwrap();
        for (group, batch) in opened.batches.iter().enumerate() {
            for (position, column) in opened.columns.columns.iter().enumerate() {
                let column = column.as_ref().unwrap();
                let Some(index) = indexes.chunk(group, column.leaves.start) else {
                    continue;
                };
                let metadata = &opened.footer.metadata;
                let Some(bounds) = page_bounds(metadata, group, column, index) else {
                    continue;
                };
                let rows = page_rows(&index.pages, batch.num_rows() as u64);
                assert_eq!(rows.len(), bounds.len());
                for (rows, bounds) in rows.iter().zip(&bounds) {
                    let length = (rows.end - rows.start) as usize;
                    let page = batch.column(position).slice(rows.start as usize, length);
                    let name =
                        format!("{} {group} {rows:?}", batch.schema().field(position).name());
                    proved.check(&name, &[page], bounds);
                }
            }
        }
    }
    println!("{proved:?}");
    assert!(
        proved.bounds > 2000 && proved.null_counts > 1000,
        "{proved:?}"
    );
}
