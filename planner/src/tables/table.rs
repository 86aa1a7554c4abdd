//! One table of a statement: from a filter and a projection to a scan of the files that can match.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Statistics, stats::Precision};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use model::{Predicate, ScanTask};
use scan::{ScanExec, ScanSpec};
use wire::proto;

use crate::engine::Parts;
use crate::packing::{Packed, pack};
use crate::query::Query;
use crate::tables::{TableMeta, files};

/// A table at one snapshot, within one query.
pub(crate) struct CatalogTable {
    meta: TableMeta,
    parts: Arc<Parts>,
    query: Arc<Query>,
}

impl fmt::Debug for CatalogTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CatalogTable({})", self.meta.name)
    }
}

impl CatalogTable {
    pub(crate) fn new(meta: TableMeta, parts: Arc<Parts>, query: Arc<Query>) -> Self {
        Self { meta, parts, query }
    }

    fn filter(
        &self,
        state: &dyn Session,
        filters: &[Expr],
    ) -> Result<(Option<Arc<dyn PhysicalExpr>>, Predicate)> {
        let Some(filter) = all_of(filters) else {
            return Ok((None, Predicate::Always));
        };
        let predicate = scan::predicate(&filter, &self.meta.schema);
        let schema = DFSchema::try_from(Arc::clone(&self.meta.plain))?;
        Ok((
            Some(state.create_physical_expr(filter, &schema)?),
            predicate,
        ))
    }
}

#[async_trait]
impl TableProvider for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.meta.plain)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        let mut statistics = Statistics::new_unknown(&self.meta.plain);
        let count = |count: u64| Precision::Inexact(usize::try_from(count).unwrap_or(usize::MAX));
        statistics.num_rows = count(self.meta.rows);
        statistics.total_byte_size = count(self.meta.bytes);
        Some(statistics)
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| {
            if runs_in_scan(filter) {
                TableProviderFilterPushDown::Exact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (filter, predicate) = self.filter(state, filters)?;
        let columns = self.meta.plain.fields().len();
        let spec = ScanSpec {
            table: self.meta.name.clone(),
            schema: self.meta.schema.clone(),
            mapping: self.meta.mapping,
            projection: projection
                .cloned()
                .unwrap_or_else(|| (0..columns).collect()),
            filter,
            predicate,
            limit: limit.map(|rows| rows as u64),
        };
        let spec = Arc::new(spec.narrowed()?);
        let every_reason = self.query.wants_every_reason();
        let footers = footers(&spec, self.parts.ticket_footers);
        let (files, mut plan) = files::plan(
            &self.parts,
            &self.meta,
            &spec.predicate,
            footers,
            every_reason,
        )
        .await?;
        let files = files::enough(files, spec.filter.is_some(), spec.limit);
        let tasks: Vec<ScanTask> = files.into_iter().map(|file| file.task).collect();
        let partitions = partitions(&tasks, self.parts.max_endpoints);
        if self.query.wants_forecast() {
            let forecast = scan::forecast(&spec, &partitions).await;
            plan.forecast =
                Some(forecast.map_err(|error| DataFusionError::External(Box::new(error)))?);
        }
        self.query.planned(plan);
        if tasks.is_empty() {
            return Ok(Arc::new(EmptyExec::new(spec.output_schema())));
        }
        Ok(Arc::new(ScanExec::new(spec, partitions)))
    }
}

/// What of the files' footers a scan can use, whose schema has only the columns that it reads.
fn footers(spec: &ScanSpec, most_bytes: usize) -> proto::FootersWanted {
    let judged = spec.predicate.fields();
    proto::FootersWanted {
        read_field_ids: spec.schema.ids().iter().map(|field| field.0).collect(),
        judged_field_ids: judged.into_iter().map(|field| field.0).collect(),
        most_bytes: most_bytes as u64,
    }
}

/// The conjunction of filters. Joined in pairs, so that thousands of them are no tree thousands deep,
/// which would exhaust the stack of whoever walks it.
fn all_of(filters: &[Expr]) -> Option<Expr> {
    let mut level: Vec<Expr> = filters.to_vec();
    while level.len() > 1 {
        let mut rest = level.into_iter();
        let pair = || {
            let left = rest.next()?;
            Some(match rest.next() {
                Some(right) => left.and(right),
                None => left,
            })
        };
        level = std::iter::from_fn(pair).collect();
    }
    level.pop()
}

/// Whether a filter means the same wherever and however often it runs, so that the scan may have it.
fn runs_in_scan(filter: &Expr) -> bool {
    let subquery = filter.exists(|expr| {
        Ok(matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
        ))
    });
    !filter.is_volatile() && !subquery.unwrap_or(true)
}

/// One partition for each file, fewer by bytes when there are many.
fn partitions(tasks: &[ScanTask], max: usize) -> Vec<Vec<ScanTask>> {
    let packed: Vec<Packed> = tasks
        .iter()
        .map(|task| Packed {
            bytes: task.file.size,
            server: 0,
        })
        .collect();
    let group = |group: Vec<usize>| {
        let tasks = group.into_iter().filter_map(|position| tasks.get(position));
        tasks.cloned().collect()
    };
    pack(&packed, max).into_iter().map(group).collect()
}
