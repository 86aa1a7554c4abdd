//! Where pruning by table metadata goes wrong in systems that others run: for each such place a table that
//! provokes it, and filters under which three ways of reading must give the same: with the filter where
//! it prunes, with the filter where it prunes nothing, and DataFusion over the rows in memory.
//!
//! What is about the statistics in files is tested in `scan/src/tests/pitfalls`, where all places are listed.

mod answers;
mod bounds;
mod partitions;
mod paths;

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::SessionContext;
use serde_json::Value;

use crate::lake::{Answer, Lake, lines};

type Columns = Vec<(&'static str, ArrayRef)>;

fn batch(columns: Columns) -> RecordBatch {
    let columns = columns
        .into_iter()
        .map(|(name, values)| (name, values, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn write(path: &Path, columns: Columns) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let rows = batch(columns);
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

fn numbers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

/// A file of the column `x` with this one value.
fn write_number(path: &Path, x: i64) {
    write(path, vec![("x", numbers([x]))]);
}

/// Fails unless the rows of table `t` are the same in every way of reading. `rows` are all of its rows.
async fn check(lake: &Lake, rows: &RecordBatch, filters: &[&str]) {
    for filter in filters {
        let sql = format!("SELECT * FROM t WHERE {filter}");
        let expected = in_memory(rows, &sql).await;
        assert_eq!(text(&lake.query(&sql).await), expected, "pruned: {filter}");
        // What is random is never in a scan, so this filter prunes nothing.
        let sql = format!("SELECT * FROM t WHERE ({filter}) OR random() > 2");
        let unpruned = text(&lake.query(&sql).await);
        assert_eq!(unpruned, expected, "unpruned: {filter}");
    }
}

/// What DataFusion gives for a statement over these rows as table `t`.
async fn in_memory(rows: &RecordBatch, sql: &str) -> String {
    let context = SessionContext::new();
    context.register_batch("t", rows.clone()).unwrap();
    let frame = context.sql(sql).await.unwrap();
    let schema: SchemaRef = Arc::new(frame.schema().as_arrow().clone());
    let batches = frame.collect().await.unwrap();
    lines(&[concat_batches(&schema, &batches).unwrap()])
}

fn text(answer: &Answer) -> String {
    lines(&[concat_batches(&answer.plan.schema, &answer.batches).unwrap()])
}

/// How many files a filter rules out by `partition` or `bounds`.
async fn skipped(lake: &Lake, by: &str, filter: &str) -> u64 {
    let answer = lake.query(&format!("SELECT * FROM t WHERE {filter}")).await;
    let metadata: Value = serde_json::from_slice(&answer.plan.app_metadata).unwrap();
    let count = &metadata["plan"][format!("files_skipped_by_{by}")];
    count.as_u64().unwrap()
}
