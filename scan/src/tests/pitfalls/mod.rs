//! Where pruning goes wrong in systems that others run: for each such place, rows that provoke it, and
//! filters under which four ways of reading must give the same: pruned, unpruned, DataFusion over the file
//! with everything that prunes switched off, and the filter over the rows as they were before they were
//! written.
//!
//! The places have numbers, and each test names its own. What is about table metadata is tested where a
//! catalog is, in `planner/tests/engine/pitfalls`.
//!
//! | | here | in the planner |
//! |---|---|---|
//! | 1 NaN, 2 zeros | `floats` | `bounds` |
//! | 3 missing counts, 13 null pages | `counts` | `bounds` |
//! | 4 cut bounds, 9 UTF-16, 12 LIKE | `strings` | `bounds` |
//! | 5 legacy bounds, 7 INT96 | `legacy` | |
//! | 6 physical order, 10 literals, 11 casts | `types` | `bounds` |
//! | 8 width after promotion | `../evolution.rs` | `bounds` |
//! | 14 lone indexes, 15 empty intersections | `pages` | |
//! | 16 masks and lists, 17 dropped row groups | `selections` | |
//! | 18 Bloom filters, 19 dictionaries | `probes` | |
//! | 20 dots and leaves, 22 nested nulls, 30 partition predicates | `columns` | `partitions` |
//! | 21 field ids | `../evolution.rs` | |
//! | 23 summaries, 24 transforms, 25 spec evolution, 27 paths | | `partitions` |
//! | 26 Delta (its folders in `catalog/src/tests/bad_input.rs`), 28 deletes, 29 exact statistics | | `answers` |

mod columns;
mod counts;
mod floats;
mod legacy;
mod pages;
mod probes;
mod selections;
mod strings;
mod types;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::Expr;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use model::{Counts, Predicate};
use parquet::arrow::ArrowWriter;
use parquet::data_type::DataType as Physical;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

use super::odd_file::OddFile;
use super::table::{Scanned, Table, passes};
use crate::{Limits, ScanSpec};

type Columns = Vec<(&'static str, ArrayRef)>;

/// Small pages and row groups, with every index and Bloom filter.
fn small() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(8))
        .set_data_page_row_count_limit(2)
        .set_write_batch_size(2)
        .set_bloom_filter_enabled(true)
}

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn numbers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn batch(columns: Columns) -> RecordBatch {
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn written(rows: &RecordBatch, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let mut file = Vec::new();
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(&mut file, rows.schema(), properties).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    file
}

/// A file with one column, as the schema language says it, of a type that Arrow does not write; a row group
/// for each list of values.
fn written_below_arrow<T: Physical>(column: &str, row_groups: &[&[T::T]]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message m {{ required {column}; }}")).unwrap();
    let properties = Arc::new(small().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties).unwrap();
    for &values in row_groups {
        let mut row_group = writer.next_row_group().unwrap();
        let mut column = row_group.next_column().unwrap().unwrap();
        let typed = column.typed::<T>();
        typed.write_batch(values, None, None).unwrap();
        column.close().unwrap();
        row_group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

async fn check(columns: Columns, properties: WriterPropertiesBuilder, filters: &[&str]) {
    Case::new(columns, properties).await.check(filters).await;
}

/// A table of one file, and its rows.
struct Case {
    _dir: TempDir,
    table: Table,
    rows: RecordBatch,
    /// A file of the same rows in which nothing is odd.
    sound: PathBuf,
    is_odd: bool,
}

impl Case {
    async fn new(columns: Columns, properties: WriterPropertiesBuilder) -> Self {
        let rows = batch(columns);
        let file = written(&rows, properties);
        Self::of(rows, &file, &file).await
    }

    /// A file that describes its pages in another way than our writer does.
    async fn odd(
        columns: Columns,
        properties: WriterPropertiesBuilder,
        change: impl FnOnce(&mut OddFile),
    ) -> Self {
        let rows = batch(columns);
        let sound = written(&rows, properties);
        Self::changed(rows, &sound, change).await
    }

    /// The same of a file that is written already.
    async fn changed(rows: RecordBatch, sound: &[u8], change: impl FnOnce(&mut OddFile)) -> Self {
        let mut odd = OddFile::of(sound);
        change(&mut odd);
        Self::of(rows, sound, &odd.bytes()).await
    }

    /// `file` is scanned, and `sound` is what DataFusion reads.
    async fn of(rows: RecordBatch, sound: &[u8], file: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("part-0.parquet");
        std::fs::write(&path, file).unwrap();
        let table =
            Table::of_files("pitfall", [path.as_path()].into_iter(), Limits::default()).await;
        let judged = dir.path().join("sound.parquet");
        std::fs::write(&judged, sound).unwrap();
        Self {
            _dir: dir,
            table,
            rows,
            sound: judged,
            is_odd: sound != file,
        }
    }

    /// Fails unless the rows are the same in every way of reading.
    async fn check(&self, filters: &[&str]) {
        for sql in filters {
            self.check_expr(&self.table.filter(sql)).await;
        }
    }

    async fn check_expr(&self, filter: &Expr) {
        let spec = self.spec(filter);
        let unpruned = ScanSpec {
            predicate: Predicate::Unknown,
            ..spec.clone()
        };
        let pruned = self.table.scan(spec).await;
        if !self.is_odd {
            // Of an odd file, the Parquet crate may not say where pages begin.
            self.table.check_skips(filter, &pruned.reports);
        }
        let unpruned = self.table.scan(unpruned).await.rows;
        let judged = by_datafusion(&self.sound, &self.table.visible(), filter).await;
        let expected = filter_record_batch(&self.rows, &passes(filter, &self.rows)).unwrap();
        let ways = [
            ("pruned", &pruned.rows),
            ("unpruned", &unpruned),
            ("DataFusion", &judged),
        ];
        for (way, found) in ways {
            assert_eq!(found.num_rows(), expected.num_rows(), "{way}: {filter}");
            assert_eq!(found.columns(), expected.columns(), "{way}: {filter}");
        }
    }

    /// What a scan counted, so that a test can tell that pruning was provoked.
    async fn counts(&self, sql: &str) -> Counts {
        let spec = self.spec(&self.table.filter(sql));
        counts(&self.table.scan(spec).await)
    }

    /// The same of a scan that asks Bloom filters and dictionaries to spare bytes.
    async fn sparing_counts(&self, sql: &str) -> Counts {
        let spec = self.spec(&self.table.filter(sql));
        counts(&self.table.scan_sparingly(spec).await)
    }

    /// A scan of all columns.
    fn spec(&self, filter: &Expr) -> ScanSpec {
        let schema = self.table.visible();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        self.table.spec(&names.collect::<Vec<_>>(), Some(filter))
    }
}

fn counts(scanned: &Scanned) -> Counts {
    assert_eq!(scanned.reports.len(), 1);
    scanned.reports[0].counts
}

/// The rows of a file that pass, by DataFusion with everything that prunes switched off.
async fn by_datafusion(path: &Path, schema: &SchemaRef, filter: &Expr) -> RecordBatch {
    let mut config = SessionConfig::new()
        .with_target_partitions(1)
        .set_bool("datafusion.execution.collect_statistics", false);
    for option in [
        "pruning",
        "enable_page_index",
        "bloom_filter_on_read",
        "pushdown_filters",
        "schema_force_view_types",
    ] {
        config = config.set_bool(&format!("datafusion.execution.parquet.{option}"), false);
    }
    let context = SessionContext::new_with_config(config);
    let options = ParquetReadOptions::default().schema(schema);
    let frame = context.read_parquet(path.to_str().unwrap(), options).await;
    let frame = frame.unwrap().filter(filter.clone()).unwrap();
    concat_batches(schema, &frame.collect().await.unwrap()).unwrap()
}
