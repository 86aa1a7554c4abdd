//! The scans of one query: which files share a ticket, and what becomes of their reports.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use model::ScanTask;
use prost::Message;
use scan::{ScanExec, ScanSpec, TaskRunner, encode_fragment};
use wire::ticket::{MAX_TICKET_BYTES, encode_payload};
use wire::{Payload, TableSnapshot, Work, proto};

use super::rows::rows;
use super::unfiltered::Unfiltered;
use crate::engine::Parts;
use crate::error::PlannerError;
use crate::query::Query;
use crate::shape::Fragment;
use crate::tickets::scan_work;

/// Files in one ticket at most, so that a broken one does not begin again too far back.
const MAX_TASKS: usize = 1000;

/// Bytes of a ticket that its files may not have: signature, key and the growing position.
const RESERVED: usize = 4 * 1024;

/// Runs the scans of one query on Flight servers.
pub(crate) struct RemoteRunner {
    parts: Arc<Parts>,
    query: Arc<Query>,
    snapshots: Vec<TableSnapshot>,
}

impl fmt::Debug for RemoteRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteRunner({})", self.query.id)
    }
}

type Rows = BoxStream<'static, datafusion::error::Result<RecordBatch>>;

impl RemoteRunner {
    pub(crate) fn new(parts: Arc<Parts>, query: Arc<Query>, snapshots: Vec<TableSnapshot>) -> Self {
        Self {
            parts,
            query,
            snapshots,
        }
    }

    /// The tickets of a scan; nothing when what is done with the files would leave them no room.
    fn payloads(
        &self,
        spec: &Arc<ScanSpec>,
        tasks: &[ScanTask],
    ) -> Result<Option<Vec<Payload>>, PlannerError> {
        let scan = ScanExec::new(Arc::clone(spec), Vec::new());
        let plan: Arc<dyn ExecutionPlan> = Arc::new(scan.clone());
        let encoded = encode_fragment(&plan).map_err(|error| PlannerError::of(&error))?;
        let fragment = Fragment { plan, scan };
        let payload = |tasks: &[ScanTask]| {
            let work = scan_work(&fragment, &encoded, tasks.to_vec(), &self.snapshots)?;
            Ok::<_, PlannerError>(self.parts.signer.payload(&self.query, Work::Scan(work)))
        };
        let fixed = encode_payload(&payload(&[])?).len() + RESERVED;
        if fixed > MAX_TICKET_BYTES / 2 {
            return Ok(None);
        }
        let chunks = chunks(tasks, MAX_TICKET_BYTES - fixed);
        chunks.map(payload).collect::<Result<_, _>>().map(Some)
    }

    fn rows(&self, payloads: Vec<Payload>) -> Rows {
        let (parts, query) = (Arc::clone(&self.parts), Arc::clone(&self.query));
        let one = move |payload| {
            query.scan_begun();
            let query = Arc::clone(&query);
            let on_end = move |json: Bytes| match serde_json::from_slice(&json) {
                Ok(report) => query.reported(report),
                Err(error) => {
                    tracing::warn!(query_id = %query.id, %error, "scan report cannot be read");
                }
            };
            rows(Arc::clone(&parts), payload, Box::new(on_end)).map_err(Into::into)
        };
        stream::iter(payloads).map(one).flatten().boxed()
    }
}

impl TaskRunner for RemoteRunner {
    fn run(
        &self,
        spec: &Arc<ScanSpec>,
        tasks: &[ScanTask],
        _partition: usize,
    ) -> datafusion::error::Result<SendableRecordBatchStream> {
        let rows = if let Some(payloads) = self.payloads(spec, tasks)? {
            self.rows(payloads)
        } else {
            let unfiltered = Unfiltered::of(spec)?;
            let payloads = self.payloads(&unfiltered.spec, tasks)?;
            let payloads = payloads.ok_or_else(|| {
                let message = format!("table {}: the scan is too large for a ticket", spec.table);
                PlannerError::Exhausted(message)
            })?;
            let rows = self.rows(payloads);
            rows.map(move |batch| unfiltered.apply(&batch?)).boxed()
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            spec.output_schema(),
            rows,
        )))
    }
}

/// Runs of tasks in their order, each of at most so many encoded bytes unless one task alone has more.
fn chunks(tasks: &[ScanTask], max_bytes: usize) -> impl Iterator<Item = &[ScanTask]> {
    let mut rest = tasks;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |task: &&ScanTask| {
            bytes += encoded_len(task);
            bytes <= max_bytes
        };
        let fitting = rest.iter().take(MAX_TASKS).take_while(fits).count();
        let (chunk, after) = rest.split_at(fitting.max(1).min(rest.len()));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

fn encoded_len(task: &ScanTask) -> usize {
    // The field's tag and its length come beside it.
    proto::ScanTask::from(task).encoded_len() + 8
}

#[cfg(test)]
mod tests {
    use model::DataFile;

    use super::*;

    fn task(path_bytes: usize) -> ScanTask {
        ScanTask {
            file: DataFile {
                path: "x".repeat(path_bytes),
                size: 1,
                version: None,
                record_count: None,
                footer_length: None,
                page_index: None,
            },
            rows: None,
            partition_values: Vec::new(),
            footer: Vec::new(),
            footer_wanted: false,
        }
    }

    #[test]
    fn tickets_are_filled_by_bytes_and_hold_every_file_once() {
        let sizes = |lengths: &[usize], max| -> Vec<usize> {
            let tasks: Vec<ScanTask> = lengths.iter().map(|length| task(*length)).collect();
            let chunks: Vec<&[ScanTask]> = chunks(&tasks, max).collect();
            assert_eq!(chunks.concat(), tasks);
            chunks.iter().map(|chunk| chunk.len()).collect()
        };
        let one = encoded_len(&task(100));
        assert_eq!(sizes(&[], one), [0; 0]);
        assert_eq!(sizes(&[100; 5], 2 * one), [2, 2, 1]);
        assert_eq!(sizes(&[100, 5000, 100], 2 * one), [1, 1, 1]);
        assert_eq!(sizes(&vec![1; 2500], usize::MAX), [1000, 1000, 500]);
    }
}
