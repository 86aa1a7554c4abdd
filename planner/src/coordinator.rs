//! Running a statement ticket: any planner can, from the ticket alone. It is planned again on the
//! snapshots that the ticket pins, must give the schema that was promised, and pulls its scans from
//! the Flight servers.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use model::{ScanReport, SnapshotId, TableName, TicketId};
use wire::flight::report_json;
use wire::{Category, Payload, StatementWork};

use crate::engine::{Parts, Statement};
use crate::error::PlannerError;
use crate::ipc;
use crate::log::State;
use crate::plan::{Ready, physical};
use crate::query::{Query, sum_counts};
use crate::schema::difference;
use crate::session::Session;
use crate::shape::conform;
use crate::statement::{self, Parsed};
use crate::stream::{Report, ResultStream};
use crate::{commands, explain};

/// Begins the statement of a ticket.
pub(crate) async fn run(
    parts: &Arc<Parts>,
    payload: Payload,
    work: StatementWork,
) -> Result<ResultStream, PlannerError> {
    let query = Arc::new(Query::known(
        payload.query_id.clone(),
        &work.sql,
        &payload.principal,
    ));
    let running = Running {
        parts: Arc::clone(parts),
        query: Arc::clone(&query),
        ticket: payload.ticket_id.clone(),
        report: Report::default(),
        over: false,
    };
    match begin(parts, &payload, &work, &query).await {
        Ok((schema, batches)) => {
            query.plan_done();
            parts.log.record(&query, State::Running, 1, None);
            Ok(running.over(schema, batches))
        }
        Err(error) => {
            let error = error.in_query(&query.id);
            running.failed(&error);
            Err(error)
        }
    }
}

type Batches = BoxStream<'static, Result<RecordBatch, PlannerError>>;

async fn begin(
    parts: &Arc<Parts>,
    payload: &Payload,
    work: &StatementWork,
    query: &Arc<Query>,
) -> Result<(SchemaRef, Batches), PlannerError> {
    let promised = wire::schema::decode_schema(&work.output_schema)?;
    let session = Session {
        id: String::new(),
        principal: payload.principal.clone(),
        options: work.options.clone(),
    };
    let statement = Statement {
        sql: work.sql.clone(),
        parameters: if work.parameters.is_empty() {
            None
        } else {
            Some(ipc::decode(&work.parameters)?)
        },
        together: 1,
    };
    let batches = match statement::parse(&work.sql)? {
        Parsed::Query(parsed) => {
            let pins = &work.snapshots;
            let ready = physical(parts, &session, query, &parsed, &statement, pins).await?;
            execute(&ready, &promised)?
        }
        Parsed::Explain(asked) => {
            query.want_forecast();
            if asked.verbose {
                query.want_every_reason();
            }
            let pins = &work.snapshots;
            let ready = physical(parts, &session, query, &asked.query, &statement, pins).await?;
            one(explain::run(query, &asked, &ready).await?)
        }
        Parsed::Command(command) => one(commands::batch(parts, &session, command).await?),
    };
    Ok((promised, batches))
}

fn execute(ready: &Ready, promised: &SchemaRef) -> Result<Batches, PlannerError> {
    if let Some(difference) = difference(promised, &ready.promised) {
        return Err(PlannerError::Other {
            category: Category::Precondition,
            message: format!("the result changed since it was planned: {difference}; run it again"),
        });
    }
    let plan: Arc<dyn ExecutionPlan> = conform(Arc::clone(&ready.physical), promised)?;
    let rows = execute_stream(plan, ready.state.task_ctx())?;
    Ok(rows.map_err(PlannerError::from).boxed())
}

fn one(batch: RecordBatch) -> Batches {
    stream::iter([Ok(batch)]).boxed()
}

/// A statement under way; its end is recorded however it comes.
struct Running {
    parts: Arc<Parts>,
    query: Arc<Query>,
    ticket: TicketId,
    report: Report,
    over: bool,
}

impl Running {
    fn over(self, schema: SchemaRef, batches: Batches) -> ResultStream {
        let report = self.report.clone();
        let rows = stream::unfold((self, batches), |(mut running, mut batches)| async move {
            match batches.next().await {
                Some(Ok(batch)) => Some((Ok(batch), (running, batches))),
                Some(Err(error)) => {
                    let error = error.in_query(&running.query.id);
                    running.end(State::Failed, Some(&error));
                    Some((Err(error), (running, stream::empty().boxed())))
                }
                None => {
                    running.end(State::Finished, None);
                    None
                }
            }
        });
        ResultStream {
            schema,
            batches: rows.boxed(),
            report,
        }
    }

    fn failed(mut self, error: &PlannerError) {
        self.end(State::Failed, Some(error));
    }

    fn end(&mut self, state: State, error: Option<&PlannerError>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let summed = sum(&self.query, &self.ticket, error);
        self.report.set(report_json(&summed));
        self.parts.log.record(&self.query, state, 1, error);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let error = PlannerError::Other {
            category: Category::Cancelled,
            message: "the client went away".to_owned(),
        };
        self.end(State::Failed, Some(&error));
    }
}

/// The report of a statement: the sum over its scans. It is not complete when scans were cut short,
/// because a limit was reached: what they did is not known.
fn sum(query: &Query, ticket: &TicketId, error: Option<&PlannerError>) -> ScanReport {
    query.look(|found| {
        let first = found.reports().next();
        ScanReport {
            query_id: query.id.clone(),
            ticket_id: ticket.clone(),
            table: first.map_or_else(|| TableName::new("", ""), |report| report.table.clone()),
            snapshot_id: first.map_or(SnapshotId(0), |report| report.snapshot_id),
            server: "planner".to_owned(),
            complete: error.is_none() && found.cut() == 0,
            error: error.map(ToString::to_string),
            counts: sum_counts(found.reports()),
            tasks_left_out: found.reports().map(|report| report.tasks_left_out).sum(),
            tasks: found
                .reports()
                .flat_map(|report| &report.tasks)
                .cloned()
                .collect(),
        }
    })
}
