//! What to scan of a table, without the files: the same for all tasks of a query.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::physical_plan::PhysicalExpr;
use model::{ColumnMapping, Predicate, TableName, TableSchema};

/// What to scan of a table.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// The table; only shown.
    pub table: TableName,
    /// Its columns, partition columns included.
    pub schema: TableSchema,
    /// How its columns are found in files.
    pub mapping: ColumnMapping,
    /// The columns to return, in output order, as positions in `schema`.
    pub projection: Vec<usize>,
    /// The exact row filter; its columns are positions in `schema`.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// What the pruner understands of `filter`, which implies it. A verdict `All` on it stands for the
    /// filter, so parts that are not understood must be [`Predicate::Unknown`] and not left out.
    pub predicate: Predicate,
    /// Rows that each partition returns at most.
    pub limit: Option<u64>,
}

impl ScanSpec {
    /// The schema of the rows that come out.
    pub fn output_schema(&self) -> SchemaRef {
        let table = self.schema.without_ids();
        let fields = self
            .projection
            .iter()
            .filter_map(|position| table.fields().get(*position).cloned());
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}
