//! Reading the query log, the newest rows first, a page at a time.

use std::sync::Arc;

use futures::{Stream, TryStreamExt, stream};
use model::{QueryId, TableName, TicketId};
use prost::Message;
use sqlx::sqlite::SqliteRow;
use wire::proto::PlanSummary;

use super::{LogKind, LogRow, LoggedQuery, LoggedSkip, LoggedTicket, QueryState, derived_state};
use crate::catalog::Catalog;
use crate::database::{count_from, get};
use crate::error::CatalogError;

/// Rows of one page.
const PAGE: u64 = 1000;

const QUERIES: &str = "SELECT queries.*,
        (SELECT count(*) FROM tickets
          WHERE tickets.query_id = queries.query_id AND tickets.complete) AS reported,
        (SELECT coalesce(nullif(tickets.error, ''), 'a scan was broken off') FROM tickets
          WHERE tickets.query_id = queries.query_id AND NOT tickets.complete
          ORDER BY tickets.log_id LIMIT 1) AS ticket_error
     FROM queries
     WHERE log_id < ?1 AND (?2 IS NULL OR query_id = ?2) ORDER BY log_id DESC LIMIT ?3";

const TICKETS: &str = "SELECT * FROM tickets
     WHERE log_id < ?1 AND (?2 IS NULL OR query_id = ?2) ORDER BY log_id DESC LIMIT ?3";

const SKIPS: &str = "SELECT * FROM skips
     WHERE log_id < ?1 AND (?2 IS NULL OR query_id = ?2) ORDER BY log_id DESC LIMIT ?3";

/// Which rows are wanted.
#[derive(Clone, Debug)]
pub(crate) struct LogFilter {
    /// The log.
    pub(crate) log: LogKind,
    /// Only rows of this query.
    pub(crate) query: Option<QueryId>,
    /// At most so many.
    pub(crate) limit: Option<u64>,
}

/// The rows that are wanted, the newest first.
pub(crate) fn read(
    catalog: Arc<Catalog>,
    filter: LogFilter,
) -> impl Stream<Item = Result<LogRow, CatalogError>> + Send + 'static {
    let reading = Reading {
        left: filter.limit.unwrap_or(u64::MAX),
        before: i64::MAX,
        catalog,
        filter,
    };
    let pages = stream::try_unfold(reading, |mut reading| async move {
        let rows = reading.page().await?;
        Ok::<_, CatalogError>((!rows.is_empty()).then_some((rows, reading)))
    });
    pages
        .map_ok(|rows| stream::iter(rows.into_iter().map(Ok)))
        .try_flatten()
}

struct Reading {
    catalog: Arc<Catalog>,
    filter: LogFilter,
    /// Rows that may still be given.
    left: u64,
    /// The oldest row that was given.
    before: i64,
}

impl Reading {
    async fn page(&mut self) -> Result<Vec<LogRow>, CatalogError> {
        let size = self.left.min(PAGE);
        let (statement, decode) = match self.filter.log {
            LogKind::Queries => (QUERIES, query_of as fn(&SqliteRow) -> _),
            LogKind::Tickets => (TICKETS, ticket_of as fn(&SqliteRow) -> _),
            LogKind::Skips => (SKIPS, skip_of as fn(&SqliteRow) -> _),
        };
        let rows = sqlx::query(statement)
            .bind(self.before)
            .bind(self.filter.query.as_ref().map(|query| &query.0))
            .bind(i64::try_from(size).unwrap_or(i64::MAX))
            .fetch_all(self.catalog.database().readers())
            .await
            .map_err(CatalogError::database("read the query log"))?;
        self.left -= rows.len() as u64;
        if let Some(last) = rows.last() {
            self.before = get(last, "log_id")?;
        }
        rows.iter().map(decode).collect()
    }
}

fn query_of(row: &SqliteRow) -> Result<LogRow, CatalogError> {
    let said: String = get(row, "state")?;
    let said: QueryState = said.parse().map_err(CatalogError::stored("query state"))?;
    let tickets = count_from(get(row, "tickets")?);
    let reported = count_from(get(row, "reported")?);
    let own_error: String = get(row, "error")?;
    let ticket_error: Option<String> = get(row, "ticket_error")?;
    let plan: Vec<u8> = get(row, "plan")?;
    let state = derived_state(said, tickets, reported, ticket_error.is_some());
    let error = match state {
        QueryState::Failed if own_error.is_empty() => ticket_error.unwrap_or_default(),
        _ => own_error,
    };
    Ok(LogRow::Query(LoggedQuery {
        id: QueryId(get(row, "query_id")?),
        sql: get(row, "sql")?,
        principal: get(row, "principal")?,
        started_unix_ms: get(row, "started_unix_ms")?,
        state,
        error,
        tickets,
        plan: PlanSummary::decode(plan.as_slice()).map_err(CatalogError::stored("plan"))?,
        plan_ms: count_from(get(row, "plan_ms")?),
    }))
}

fn ticket_of(row: &SqliteRow) -> Result<LogRow, CatalogError> {
    Ok(LogRow::Ticket(LoggedTicket {
        query: QueryId(get(row, "query_id")?),
        ticket: TicketId(get(row, "ticket_id")?),
        finished_unix_ms: get(row, "finished_unix_ms")?,
        report: get(row, "report")?,
    }))
}

fn skip_of(row: &SqliteRow) -> Result<LogRow, CatalogError> {
    Ok(LogRow::Skip(LoggedSkip {
        query: QueryId(get(row, "query_id")?),
        ticket: get(row, "ticket_id")?,
        table: TableName {
            schema: get(row, "schema_name")?,
            table: get(row, "table_name")?,
        },
        skip: get(row, "skip")?,
    }))
}
