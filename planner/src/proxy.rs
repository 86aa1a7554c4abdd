//! Passing on the rows of a scan ticket that a client brought to the planner.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use wire::{Payload, ScanWork};

use crate::engine::Parts;
use crate::error::PlannerError;
use crate::remote;
use crate::stream::{Report, ResultStream};

/// The rows of a verified scan ticket, from whichever Flight server is there.
pub(crate) fn run(
    parts: &Arc<Parts>,
    payload: Payload,
    work: &ScanWork,
) -> Result<ResultStream, PlannerError> {
    let schema = wire::schema::decode_schema(&work.output_schema)?;
    let report = Report::default();
    let ended = report.clone();
    let query = payload.query_id.clone();
    let batches = remote::rows(
        Arc::clone(parts),
        payload,
        Box::new(move |json| ended.set(json)),
    );
    Ok(ResultStream {
        schema,
        batches: batches.map_err(move |error| error.in_query(&query)).boxed(),
        report,
    })
}
