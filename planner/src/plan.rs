//! From SQL to endpoints, top to bottom:
//!
//! ```text
//! parse ─▶ resolve tables ─▶ logical plan ─▶ physical plan ─▶ fragments ─▶ tickets ─▶ endpoints
//!          (pin snapshots)   (bind values)   (PlanFiles)          │
//!                                                                 └─ else one ticket for the coordinator
//! ```

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement as DfStatement;
use scan::TaskRunner;
use wire::TableSnapshot;

use crate::commands;
use crate::endpoints::{self, Planned};
use crate::engine::{Parts, Prepared, QueryPlan, Statement};
use crate::error::PlannerError;
use crate::explain;
use crate::log::State;
use crate::parameters;
use crate::query::Query;
use crate::remote::RemoteRunner;
use crate::schema::client_schema;
use crate::session::Session;
use crate::shape;
use crate::statement::{self, Parsed};
use crate::tables::resolve;

/// Plans a statement and records it.
pub(crate) async fn plan(
    parts: &Arc<Parts>,
    session: &Session,
    statement: Statement,
) -> Result<QueryPlan, PlannerError> {
    let query = Arc::new(Query::new(&statement.sql, &session.principal));
    let planned = endpoints_of(parts, session, &query, &statement).await;
    query.plan_done();
    match planned {
        Ok(plan) => {
            parts
                .log
                .record(&query, State::Planned, plan.endpoints.len(), None);
            Ok(plan)
        }
        Err(error) => {
            parts.log.record(&query, State::Failed, 0, Some(&error));
            Err(error.in_query(&query.id))
        }
    }
}

async fn endpoints_of(
    parts: &Arc<Parts>,
    session: &Session,
    query: &Arc<Query>,
    statement: &Statement,
) -> Result<QueryPlan, PlannerError> {
    let parsed = match statement::parse(&statement.sql)? {
        Parsed::Query(parsed) => parsed,
        Parsed::Explain(explain) => {
            // Planned for its errors; the coordinator plans it again when it is fetched.
            if explain.verbose {
                query.want_every_reason();
            }
            let ready = physical(parts, session, query, &explain.query, statement, &[]).await?;
            let planned = Planned::new(explain::schema(), ready.snapshots);
            return endpoints::coordinator(parts, session, query, statement, planned);
        }
        Parsed::Command(_) => {
            let planned = Planned::new(commands::schema(), Vec::new());
            return endpoints::coordinator(parts, session, query, statement, planned);
        }
    };
    let ready = physical(parts, session, query, &parsed, statement, &[]).await?;
    query.plan_done();
    let fragments = if session.single_endpoint() {
        None
    } else {
        shape::fragments(&ready.physical, &ready.promised)?
    };
    let planned = Planned::new(ready.promised, ready.snapshots);
    match fragments {
        Some(fragments) if !fragments.is_empty() => {
            endpoints::scans(parts, session, query, statement, planned, &fragments).await
        }
        _ => endpoints::coordinator(parts, session, query, statement, planned),
    }
}

/// A statement that is ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) state: SessionState,
    pub(crate) logical: LogicalPlan,
    pub(crate) physical: Arc<dyn ExecutionPlan>,
    /// The schema in which the client gets the rows.
    pub(crate) promised: SchemaRef,
    pub(crate) snapshots: Vec<TableSnapshot>,
}

/// Plans a query to the end, on the snapshots in `pinned` or else on the current ones.
pub(crate) async fn physical(
    parts: &Arc<Parts>,
    session: &Session,
    query: &Arc<Query>,
    parsed: &DfStatement,
    statement: &Statement,
    pinned: &[TableSnapshot],
) -> Result<Ready, PlannerError> {
    let tables = resolve(parts, query, parsed, session.schema(), pinned).await?;
    let runner = RemoteRunner::new(
        Arc::clone(parts),
        Arc::clone(query),
        tables.snapshots.clone(),
    );
    let runner: Arc<dyn TaskRunner> = Arc::new(runner);
    let state = parts.context.state(session, tables.catalogs, Some(runner));
    let logical = logical(&state, parsed).await?;
    let logical = parameters::bind(logical, statement.parameters.as_ref())?;
    let promised = promised_schema(&state, &logical, true)?;
    let logical = state.optimize(&logical)?;
    let physical = state
        .query_planner()
        .create_physical_plan(&logical, &state)
        .await?;
    Ok(Ready {
        state,
        logical,
        physical,
        promised,
        snapshots: tables.snapshots,
    })
}

async fn logical(state: &SessionState, parsed: &DfStatement) -> Result<LogicalPlan, PlannerError> {
    let plan = state.statement_to_plan(parsed.clone()).await?;
    match &plan {
        LogicalPlan::Ddl(_)
        | LogicalPlan::Dml(_)
        | LogicalPlan::Copy(_)
        | LogicalPlan::Statement(_) => Err(PlannerError::Unsupported(format!(
            "{} is not supported",
            plan.display()
        ))),
        _ => Ok(plan),
    }
}

/// What a statement gives and takes.
pub(crate) async fn prepare(
    parts: &Arc<Parts>,
    session: &Session,
    sql: &str,
) -> Result<Prepared, PlannerError> {
    let parsed = statement::parse(sql)?;
    let (query, explained) = match &parsed {
        Parsed::Query(query) => (query, false),
        Parsed::Explain(explain) => (&explain.query, true),
        Parsed::Command(_) => return Ok(Prepared::Command),
    };
    let nameless = Arc::new(Query::new(sql, &session.principal));
    let tables = resolve(parts, &nameless, query, session.schema(), &[]).await?;
    let state = parts.context.state(session, tables.catalogs, None);
    let plan = logical(&state, query).await?;
    let parameters = parameters::fields(&plan)?;
    let schema = if explained {
        explain::schema()
    } else {
        promised_schema(&state, &plan, parameters.fields().is_empty())?
    };
    Ok(Prepared::Query { schema, parameters })
}

/// The names and types of a statement's rows, told by the statement alone so that they are the same
/// each time that it is planned: the optimizer may learn that a column is never null. Without its
/// values a statement may not coerce, and then its own types are the best that is known.
fn promised_schema(
    state: &SessionState,
    plan: &LogicalPlan,
    complete: bool,
) -> Result<SchemaRef, PlannerError> {
    let options = state.config_options();
    let analyzed = state
        .analyzer()
        .execute_and_check(plan.clone(), options, |_, _| {});
    match analyzed {
        Ok(plan) => Ok(client_schema(plan.schema().as_arrow())),
        Err(error) if complete => Err(error.into()),
        Err(_) => Ok(client_schema(plan.schema().as_arrow())),
    }
}
