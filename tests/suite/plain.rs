//! The judge: plain DataFusion over the same files with everything that prunes switched off.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};

/// A result as text, row by row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<String>,
}

impl Rows {
    pub(crate) fn of(schema: &Schema, batches: &[RecordBatch]) -> Self {
        let columns = schema
            .fields()
            .iter()
            .map(|field| format!("{}: {}", field.name(), plain_type(field.data_type())));
        Self {
            columns: columns.collect(),
            rows: batches.iter().flat_map(texts).collect(),
        }
    }

    /// The same rows in an order of their own, for queries that promise none.
    pub(crate) fn sorted(mut self) -> Self {
        self.rows.sort_unstable();
        self
    }
}

/// Views and dictionaries are only other layouts of the same type; clients get the plain one. Some
/// clients throw at 16-bit floats, so those leave wider.
fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::ListView(element) => DataType::List(element.clone()),
        DataType::Float16 => DataType::Float32,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    let wide = |column: &ArrayRef| match column.data_type() {
        DataType::Float16 => cast(column, &DataType::Float32).unwrap(),
        _ => Arc::clone(column),
    };
    let wide: Vec<ArrayRef> = batch.columns().iter().map(wide).collect();
    let options = FormatOptions::new()
        .with_null("NULL")
        .with_types_info(false);
    let columns: Vec<ArrayFormatter> = wide
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
        .collect();
    (0..batch.num_rows())
        .map(|row| {
            let values: Vec<String> = columns
                .iter()
                .map(|column| column.value(row).to_string())
                .collect();
            values.join(" | ")
        })
        .collect()
}

/// DataFusion with pruning off.
pub(crate) struct Plain {
    context: SessionContext,
}

impl Plain {
    pub(crate) fn new() -> Self {
        let config = SessionConfig::new()
            .set_bool("datafusion.execution.parquet.pruning", false)
            .set_bool("datafusion.execution.parquet.enable_page_index", false)
            .set_bool("datafusion.execution.parquet.bloom_filter_on_read", false)
            .set_bool("datafusion.execution.parquet.pushdown_filters", false)
            .set_bool(
                "datafusion.execution.parquet.schema_force_view_types",
                false,
            )
            .set_bool("datafusion.execution.collect_statistics", false)
            .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false);
        Self {
            context: SessionContext::new_with_config(config),
        }
    }

    /// Registers a folder, with string partition columns.
    pub(crate) async fn register(&self, name: &str, folder: &Path, partitions: &[&str]) {
        let columns = partitions
            .iter()
            .map(|column| ((*column).to_owned(), DataType::Utf8));
        let options = ParquetReadOptions::default().table_partition_cols(columns.collect());
        self.context
            .register_parquet(name, folder.to_str().unwrap(), options)
            .await
            .unwrap();
    }

    pub(crate) async fn query(&self, sql: &str) -> Rows {
        let frame = self
            .context
            .sql(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let schema = SchemaRef::new(frame.schema().as_arrow().clone());
        let batches = frame
            .collect()
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        Rows::of(&schema, &batches)
    }
}
