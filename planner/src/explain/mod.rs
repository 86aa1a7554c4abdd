//! EXPLAIN: how a query is run, what was ruled out before, and with ANALYZE what its scans did. The
//! text is made in `text`.

mod text;

use std::sync::Arc;

use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::physical_plan::{displayable, execute_stream};
use futures::TryStreamExt;

use crate::error::PlannerError;
use crate::plan::Ready;
use crate::query::Query;
use crate::statement::Explain;

/// Lines of one row, so that no row outgrows what clients take in one message.
const LINES: usize = 1000;

/// The schema of EXPLAIN, which is DataFusion's.
pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("plan_type", DataType::Utf8, false),
        Field::new("plan", DataType::Utf8, false),
    ]))
}

/// Explains a planned query; runs it first when that is asked. Very many skipped units take several
/// rows.
pub(crate) async fn run(
    query: &Query,
    asked: &Explain,
    ready: &Ready,
) -> Result<RecordBatch, PlannerError> {
    let rows = if asked.analyze {
        Some(count_rows(ready).await?)
    } else {
        None
    };
    let physical = displayable(ready.physical.as_ref());
    let mut lines = vec![
        ("logical_plan", ready.logical.display_indent().to_string()),
        ("physical_plan", physical.indent(asked.verbose).to_string()),
    ];
    query.look(|found| {
        lines.push(("files", text::files(&found.tables)));
        if let Some(rows) = rows {
            lines.push(("scans", text::scans(rows, found)));
        }
        if asked.verbose {
            let skipped: Vec<String> = text::skipped(found).collect();
            let parts = skipped.chunks(LINES).map(|part| part.join("\n"));
            lines.extend(parts.map(|part| ("skipped", part)));
        }
    });
    lines.retain(|(_, text)| !text.is_empty());
    batch(&lines)
}

async fn count_rows(ready: &Ready) -> Result<usize, PlannerError> {
    let rows = execute_stream(Arc::clone(&ready.physical), ready.state.task_ctx())?;
    let count = rows.try_fold(0, |sum, batch| async move { Ok(sum + batch.num_rows()) });
    Ok(count.await?)
}

fn batch(lines: &[(&str, String)]) -> Result<RecordBatch, PlannerError> {
    let types = StringArray::from_iter_values(lines.iter().map(|(plan_type, _)| plan_type));
    let plans = StringArray::from_iter_values(lines.iter().map(|(_, plan)| plan.trim_end()));
    RecordBatch::try_new(schema(), vec![Arc::new(types), Arc::new(plans)])
        .map_err(|error| PlannerError::Internal(error.to_string()))
}
