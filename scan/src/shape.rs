//! Which columns of a table a scan decodes, and how they become rows of the result: exact filter, then
//! projection. The same for every file of a scan; knows no file.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::PhysicalExpr;

use model::FieldId;

use crate::error::ScanError;
use crate::spec::ScanSpec;

/// The columns to decode, and what becomes of their rows.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Positions in the table's schema, ascending.
    pub(crate) columns: Vec<usize>,
    /// Their field ids.
    pub(crate) ids: Vec<FieldId>,
    /// Their schema, without field ids.
    pub(crate) schema: SchemaRef,
    filter: Option<Arc<dyn PhysicalExpr>>,
    projection: Vec<usize>,
    output: SchemaRef,
}

/// What a scan decodes where the filter is needed, and where every row is known to pass it.
#[derive(Clone, Debug)]
pub(crate) struct Shapes {
    pub(crate) filtered: Shape,
    pub(crate) plain: Shape,
}

impl Shapes {
    /// The shapes of a scan.
    ///
    /// # Errors
    /// When the filter names a column that the table does not have.
    pub(crate) fn new(spec: &ScanSpec) -> Result<Self, ScanError> {
        Ok(Self {
            filtered: Shape::new(spec, spec.filter.as_ref())?,
            plain: Shape::new(spec, None)?,
        })
    }
}

impl Shape {
    fn new(spec: &ScanSpec, filter: Option<&Arc<dyn PhysicalExpr>>) -> Result<Self, ScanError> {
        let table = spec.schema.without_ids();
        let filtered = filter.map(collect_columns).unwrap_or_default();
        let mut columns: Vec<usize> = spec.projection.clone();
        columns.extend(filtered.iter().map(Column::index));
        columns.sort_unstable();
        columns.dedup();
        let place = |column: usize| columns.binary_search(&column).ok();
        let filter = filter.map(|filter| rebased(filter, &place)).transpose();
        let schema = table.project(&columns);
        let (Ok(filter), Ok(schema)) = (filter, schema) else {
            return Err(ScanError::Fragment(format!(
                "table {}: a column beyond its {}",
                spec.table,
                table.fields().len()
            )));
        };
        Ok(Self {
            projection: spec
                .projection
                .iter()
                .filter_map(|column| place(*column))
                .collect(),
            filter,
            ids: columns
                .iter()
                .filter_map(|column| spec.schema.ids().get(*column).copied())
                .collect(),
            schema: Arc::new(schema),
            output: spec.output_schema(),
            columns,
        })
    }

    /// The rows of `batch` that pass the filter, as the result has them. `settled` says that all of
    /// them are known to pass.
    ///
    /// # Errors
    /// When the filter fails on a row.
    pub(crate) fn finish(&self, batch: &RecordBatch, settled: bool) -> Result<RecordBatch> {
        let passed = match &self.filter {
            Some(filter) if !settled => &filter_record_batch(batch, &passes(filter, batch)?)?,
            _ => batch,
        };
        let columns = self
            .projection
            .iter()
            .filter_map(|place| passed.columns().get(*place));
        let options = RecordBatchOptions::new().with_row_count(Some(passed.num_rows()));
        let output = Arc::clone(&self.output);
        let columns = columns.cloned().collect();
        Ok(RecordBatch::try_new_with_options(
            output, columns, &options,
        )?)
    }
}

/// The rows that pass; a row where the filter is NULL does not.
fn passes(filter: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let passes = filter.evaluate(batch)?.into_array(batch.num_rows())?;
    as_boolean_array(&passes).cloned()
}

/// The filter over the decoded columns instead of all of the table's.
fn rebased(
    filter: &Arc<dyn PhysicalExpr>,
    place: &impl Fn(usize) -> Option<usize>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let rebased = Arc::clone(filter).transform(|node| {
        let Some(column) = node.downcast_ref::<Column>() else {
            return Ok(Transformed::no(node));
        };
        let place = place(column.index()).unwrap_or_default();
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), place));
        Ok(Transformed::yes(column))
    })?;
    Ok(rebased.data)
}
