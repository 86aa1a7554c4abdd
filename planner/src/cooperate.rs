//! Makes joins give way. A join can make millions of batches from one batch of input, and nothing
//! above it waits: without a pause it would keep its thread, and go on when its client is long gone.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};

/// Lets every join pause after a number of batches.
#[derive(Debug)]
pub(crate) struct YieldAtJoins;

impl PhysicalOptimizerRule for YieldAtJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            if !is_join(node.as_ref()) {
                return Ok(Transformed::no(node));
            }
            let node: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(node));
            Ok(Transformed::yes(node))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "YieldAtJoins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_join(node: &dyn ExecutionPlan) -> bool {
    node.is::<HashJoinExec>()
        || node.is::<NestedLoopJoinExec>()
        || node.is::<CrossJoinExec>()
        || node.is::<SortMergeJoinExec>()
}
