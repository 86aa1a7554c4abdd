//! The batches of a ticket's scan. While its client takes nothing, a scan can be given up, so that others
//! have its memory; when its next batch is asked for, it starts anew behind what was passed on.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};

use arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::projection::ProjectionExec;
use futures::{Stream, StreamExt};
use scan::ScanExec;

use crate::progress::Progress;

/// What is left to pass on of a scan.
#[derive(Debug)]
pub(crate) struct Batches {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    progress: Arc<Progress>,
    state: Arc<Mutex<State>>,
}

/// The scan behind some batches, which ends with them.
#[derive(Clone, Debug)]
pub(crate) struct RunningScan(Weak<Mutex<State>>);

#[derive(Default)]
enum State {
    /// It has not begun, or was given up.
    #[default]
    Idle,
    Running(SendableRecordBatchStream),
    Ended,
}

impl Batches {
    /// The rows of a plan's only partition. They come in the same order however often the plan is
    /// executed: a scan reads its tasks, and the rows of each, in their order.
    pub(crate) fn new(
        plan: Arc<dyn ExecutionPlan>,
        context: Arc<TaskContext>,
        progress: Arc<Progress>,
    ) -> Self {
        Self {
            plan,
            context,
            progress,
            state: Arc::default(),
        }
    }

    /// The scan behind them, for whoever may give it up.
    pub(crate) fn handle(&self) -> RunningScan {
        RunningScan(Arc::downgrade(&self.state))
    }
}

impl RunningScan {
    /// Ends the scan and frees what it holds until a batch is asked for again. Says whether there was
    /// something to end.
    pub(crate) fn give_up(&self) -> bool {
        let Some(state) = self.0.upgrade() else {
            return false;
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = matches!(*state, State::Running(_));
        if runs {
            *state = State::Idle;
        }
        runs
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let state = &mut *this.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Idle = state {
            let context = Arc::clone(&this.context);
            let (plan, left_out) = rest(&this.plan, this.progress.done());
            *state = match plan.execute(0, context) {
                Ok(batches) => State::Running(batches),
                Err(error) => {
                    *state = State::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
            };
            this.progress.start(left_out);
        }
        let State::Running(batches) = state else {
            return Poll::Ready(None);
        };
        let next = ready!(batches.poll_next_unpin(cx));
        if !matches!(next, Some(Ok(_))) {
            *state = State::Ended;
        }
        Poll::Ready(next.map(|batch| batch.map(|batch| this.progress.pass(&batch))))
    }
}

/// A plan without the first `rows` rows, as far as they can be left out without scanning them, and how many
/// of them that leaves out.
fn rest(plan: &Arc<dyn ExecutionPlan>, rows: u64) -> (Arc<dyn ExecutionPlan>, u64) {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        let (scan, left_out) = scan.after(rows);
        return (Arc::new(scan), left_out);
    }
    if plan.downcast_ref::<ProjectionExec>().is_some()
        && let [input] = plan.children().as_slice()
    {
        let (input, left_out) = rest(input, rows);
        if let Ok(plan) = replace_children_if_necessary(Arc::clone(plan), vec![input]) {
            return (plan, left_out);
        }
    }
    (Arc::clone(plan), 0)
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "Idle",
            Self::Running(_) => "Running",
            Self::Ended => "Ended",
        })
    }
}
