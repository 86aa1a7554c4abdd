//! Runs scan tasks in this process.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt, future};
use model::ScanTask;

use crate::error::ScanError;
use crate::recorder::Recorder;
use crate::runner::TaskRunner;
use crate::scan::{Scan, TaskScan};
use crate::scanner::Scanner;
use crate::spec::ScanSpec;

/// Runs scan tasks in this process, and records what each did.
#[derive(Clone, Debug)]
pub struct LocalRunner {
    scanner: Arc<Scanner>,
    recorder: Recorder,
}

impl LocalRunner {
    /// A runner whose reports go to `recorder`.
    pub fn new(scanner: Arc<Scanner>, recorder: Recorder) -> Self {
        Self { scanner, recorder }
    }
}

impl TaskRunner for LocalRunner {
    fn run(
        &self,
        spec: &Arc<ScanSpec>,
        tasks: &[ScanTask],
        _partition: usize,
    ) -> Result<SendableRecordBatchStream> {
        let (scanner, recorder) = (Arc::clone(&self.scanner), self.recorder.clone());
        let scan = Arc::new(Scan::new(scanner, Arc::clone(spec), recorder)?);
        let batches = batches(scan, tasks.to_vec());
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            spec.output_schema(),
            batches,
        )))
    }
}

/// The rows of all tasks in their order. Files are opened ahead, but not when a limit may make them
/// unnecessary.
fn batches(scan: Arc<Scan>, tasks: Vec<ScanTask>) -> BoxStream<'static, Result<RecordBatch>> {
    let ahead = match scan.budget.left() {
        Some(_) => 1,
        None => scan.scanner.limits.open_ahead.max(1),
    };
    let shared = Arc::clone(&scan);
    let wanted = stream::iter(tasks).take_while(move |_| future::ready(!shared.budget.is_spent()));
    let opened = wanted
        .map(move |task| open(Arc::clone(&scan), task))
        .buffered(ahead);
    opened.map_ok(rows).try_flatten().boxed()
}

async fn open(scan: Arc<Scan>, task: ScanTask) -> Result<TaskScan> {
    // A task of its own: it goes on while an earlier file is read, and ends when this is dropped.
    let plan = SpawnedTask::spawn(scan.plan(task)).join_unwind().await;
    let plan = plan.map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(plan?)
}

fn rows(task: TaskScan) -> impl futures::Stream<Item = Result<RecordBatch>> {
    stream::try_unfold(task, |mut task| async move {
        let next = task.next().await.map_err(ScanError::into_datafusion)?;
        // At its end the task is dropped here, so that its report is there before the stream ends.
        Ok(next.map(|batch| (batch, task)))
    })
}
