//! The query log: what queries asked for, what their tickets did and what was skipped. Owns its tables in
//! the database; decides nothing about queries.

mod read;
mod retention;
mod write;

use std::str::FromStr;

use model::{QueryId, ScanReport, Skip, TableName, TicketId};
use wire::DecodeError;
use wire::proto::PlanSummary;

pub(crate) use read::{LogFilter, read};
pub(crate) use retention::keep_bounded;
pub(crate) use write::{record_query, record_report};

/// How far a query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryState {
    /// Its tickets are given out.
    Planned,
    /// Some ticket was scanned, or the planner runs it.
    Running,
    /// All tickets were scanned.
    Finished,
    /// It could not be planned, or a ticket failed.
    Failed,
}

impl QueryState {
    /// The state as it is written and shown.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for QueryState {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        let states = [Self::Planned, Self::Running, Self::Finished, Self::Failed];
        let state = states.into_iter().find(|state| state.as_str() == text);
        state.ok_or_else(|| DecodeError::new("query state", format!("unknown value {text:?}")))
    }
}

/// A query as its planner saw it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedQuery {
    /// Its identity.
    pub(crate) id: QueryId,
    /// Its text.
    pub(crate) sql: String,
    /// Who asked.
    pub(crate) principal: String,
    /// When it came.
    pub(crate) started_unix_ms: i64,
    /// How far it is.
    pub(crate) state: QueryState,
    /// Why it failed; empty when it did not.
    pub(crate) error: String,
    /// Tickets that it has.
    pub(crate) tickets: u64,
    /// Sums over its tables.
    pub(crate) plan: PlanSummary,
    /// Milliseconds that planning took.
    pub(crate) plan_ms: u64,
}

/// What a ticket did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedTicket {
    /// The query.
    pub(crate) query: QueryId,
    /// The ticket.
    pub(crate) ticket: TicketId,
    /// When its report came.
    pub(crate) finished_unix_ms: i64,
    /// The report without its skips, as JSON.
    pub(crate) report: Vec<u8>,
}

/// Something that was skipped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedSkip {
    /// The query.
    pub(crate) query: QueryId,
    /// The ticket; empty for files that were skipped at plan time.
    pub(crate) ticket: String,
    /// The table.
    pub(crate) table: TableName,
    /// A [`Skip`] as JSON.
    pub(crate) skip: Vec<u8>,
}

/// A row of one of the logs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LogRow {
    /// A query.
    Query(LoggedQuery),
    /// A ticket.
    Ticket(LoggedTicket),
    /// A skipped unit.
    Skip(LoggedSkip),
}

/// Which log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogKind {
    /// Queries.
    Queries,
    /// Tickets.
    Tickets,
    /// Skipped units.
    Skips,
}

/// Takes the skips out of a report.
fn without_skips(mut report: ScanReport) -> (ScanReport, Vec<Skip>) {
    let tasks = report.tasks.iter_mut();
    let skips = tasks.flat_map(|task| std::mem::take(&mut task.skips));
    let skips = skips.collect();
    (report, skips)
}

/// The state of a query from what its planner said and what its tickets reported. Only tickets that
/// went to clients tell for the planner: a query that the planner itself runs has scans that end, or
/// are broken off because a limit is reached, while it goes on.
fn derived_state(said: QueryState, tickets: u64, reported: u64, ticket_failed: bool) -> QueryState {
    match said {
        QueryState::Running | QueryState::Finished | QueryState::Failed => said,
        _ if ticket_failed => QueryState::Failed,
        _ if tickets > 0 && reported >= tickets => QueryState::Finished,
        _ if reported > 0 => QueryState::Running,
        QueryState::Planned => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_finished_when_all_of_its_tickets_reported() {
        use QueryState::{Failed, Finished, Planned, Running};
        let cases = [
            (Planned, 2, 0, false, Planned),
            (Planned, 2, 1, false, Running),
            (Planned, 2, 2, false, Finished),
            (Planned, 2, 1, true, Failed),
            (Running, 1, 3, false, Running),
            (Running, 1, 3, true, Running),
            (Failed, 2, 2, false, Failed),
            (Finished, 2, 0, false, Finished),
            (Planned, 0, 0, false, Planned),
        ];
        for (said, tickets, reported, failed, expected) in cases {
            let state = derived_state(said, tickets, reported, failed);
            assert_eq!(state, expected, "{said:?} {tickets} {reported} {failed}");
        }
    }
}
