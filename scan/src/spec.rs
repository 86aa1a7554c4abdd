//! What to scan of a table, without the files: the same for all tasks of a query.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::internal_datafusion_err;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
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
    /// The same scan of a table that has only the columns that are read: what a ticket need not say, of a
    /// thousand columns, costs nothing.
    ///
    /// # Errors
    /// When the filter names a column that the table does not have.
    pub fn narrowed(self) -> Result<Self> {
        let filtered = self.filter.iter().flat_map(collect_columns);
        let filtered = filtered.map(|column| column.index());
        let read = self.projection.iter().copied().chain(filtered);
        let read: Vec<usize> = read.collect::<BTreeSet<_>>().into_iter().collect();
        let place = |position: usize| {
            let place = read.binary_search(&position);
            place.map_err(|_| internal_datafusion_err!("the scan lacks column {position}"))
        };
        let filter = self.filter.map(|filter| {
            let moved = filter.transform(|part| match part.downcast_ref::<Column>() {
                Some(column) => {
                    let place = place(column.index())?;
                    Ok(Transformed::yes(Arc::new(Column::new(
                        column.name(),
                        place,
                    ))))
                }
                None => Ok(Transformed::no(part)),
            });
            moved.data()
        });
        let projection = self.projection.into_iter().map(place);
        Ok(Self {
            schema: self.schema.project(&read),
            projection: projection.collect::<Result<_>>()?,
            filter: filter.transpose()?,
            ..self
        })
    }

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
