//! The leaf of every plan over a table. It holds what to scan and which tasks; it never scans itself.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, stream};
use model::{RowRange, ScanTask};

use crate::error::ScanError;
use crate::runner::Runner;
use crate::spec::ScanSpec;

/// Files that are named in a plan before the rest is only counted.
const SHOWN_FILES: usize = 5;

/// A scan of some files of a table, filtered and projected: one partition per list of tasks.
#[derive(Clone, Debug)]
pub struct ScanExec {
    spec: Arc<ScanSpec>,
    partitions: Vec<Vec<ScanTask>>,
    properties: Arc<PlanProperties>,
}

impl ScanExec {
    /// A scan with one partition per inner list of tasks.
    pub fn new(spec: Arc<ScanSpec>, partitions: Vec<Vec<ScanTask>>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(spec.output_schema()),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            spec,
            partitions,
            properties: Arc::new(properties),
        }
    }

    /// What is scanned.
    pub fn spec(&self) -> &Arc<ScanSpec> {
        &self.spec
    }

    /// The tasks of each partition.
    pub fn partitions(&self) -> &[Vec<ScanTask>] {
        &self.partitions
    }

    /// The same scan over other tasks.
    #[must_use]
    pub fn with_partitions(&self, partitions: Vec<Vec<ScanTask>>) -> Self {
        Self::new(Arc::clone(&self.spec), partitions)
    }

    /// The scan without its first `rows` rows, as far as the catalog's counts tell where they lie, and how
    /// many of them that leaves out. Files whose rows are all left out are not opened.
    ///
    /// A filter or a limit leaves nothing to tell, nor do several partitions, which have no order.
    pub fn after(&self, rows: u64) -> (Self, u64) {
        let [tasks] = self.partitions.as_slice() else {
            return (self.clone(), 0);
        };
        if rows == 0 || self.spec.filter.is_some() || self.spec.limit.is_some() {
            return (self.clone(), 0);
        }
        let mut left = rows;
        let mut rest = Vec::with_capacity(tasks.len());
        let mut tasks = tasks.iter();
        for task in tasks.by_ref() {
            let Some(count) = task_rows(task) else {
                rest.push(task.clone());
                break;
            };
            if count > left {
                let whole = RowRange {
                    start: 0,
                    end: u64::MAX,
                };
                let range = task.rows.unwrap_or(whole);
                let behind = RowRange {
                    start: range.start + left,
                    ..range
                };
                rest.push(ScanTask {
                    rows: Some(behind).filter(|_| left > 0).or(task.rows),
                    ..task.clone()
                });
                left = 0;
                break;
            }
            left -= count;
        }
        rest.extend(tasks.cloned());
        (self.with_partitions(vec![rest]), rows - left)
    }

    fn partition(&self, partition: usize) -> Result<&[ScanTask]> {
        let Some(tasks) = self.partitions.get(partition) else {
            return internal_err!("scan of {} has no partition {partition}", self.spec.table);
        };
        Ok(tasks)
    }

    fn tasks(&self, partition: Option<usize>) -> Result<Vec<&ScanTask>> {
        match partition {
            None => Ok(self.partitions.iter().flatten().collect()),
            Some(partition) => self
                .partition(partition)
                .map(|tasks| tasks.iter().collect()),
        }
    }

    /// Without a filter the rows are those that the footers told when the snapshot was made, and so
    /// they are exact: `count(*)` is answered from them and opens no file.
    fn estimate(&self, partition: Option<usize>) -> Result<Statistics> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        let rows = self.tasks(partition)?.into_iter().map(task_rows);
        if let Some(rows) = rows.sum::<Option<u64>>() {
            let rows = self.spec.limit.map_or(rows, |limit| rows.min(limit));
            let rows = usize::try_from(rows).unwrap_or(usize::MAX);
            statistics.num_rows = if self.spec.filter.is_none() && self.spec.limit.is_none() {
                Precision::Exact(rows)
            } else {
                Precision::Inexact(rows)
            };
        }
        Ok(statistics)
    }
}

fn task_rows(task: &ScanTask) -> Option<u64> {
    match task.rows {
        Some(rows) => Some(rows.end.saturating_sub(rows.start)),
        None => task.file.record_count,
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "ScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() {
            Ok(self)
        } else {
            internal_err!("a scan has no children")
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        match &self.spec.filter {
            Some(filter) => f(filter),
            None => Ok(TreeNodeRecursion::Continue),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let tasks = self.partition(partition)?;
        let runner = context
            .session_config()
            .get_extension::<Runner>()
            .ok_or_else(|| ScanError::NoRunner(self.spec.table.clone()))?;
        let stream = runner.0.run(&self.spec, tasks, partition)?;
        Ok(match self.spec.limit {
            Some(limit) => at_most(limit, stream),
            None => stream,
        })
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.estimate(args.partition()).map(Arc::new)
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let limit = limit.map(|rows| rows as u64);
        let spec = ScanSpec {
            limit: limit.into_iter().chain(self.spec.limit).min(),
            ..self.spec.as_ref().clone()
        };
        Some(Arc::new(Self {
            spec: Arc::new(spec),
            ..self.clone()
        }))
    }

    fn fetch(&self) -> Option<usize> {
        let limit = self.spec.limit?;
        Some(usize::try_from(limit).unwrap_or(usize::MAX))
    }
}

/// Cuts the stream off after `limit` rows, and drops it then, which stops the work behind it.
fn at_most(limit: u64, stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let schema: SchemaRef = stream.schema();
    let left = usize::try_from(limit).unwrap_or(usize::MAX);
    let source = (left > 0).then_some(stream);
    let cut = stream::unfold((source, left), |(mut source, left)| async move {
        let next = source.as_mut()?.next().await?;
        let batch = match next {
            Ok(batch) => batch,
            Err(error) => return Some((Err(error), (source, left))),
        };
        let rows = batch.num_rows().min(left);
        let left = left - rows;
        let source = source.filter(|_| left > 0);
        Some((Ok(batch.slice(0, rows)), (source, left)))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, cut))
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.partitions.iter().map(Vec::len).sum::<usize>();
        let separator = match format {
            DisplayFormatType::TreeRender => "\n",
            _ => ", ",
        };
        if matches!(format, DisplayFormatType::TreeRender) {
            write!(f, "table={}", self.spec.table)?;
        } else {
            write!(f, "ScanExec: table={}", self.spec.table)?;
        }
        let names: Vec<String> = self
            .spec
            .output_schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        write!(f, "{separator}columns=[{}]", names.join(", "))?;
        if let Some(filter) = &self.spec.filter {
            write!(f, "{separator}filter={filter}")?;
        }
        if let Some(limit) = self.spec.limit {
            write!(f, "{separator}limit={limit}")?;
        }
        write!(f, "{separator}files={files}")?;
        if matches!(format, DisplayFormatType::Verbose) {
            self.write_files(f, files)?;
        }
        Ok(())
    }
}

impl ScanExec {
    fn write_files(&self, f: &mut fmt::Formatter<'_>, files: usize) -> fmt::Result {
        let shown = self.partitions.iter().flatten().take(SHOWN_FILES);
        let paths: Vec<&str> = shown.map(|task| task.file.path.as_str()).collect();
        write!(f, " [{}", paths.join(", "))?;
        if files > SHOWN_FILES {
            write!(f, ", {} more", files - SHOWN_FILES)?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
#[path = "exec_tests.rs"]
mod tests;
