//! Keeping the query log within its bounds, in small steps that hold nobody up.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::LogLimits;
use crate::database::{Database, now_unix_ms, stored_count};
use crate::error::CatalogError;

/// Time between two rounds.
const INTERVAL: Duration = Duration::from_mins(1);

/// Rows deleted while the log is locked against writing.
const STEP: i64 = 2000;

/// Tickets kept for each query that may be kept, on average.
const TICKETS_PER_QUERY: u64 = 100;

/// Pages given back to the file system in one round.
const VACUUM: &str = "PRAGMA incremental_vacuum(2000)";

/// What is beyond a bound: rows older than `?1`, or behind the newest `?2`. `?3` rows at once.
const QUERIES: &str = "DELETE FROM queries WHERE log_id IN (
    SELECT log_id FROM queries WHERE started_unix_ms < ?1
        OR log_id <= (SELECT log_id FROM queries ORDER BY log_id DESC LIMIT 1 OFFSET ?2) LIMIT ?3)";

const TICKETS: &str = "DELETE FROM tickets WHERE log_id IN (
    SELECT log_id FROM tickets WHERE finished_unix_ms < ?1
        OR log_id <= (SELECT log_id FROM tickets ORDER BY log_id DESC LIMIT 1 OFFSET ?2) LIMIT ?3)";

/// Skips have no time of their own: they go with their query and its tickets.
const SKIPS: &str = "DELETE FROM skips WHERE log_id IN (
    SELECT log_id FROM skips WHERE ?1 > 0 AND (
        log_id <= (SELECT log_id FROM skips ORDER BY log_id DESC LIMIT 1 OFFSET ?2)
        OR query_id NOT IN (SELECT query_id FROM queries UNION SELECT query_id FROM tickets)) LIMIT ?3)";

/// Deletes what is beyond the bounds, now and from time to time, until the service ends.
pub(crate) async fn keep_bounded(
    database: Database,
    limits: LogLimits,
    shutdown: CancellationToken,
) {
    loop {
        match delete_old(&database, limits).await {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(rows, "old rows of the query log deleted"),
            Err(error) => {
                let error = wire::status::chain(&error);
                tracing::warn!(error, "old rows of the query log could not be deleted");
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

/// Deletes what is beyond the bounds and answers how many rows that were.
async fn delete_old(database: &Database, limits: LogLimits) -> Result<u64, CatalogError> {
    let age = i64::try_from(limits.age.as_millis()).unwrap_or(i64::MAX);
    let oldest = now_unix_ms().saturating_sub(age).max(1);
    let tickets = limits.queries.saturating_mul(TICKETS_PER_QUERY);
    let mut deleted = 0;
    deleted += delete(database, QUERIES, oldest, limits.queries).await?;
    deleted += delete(database, TICKETS, oldest, tickets).await?;
    deleted += delete(database, SKIPS, oldest, limits.skips).await?;
    // Dropped tables leave pages too, so this does not depend on what was deleted here.
    let shrunk = sqlx::query(VACUUM).execute(database.log()).await;
    shrunk.map_err(CatalogError::database("shrink the database"))?;
    Ok(deleted)
}

async fn delete(
    database: &Database,
    statement: &'static str,
    oldest: i64,
    newest: u64,
) -> Result<u64, CatalogError> {
    let mut total = 0;
    loop {
        let step = sqlx::query(statement)
            .bind(oldest)
            .bind(stored_count(newest))
            .bind(STEP)
            .execute(database.log())
            .await
            .map_err(CatalogError::database("shorten the query log"))?;
        total += step.rows_affected();
        if stored_count(step.rows_affected()) < STEP {
            return Ok(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::QueryId;
    use wire::proto::PlanSummary;

    use super::*;
    use crate::log::{LoggedQuery, QueryState, record_query};

    #[tokio::test]
    async fn the_oldest_queries_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let database = Database::open(path.to_str().unwrap()).await.unwrap();
        for number in 0..5 {
            let query = LoggedQuery {
                id: QueryId(format!("q{number}")),
                sql: String::new(),
                principal: String::new(),
                started_unix_ms: if number == 4 { 1 } else { now_unix_ms() },
                state: QueryState::Planned,
                error: String::new(),
                tickets: 1,
                plan: PlanSummary::default(),
                plan_ms: 0,
            };
            record_query(&database, &query, &[]).await.unwrap();
        }
        let limits = LogLimits {
            queries: 2,
            ..LogLimits::default()
        };
        // Three are beyond the newest two; of those two, one is too old.
        assert_eq!(delete_old(&database, limits).await.unwrap(), 4);
        let left: Vec<String> = sqlx::query_scalar("SELECT query_id FROM queries")
            .fetch_all(database.readers())
            .await
            .unwrap();
        assert_eq!(left, ["q3"]);
    }
}
