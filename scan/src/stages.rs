//! The stages of a scan: which columns are decoded when, and what part of the filter is evaluated then.
//! A column is decoded in one stage only, for the rows that the stages before left. Knows no file.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::PhysicalExpr;
use model::FieldId;

use crate::conjuncts::{Conjuncts, all_of};
use crate::error::ScanError;
use crate::spec::ScanSpec;

/// The part of the rows below which the columns that are still missing are decoded in a stage of their
/// own. Above, skipping rows saves less than it costs.
const SELECTIVE: f64 = 0.4;

/// One stage.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// The columns that it decodes, as positions in the table's schema, ascending.
    pub(crate) columns: Vec<usize>,
    /// Their field ids.
    pub(crate) ids: Vec<FieldId>,
    /// Their schema, without field ids.
    pub(crate) schema: SchemaRef,
    /// The columns that earlier stages kept, followed by those of this one.
    at_hand: SchemaRef,
    /// Over the columns at hand.
    filter: Option<Arc<dyn PhysicalExpr>>,
    /// The columns at hand that go on: to the next stage, or out.
    kept: Vec<usize>,
    kept_schema: SchemaRef,
}

/// The rows of some columns that a stage lets through.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) rows: RecordBatch,
    /// Which of the given rows these are; `None` when all are.
    pub(crate) bits: Option<BooleanBuffer>,
}

/// The stages of a scan; the last one gives rows of the result.
#[derive(Clone, Debug)]
pub(crate) struct Stages(Vec<Stage>);

impl Stages {
    /// The columns of the result, for rows that need no filter.
    ///
    /// # Errors
    /// When the scan names a column that the table does not have.
    pub(crate) fn plain(spec: &ScanSpec) -> Result<Self, ScanError> {
        Self::new(spec, &[])
    }

    /// The stages of a filter whose parts come in the order of their evaluation, each with the part of
    /// the rows that is expected to pass it.
    ///
    /// # Errors
    /// When the scan names a column that the table does not have.
    pub(crate) fn new(spec: &ScanSpec, parts: &[(Conjuncts, f64)]) -> Result<Self, ScanError> {
        let mut drafts: Vec<Draft> = vec![Draft::default()];
        let mut decoded: Vec<usize> = Vec::new();
        let wanted = || spec.projection.iter().copied();
        let mut left = 1.0;
        for (number, (part, passing)) in parts.iter().enumerate() {
            let later = parts
                .iter()
                .skip(number + 1)
                .flat_map(|(part, _)| part.columns.iter());
            let Some(draft) = drafts.last_mut() else {
                break;
            };
            draft.add(&part.columns, &mut decoded);
            draft.filters.push(Arc::clone(&part.filter));
            left *= passing;
            let more = later
                .copied()
                .chain(wanted())
                .any(|column| !decoded.contains(&column));
            if left < SELECTIVE && more {
                drafts.push(Draft::default());
                left = 1.0;
            }
        }
        if let Some(last) = drafts.last_mut() {
            let output: Vec<usize> = wanted().collect();
            last.add(&output, &mut decoded);
        }
        // A filter over what is at hand already needs no stage of its own, but the last one's rows do.
        build(spec, &drafts)
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Stage> {
        self.0.get(number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Stage> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_last(&self, number: usize) -> bool {
        number + 1 >= self.0.len()
    }
}

/// A stage before its columns have places.
#[derive(Default)]
struct Draft {
    columns: Vec<usize>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl Draft {
    fn add(&mut self, columns: &[usize], decoded: &mut Vec<usize>) {
        for column in columns {
            if !decoded.contains(column) {
                decoded.push(*column);
                self.columns.push(*column);
            }
        }
        self.columns.sort_unstable();
    }

    /// The columns of the table that its filters read.
    fn read(&self) -> impl Iterator<Item = usize> {
        let columns = self
            .filters
            .iter()
            .flat_map(datafusion::physical_expr::utils::collect_columns);
        columns.map(|column| column.index())
    }
}

fn build(spec: &ScanSpec, drafts: &[Draft]) -> Result<Stages, ScanError> {
    let table = spec.schema.without_ids();
    let missing = || {
        let columns = table.fields().len();
        ScanError::Fragment(format!(
            "table {}: a column beyond its {columns}",
            spec.table
        ))
    };
    let mut stages = Vec::with_capacity(drafts.len());
    let mut kept: Vec<usize> = Vec::new();
    for (number, draft) in drafts.iter().enumerate() {
        let at_hand: Vec<usize> = kept.iter().chain(&draft.columns).copied().collect();
        let place = |column: usize| at_hand.iter().position(|here| *here == column);
        let filter = all_of(draft.filters.clone());
        let filter = filter.map(|filter| rebased(&filter, &place)).transpose();
        let later = drafts.iter().skip(number + 1);
        let is_last = number + 1 == drafts.len();
        let goes_on: Vec<usize> = if is_last {
            spec.projection.clone()
        } else {
            let read: Vec<usize> = later.flat_map(Draft::read).collect();
            let goes_on =
                |column: &&usize| spec.projection.contains(column) || read.contains(column);
            at_hand.iter().filter(goes_on).copied().collect()
        };
        let schemas = [&draft.columns, &at_hand, &goes_on].map(|columns| table.project(columns));
        let [Ok(schema), Ok(hand), Ok(kept_schema)] = schemas else {
            return Err(missing());
        };
        stages.push(Stage {
            ids: draft
                .columns
                .iter()
                .filter_map(|column| spec.schema.ids().get(*column).copied())
                .collect(),
            columns: draft.columns.clone(),
            schema: Arc::new(schema),
            at_hand: Arc::new(hand),
            filter: filter.map_err(|_| missing())?,
            kept: goes_on.iter().filter_map(|column| place(*column)).collect(),
            kept_schema: if is_last {
                spec.output_schema()
            } else {
                Arc::new(kept_schema)
            },
        });
        kept = goes_on;
    }
    Ok(Stages(stages))
}

impl Stage {
    /// The schema of the rows that go on.
    pub(crate) fn kept_schema(&self) -> &SchemaRef {
        &self.kept_schema
    }

    /// Puts together what earlier stages kept of some rows and what this one decoded of them, and lets
    /// those through that pass its filter. `sure` says that all are known to pass.
    ///
    /// # Errors
    /// When the filter fails on a row.
    pub(crate) fn pass(
        &self,
        kept: Option<&RecordBatch>,
        own: &RecordBatch,
        sure: bool,
    ) -> Result<Passed> {
        let before = kept.map(RecordBatch::columns).unwrap_or_default();
        let columns = before.iter().chain(own.columns()).cloned().collect();
        let at_hand = batch(&self.at_hand, columns, own.num_rows())?;
        let passes = match &self.filter {
            Some(filter) if !sure => Some(passes(filter, &at_hand)?),
            _ => None,
        };
        let kept = self
            .kept
            .iter()
            .filter_map(|place| at_hand.columns().get(*place));
        let rows = batch(
            &self.kept_schema,
            kept.cloned().collect(),
            at_hand.num_rows(),
        )?;
        Ok(match passes {
            Some(passes) if passes.true_count() < rows.num_rows() => Passed {
                rows: filter_record_batch(&rows, &passes)?,
                bits: Some(bits(&passes)),
            },
            _ => Passed { rows, bits: None },
        })
    }
}

/// A batch of columns, or of rows without any.
pub(crate) fn batch(
    schema: &SchemaRef,
    columns: Vec<arrow::array::ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

/// The rows that pass; a row where the filter is NULL does not.
fn passes(filter: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let passes = filter.evaluate(batch)?.into_array(batch.num_rows())?;
    as_boolean_array(&passes).cloned()
}

fn bits(passes: &BooleanArray) -> BooleanBuffer {
    match passes.nulls() {
        Some(valid) => passes.values() & valid.inner(),
        None => passes.values().clone(),
    }
}

/// The filter over the columns at hand instead of all of the table's.
fn rebased(
    filter: &Arc<dyn PhysicalExpr>,
    place: &impl Fn(usize) -> Option<usize>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let rebased = Arc::clone(filter).transform(|node| {
        let Some(column) = node.downcast_ref::<Column>() else {
            return Ok(Transformed::no(node));
        };
        let Some(place) = place(column.index()) else {
            return datafusion::common::internal_err!("column {column} is not at hand");
        };
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), place));
        Ok(Transformed::yes(column))
    })?;
    Ok(rebased.data)
}
