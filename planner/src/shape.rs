//! Which physical plans Flight servers can run by themselves, and the fragments that they become.
//! Pure: looks at plans and rebuilds them, never runs one.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::{Column, cast};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use scan::ScanExec;

use crate::schema::difference;

/// A scan with what is done to its rows, which any Flight server can run.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    /// The plan; its leaf is `scan`.
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// The leaf.
    pub(crate) scan: ScanExec,
}

/// The fragments whose rows together are those of `plan`, each giving `promised`; `None` when the
/// plan is more than scans, filters, projections and UNION ALL.
pub(crate) fn fragments(
    plan: &Arc<dyn ExecutionPlan>,
    promised: &SchemaRef,
) -> Result<Option<Vec<Fragment>>> {
    let Some(parts) = split(plan)? else {
        return Ok(None);
    };
    let fragment = |(plan, scan)| {
        let plan = conform(plan, promised)?;
        Ok(Fragment { plan, scan })
    };
    parts
        .into_iter()
        .map(fragment)
        .collect::<Result<_>>()
        .map(Some)
}

/// The plan with a projection on top that gives exactly the names and types of `schema`.
pub(crate) fn conform(
    plan: Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
) -> Result<Arc<dyn ExecutionPlan>> {
    let actual = plan.schema();
    if difference(schema, &actual).is_none() {
        return Ok(plan);
    }
    let fields = actual.fields().iter().zip(schema.fields()).enumerate();
    let expressions = fields.map(|(position, (from, to))| {
        let column = Arc::new(Column::new(from.name(), position));
        Ok(ProjectionExpr {
            expr: cast(column, &actual, to.data_type().clone())?,
            alias: to.name().clone(),
        })
    });
    let expressions: Vec<ProjectionExpr> = expressions.collect::<Result<_>>()?;
    Ok(Arc::new(ProjectionExec::try_new(expressions, plan)?))
}

type Split = Vec<(Arc<dyn ExecutionPlan>, ScanExec)>;

fn split(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Split>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        // A limit holds for each partition, so such a scan must stay one.
        let whole = scan.spec().limit.is_none() || scan.partitions().len() == 1;
        return Ok(whole.then(|| vec![(Arc::clone(plan), scan.clone())]));
    }
    if plan.is::<EmptyExec>() {
        return Ok(Some(Vec::new()));
    }
    if plan.is::<UnionExec>() {
        let parts = plan.children().into_iter().map(split);
        let parts: Option<Vec<Split>> = parts.collect::<Result<_>>()?;
        return Ok(parts.map(|parts| parts.into_iter().flatten().collect()));
    }
    let [child] = plan.children()[..] else {
        return Ok(None);
    };
    if only_moves_rows(plan) {
        return split(child);
    }
    if !works_row_by_row(plan) {
        return Ok(None);
    }
    let Some(parts) = split(child)? else {
        return Ok(None);
    };
    let rebuilt = parts.into_iter().map(|(part, scan)| {
        let plan = replace_children_if_necessary(Arc::clone(plan), vec![part])?;
        Ok((plan, scan))
    });
    rebuilt.collect::<Result<_>>().map(Some)
}

fn only_moves_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.fetch().is_none()
        && (plan.is::<CoalescePartitionsExec>()
            || plan.is::<RepartitionExec>()
            || plan.is::<CooperativeExec>())
}

/// A filter that depends on more than the row could let other rows through when a broken stream is
/// resumed.
fn works_row_by_row(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return filter.fetch().is_none() && !is_volatile(filter.predicate());
    }
    plan.is::<ProjectionExec>()
}
