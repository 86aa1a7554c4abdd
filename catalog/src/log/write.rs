//! Writing the query log. A query or report that comes again replaces what was known of it, unless it
//! comes too late: planners do not wait for each other, and a query that was over is not begun again.

use model::{ScanReport, Skip, TableName};
use prost::Message;
use sqlx::SqliteConnection;

use super::{LoggedQuery, without_skips};
use crate::database::{Database, begin_write, now_unix_ms, stored_count};
use crate::error::CatalogError;

const WRITE: &str = "write the query log";

/// Skipped units kept of one query or ticket: enough to answer why, however many files a table has.
const SKIPS_KEPT: usize = 100_000;

/// The state, with its error and plan, only goes on; the planning that came first is the query's.
const UPSERT_QUERY: &str = "
    INSERT INTO queries (query_id, sql, principal, started_unix_ms, state, error, tickets, plan, plan_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (query_id) DO UPDATE SET
        plan_ms = iif(excluded.started_unix_ms < started_unix_ms, excluded.plan_ms, plan_ms),
        started_unix_ms = min(excluded.started_unix_ms, started_unix_ms),
        tickets = max(excluded.tickets, tickets),
        plan = iif(excluded.state IN ('finished', 'failed') OR state = 'planned', excluded.plan, plan),
        error = iif(excluded.state IN ('finished', 'failed') OR state = 'planned', excluded.error, error),
        state = iif(excluded.state IN ('finished', 'failed') OR state = 'planned', excluded.state, state)";

/// Records a query, or what has changed of it. Its skipped files are kept from the record that has any.
pub(crate) async fn record_query(
    database: &Database,
    query: &LoggedQuery,
    skips: &[(TableName, Skip)],
) -> Result<(), CatalogError> {
    let mut write = begin_write(database.log()).await?;
    upsert_query(&mut write, query).await?;
    if !skips.is_empty() {
        let skips = skips.iter().map(|(table, skip)| (table, skip));
        replace_skips(&mut write, &query.id.0, "", skips).await?;
    }
    write.commit().await.map_err(CatalogError::database(WRITE))
}

/// Records what a ticket did. A scan that was broken off does not replace one that came to its end.
pub(crate) async fn record_report(
    database: &Database,
    report: ScanReport,
) -> Result<(), CatalogError> {
    let (report, skips) = without_skips(report);
    let json = serde_json::to_vec(&report).map_err(CatalogError::stored("scan report"))?;
    let mut write = begin_write(database.log()).await?;
    let written = sqlx::query(
        "INSERT INTO tickets (query_id, ticket_id, finished_unix_ms, complete, error, report)
         VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (query_id, ticket_id) DO UPDATE SET
             finished_unix_ms = excluded.finished_unix_ms, complete = excluded.complete,
             error = excluded.error, report = excluded.report
         WHERE excluded.complete >= complete",
    )
    .bind(&report.query_id.0)
    .bind(&report.ticket_id.0)
    .bind(now_unix_ms())
    .bind(report.complete)
    .bind(report.error.as_deref().unwrap_or_default())
    .bind(json)
    .execute(&mut *write)
    .await
    .map_err(CatalogError::database(WRITE))?;
    if written.rows_affected() > 0 {
        let skips = skips.iter().map(|skip| (&report.table, skip));
        replace_skips(&mut write, &report.query_id.0, &report.ticket_id.0, skips).await?;
    }
    write.commit().await.map_err(CatalogError::database(WRITE))
}

async fn upsert_query(
    write: &mut SqliteConnection,
    query: &LoggedQuery,
) -> Result<(), CatalogError> {
    let written = sqlx::query(UPSERT_QUERY)
        .bind(&query.id.0)
        .bind(&query.sql)
        .bind(&query.principal)
        .bind(query.started_unix_ms)
        .bind(query.state.as_str())
        .bind(&query.error)
        .bind(stored_count(query.tickets))
        .bind(query.plan.encode_to_vec())
        .bind(stored_count(query.plan_ms));
    let written = written.execute(write).await;
    written.map(|_| ()).map_err(CatalogError::database(WRITE))
}

async fn replace_skips<'a>(
    write: &mut SqliteConnection,
    query: &str,
    ticket: &str,
    skips: impl Iterator<Item = (&'a TableName, &'a Skip)>,
) -> Result<(), CatalogError> {
    let failed = CatalogError::database(WRITE);
    sqlx::query("DELETE FROM skips WHERE query_id = ? AND ticket_id = ?")
        .bind(query)
        .bind(ticket)
        .execute(&mut *write)
        .await
        .map_err(&failed)?;
    for (table, skip) in skips.take(SKIPS_KEPT) {
        let json = serde_json::to_vec(skip).map_err(CatalogError::stored("skip"))?;
        sqlx::query(
            "INSERT INTO skips (query_id, ticket_id, schema_name, table_name, skip)
             VALUES (?, ?, ?, ?, ?)",
        )
        .bind(query)
        .bind(ticket)
        .bind(&table.schema)
        .bind(&table.table)
        .bind(json)
        .execute(&mut *write)
        .await
        .map_err(&failed)?;
    }
    Ok(())
}
