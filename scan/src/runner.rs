//! Where scan tasks run: here, or on Flight servers. The plan is the same.

use std::fmt::Debug;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use model::ScanTask;

use crate::spec::ScanSpec;

/// Runs the scan tasks of one partition.
pub trait TaskRunner: Debug + Send + Sync {
    /// The rows of `tasks`, in the order of the tasks and of the rows in each file, as
    /// [`ScanSpec::output_schema`]. Dropping the stream stops the work.
    ///
    /// `spec.limit` is a hint here: [`ScanExec`](crate::ScanExec) cuts off what is too much.
    ///
    /// # Errors
    /// When the work cannot even be started; errors of the work itself come out of the stream.
    fn run(
        &self,
        spec: &Arc<ScanSpec>,
        tasks: &[ScanTask],
        partition: usize,
    ) -> Result<SendableRecordBatchStream>;
}

/// The runner of a session, installed with `SessionConfig::with_extension(Arc::new(Runner(…)))`.
#[derive(Clone, Debug)]
pub struct Runner(pub Arc<dyn TaskRunner>);
