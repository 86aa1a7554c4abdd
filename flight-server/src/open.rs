//! From the bytes of a ticket to a plan that can be executed. Reads no file.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::datatypes::SchemaRef;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::ExecutionPlanProperties;
use datafusion::prelude::SessionContext;
use model::{QueryId, TicketId};
use scan::{LocalRunner, Recorder, Runner, Scanner, decode_fragment};
use wire::schema::decode_schema;
use wire::{DecodeError, ScanWork, TicketKeys, Work};

use crate::error::FlightServerError;

/// A ticket that holds.
#[derive(Debug)]
pub(crate) struct ScanTicket {
    pub(crate) query_id: QueryId,
    pub(crate) ticket_id: TicketId,
    pub(crate) work: ScanWork,
}

/// Checks a ticket before anything else is done with it.
///
/// # Errors
/// When it is not signed, is over, or asks for something other than a scan.
pub(crate) fn verify(keys: &TicketKeys, ticket: &[u8]) -> Result<ScanTicket, FlightServerError> {
    let payload = keys.verify(ticket, now_unix_ms())?;
    match payload.work {
        Work::Scan(work) => Ok(ScanTicket {
            query_id: payload.query_id,
            ticket_id: payload.ticket_id,
            work,
        }),
        Work::Statement(_) => Err(FlightServerError::Statement),
    }
}

fn now_unix_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}

/// A plan of one partition and where it runs.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) context: Arc<TaskContext>,
    /// The schema that the client was promised.
    pub(crate) schema: SchemaRef,
    /// Collects what the scan does.
    pub(crate) recorder: Recorder,
}

/// Makes plans out of tickets: the functions of the engine and the scanner of this process.
#[derive(Debug)]
pub(crate) struct Opener {
    engine: SessionState,
    scanner: Arc<Scanner>,
}

impl Opener {
    pub(crate) fn new(scanner: Scanner) -> Self {
        Self {
            engine: SessionContext::new().state(),
            scanner: Arc::new(scanner),
        }
    }

    /// Returns when a scan waits for memory that other scans hold.
    pub(crate) async fn memory_is_wanted(&self) {
        self.scanner.memory_is_wanted().await;
    }

    /// The plan of a ticket, whose tasks are read one after another.
    ///
    /// # Errors
    /// When fragment or schema cannot be decoded.
    pub(crate) fn open(&self, work: &ScanWork) -> Result<Opened, FlightServerError> {
        let recorder = Recorder::new();
        let runner = LocalRunner::new(Arc::clone(&self.scanner), recorder.clone());
        let config = self.engine.config().clone();
        let config = config.with_extension(Arc::new(Runner(Arc::new(runner))));
        let context = TaskContext::from(&self.engine).with_session_config(config);
        let plan = decode_fragment(&work.fragment, &context, vec![work.tasks.clone()])?;
        if plan.output_partitioning().partition_count() != 1 {
            let reason = "its plan does not have one partition".to_owned();
            return Err(DecodeError::new("fragment", reason).into());
        }
        Ok(Opened {
            plan,
            context: Arc::new(context),
            schema: decode_schema(&work.output_schema)?,
            recorder,
        })
    }
}
