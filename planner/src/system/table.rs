//! A system table: a schema and the way to its rows, asked when the query runs.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};

use crate::engine::Parts;
use crate::error::PlannerError;

type Rows = BoxFuture<'static, Result<RecordBatch, PlannerError>>;

/// A system table before it is bound to a planner.
pub(crate) struct SystemTable {
    pub(crate) name: &'static str,
    pub(crate) schema: SchemaRef,
    rows: Box<dyn Fn(Arc<Parts>) -> Rows + Send + Sync>,
}

impl SystemTable {
    /// A table whose rows `rows` asks for.
    pub(crate) fn new<F>(
        name: &'static str,
        schema: SchemaRef,
        rows: impl Fn(Arc<Parts>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<RecordBatch, PlannerError>> + Send + 'static,
    {
        Self {
            name,
            schema,
            rows: Box::new(move |parts| rows(parts).boxed()),
        }
    }

    /// The table as DataFusion reads it. It is never part of a ticket, because only planners know how
    /// to run it.
    pub(crate) fn provide(self, parts: &Arc<Parts>) -> Arc<dyn TableProvider> {
        let schema = Arc::clone(&self.schema);
        let bound = BoundTable {
            table: self,
            parts: Arc::clone(parts),
        };
        let partitions: Vec<Arc<dyn PartitionStream>> = vec![Arc::new(bound)];
        match StreamingTable::try_new(Arc::clone(&schema), partitions) {
            Ok(table) => Arc::new(table),
            // Only a partition of another schema is refused, and this one has the table's own.
            Err(_) => Arc::new(datafusion::datasource::empty::EmptyTable::new(schema)),
        }
    }
}

struct BoundTable {
    table: SystemTable,
    parts: Arc<Parts>,
}

impl fmt::Debug for BoundTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system.{}", self.table.name)
    }
}

impl PartitionStream for BoundTable {
    fn schema(&self) -> &SchemaRef {
        &self.table.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = (self.table.rows)(Arc::clone(&self.parts)).map_err(Into::into);
        let schema = Arc::clone(&self.table.schema);
        Box::pin(RecordBatchStreamAdapter::new(schema, rows.into_stream()))
    }
}
