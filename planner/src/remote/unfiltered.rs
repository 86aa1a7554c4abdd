//! A scan whose filter is too large for any ticket: Flight servers give all rows with the columns that
//! the filter needs, and the filter runs here.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::PhysicalExpr;
use model::Predicate;
use scan::ScanSpec;

/// A scan without its filter, and the filter.
#[derive(Debug)]
pub(super) struct Unfiltered {
    /// The scan: the wanted columns, behind them those that only the filter needs.
    pub(super) spec: Arc<ScanSpec>,
    /// The filter, over the columns that the scan gives.
    filter: Option<Arc<dyn PhysicalExpr>>,
    /// Columns that are wanted.
    wanted: usize,
}

impl Unfiltered {
    pub(super) fn of(spec: &ScanSpec) -> Result<Self> {
        let wanted = spec.projection.len();
        let mut projection = spec.projection.clone();
        let filter = spec.filter.clone().map(|filter| {
            let mut used: Vec<usize> = collect_columns(&filter).iter().map(Column::index).collect();
            used.sort_unstable();
            used.retain(|column| !spec.projection.contains(column));
            projection.extend(used);
            moved(filter, &projection)
        });
        let filter = filter.transpose()?;
        let spec = ScanSpec {
            projection,
            filter: None,
            // It may be what is too large, and the rows that it rules out are ruled out here too.
            predicate: Predicate::Always,
            limit: spec.limit.filter(|_| filter.is_none()),
            ..spec.clone()
        };
        Ok(Self {
            spec: Arc::new(spec),
            filter,
            wanted,
        })
    }

    /// The rows of a batch that pass, with the wanted columns.
    pub(super) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let wanted: Vec<usize> = (0..self.wanted).collect();
        let Some(filter) = &self.filter else {
            return Ok(batch.project(&wanted)?);
        };
        let passing = filter.evaluate(batch)?.into_array(batch.num_rows())?;
        let passing = filter_record_batch(batch, passing.as_boolean())?;
        Ok(passing.project(&wanted)?)
    }
}

/// The expression with its columns at their places in `projection`.
fn moved(filter: Arc<dyn PhysicalExpr>, projection: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = filter.transform_up(|node| {
        let place = node.downcast_ref::<Column>().and_then(|column| {
            let place = projection.iter().position(|from| *from == column.index())?;
            Some(Column::new(column.name(), place))
        });
        Ok(match place {
            Some(column) => Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>),
            None => Transformed::no(node),
        })
    })?;
    Ok(moved.data)
}
