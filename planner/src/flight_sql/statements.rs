//! Statements, prepared or not: planned into a `FlightInfo`, or run at once when they change something.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;
use arrow_flight::sql::ActionCreatePreparedStatementResult;
use arrow_flight::{FlightDescriptor, FlightInfo};
use bytes::Bytes;
use futures::TryStreamExt;

use super::handle::Handle;
use super::service::FlightSql;
use super::{flight_info, parameters};
use crate::engine::{Prepared, Statement};
use crate::error::PlannerError;
use crate::ipc;
use crate::session::Session;
use crate::statement::{self, Parsed};

/// Most rows of parameters that one query can be run with: each has endpoints of its own.
const MAX_QUERY_ROWS: usize = 64;

/// What a small result that is there already is sealed for.
pub(crate) const RESULT_PURPOSE: &str = "result";

impl FlightSql {
    /// Prepares a statement. Queries have a dataset schema; for what changes something it is empty,
    /// which is how clients tell the two apart.
    pub(crate) async fn prepare(
        &self,
        session: &Session,
        sql: String,
    ) -> Result<ActionCreatePreparedStatementResult, PlannerError> {
        let prepared = self.engine.prepare(session, &sql).await?;
        let (mut dataset_schema, mut parameter_schema) = (Bytes::new(), Bytes::new());
        if let Prepared::Query { schema, parameters } = &prepared {
            dataset_schema = flight_info::schema_bytes(schema)?;
            if !parameters.fields().is_empty() {
                parameter_schema = flight_info::schema_bytes(parameters)?;
            }
        }
        let handle = Handle {
            sql,
            parameters: None,
        };
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: handle.seal(&self.keys)?,
            dataset_schema,
            parameter_schema,
        })
    }

    /// The schema of a statement's rows, without running anything.
    pub(crate) async fn schema_of(
        &self,
        session: &Session,
        sql: &str,
    ) -> Result<Schema, PlannerError> {
        Ok(match self.engine.prepare(session, sql).await? {
            Prepared::Query { schema, .. } => schema.as_ref().clone(),
            Prepared::Command => Schema::empty(),
        })
    }

    /// Plans a query, for each row of its parameters; several rows give the results one after
    /// another. What changes something is run here and now: clients that send it this way often never
    /// fetch the result.
    pub(crate) async fn execute(
        &self,
        session: &Session,
        handle: Handle,
        descriptor: FlightDescriptor,
    ) -> Result<FlightInfo, PlannerError> {
        if let Parsed::Command(_) = statement::parse(&handle.sql)? {
            return self.run_now(session, handle, descriptor).await;
        }
        let statements = bound(&handle);
        check_rows(session, statements.len())?;
        let expires = self.expires();
        let mut plans = Vec::with_capacity(statements.len());
        for statement in statements {
            plans.push(self.engine.plan(session, statement).await?);
        }
        flight_info::of_plans(plans, descriptor, expires)
    }

    /// Runs a statement once for each row of its parameters; gives the rows it changed in all.
    pub(crate) async fn update(
        &self,
        session: Session,
        handle: Handle,
    ) -> Result<i64, PlannerError> {
        let engine = self.engine.clone();
        // What was begun is finished even when the client goes away.
        finish(async move {
            let mut changed = 0;
            for statement in bound(&handle) {
                changed += engine.execute_update(&session, statement).await?.max(0);
            }
            Ok(changed)
        })
        .await
    }

    /// Runs a statement and seals its rows, of which there are few, into the ticket.
    async fn run_now(
        &self,
        session: &Session,
        handle: Handle,
        descriptor: FlightDescriptor,
    ) -> Result<FlightInfo, PlannerError> {
        let (engine, session) = (self.engine.clone(), session.clone());
        let rows = finish(async move {
            let mut batches: Vec<RecordBatch> = Vec::new();
            let mut schema = None;
            for statement in bound(&handle) {
                let plan = engine.plan(&session, statement).await?;
                for endpoint in &plan.endpoints {
                    let result = engine.do_get(&endpoint.ticket).await?;
                    batches.extend(result.batches.try_collect::<Vec<_>>().await?);
                }
                schema = Some(plan.schema);
            }
            let schema = schema.unwrap_or_else(|| Schema::empty().into());
            concat_batches(&schema, &batches)
                .map_err(|error| PlannerError::Internal(error.to_string()))
        })
        .await?;
        let ticket = self.keys.seal(RESULT_PURPOSE, &ipc::encode(&rows)?)?;
        flight_info::of_ticket(ticket, &rows.schema(), descriptor)
    }
}

/// Runs to the end even when the caller is dropped.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, PlannerError>> + Send + 'static,
) -> Result<T, PlannerError> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|error| {
        Err(PlannerError::Internal(format!(
            "a statement failed: {error}"
        )))
    })
}

fn bound(handle: &Handle) -> Vec<Statement> {
    let statement = |parameters, together| Statement {
        sql: handle.sql.clone(),
        parameters,
        together,
    };
    match &handle.parameters {
        None => vec![statement(None, 1)],
        Some(rows) => parameters::rows(rows)
            .map(|row| statement(Some(row), rows.num_rows()))
            .collect(),
    }
}

fn check_rows(session: &Session, rows: usize) -> Result<(), PlannerError> {
    if rows > 1 && session.single_endpoint() {
        return Err(PlannerError::Invalid(format!(
            "a query with {rows} rows of parameters has {rows} results, endpoints=single allows one"
        )));
    }
    if rows > MAX_QUERY_ROWS {
        return Err(PlannerError::Exhausted(format!(
            "a query with {rows} rows of parameters, at most {MAX_QUERY_ROWS} are allowed"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_need_many_endpoints() {
        let mut session = Session::default();
        assert!(check_rows(&session, 2).is_ok());
        assert!(check_rows(&session, MAX_QUERY_ROWS + 1).is_err());
        session
            .options
            .insert("endpoints".to_owned(), "single".to_owned());
        assert!(check_rows(&session, 1).is_ok());
        assert!(check_rows(&session, 2).is_err());
    }
}
