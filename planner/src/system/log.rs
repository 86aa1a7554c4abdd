//! `system.queries`, `system.tickets` and `system.skips`: the catalog's query log as rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::{Counts, Reason, ScanReport, Skip, SkippedUnit, TableName};
use wire::proto;
use wire::proto::read_log_response::Row;

use super::columns::{Cell, Kind, batch, schema};
use crate::engine::Parts;
use crate::error::PlannerError;
use crate::query::sum_counts;

const QUERY: [(&str, Kind); 13] = [
    ("query_id", Kind::Text),
    ("sql", Kind::Text),
    ("principal", Kind::Text),
    ("state", Kind::Text),
    ("started", Kind::Time),
    ("plan_ms", Kind::Count),
    ("files_total", Kind::Count),
    ("files_skipped_by_partition", Kind::Count),
    ("files_skipped_by_manifest", Kind::Count),
    ("files_skipped_by_bounds", Kind::Count),
    ("files_opened", Kind::Count),
    ("tickets", Kind::Count),
    ("error", Kind::Text),
];

const TICKET: [(&str, Kind); 9] = [
    ("query_id", Kind::Text),
    ("ticket_id", Kind::Text),
    ("server", Kind::Text),
    ("table_name", Kind::Text),
    ("snapshot_id", Kind::Id),
    ("complete", Kind::Flag),
    ("error", Kind::Text),
    ("finished", Kind::Time),
    ("files", Kind::Count),
];

const SKIP: [(&str, Kind); 12] = [
    ("query_id", Kind::Text),
    ("ticket_id", Kind::Text),
    ("table_name", Kind::Text),
    ("path", Kind::Text),
    ("unit", Kind::Text),
    ("row_group", Kind::Count),
    ("column_name", Kind::Text),
    ("first_page", Kind::Count),
    ("pages", Kind::Count),
    ("row_count", Kind::Count),
    ("level", Kind::Text),
    ("reason", Kind::Text),
];

/// The columns and behind them every count of a scan.
fn with_counts(columns: &[(&'static str, Kind)]) -> SchemaRef {
    let counts = Counts::default().named().into_iter();
    let counts = counts.map(|(name, _)| (name, Kind::Count));
    schema(&columns.iter().copied().chain(counts).collect::<Vec<_>>())
}

fn counts(counts: &Counts) -> impl Iterator<Item = Cell> {
    counts
        .named()
        .into_iter()
        .map(|(_, count)| Cell::count(count))
}

pub(super) fn queries_schema() -> SchemaRef {
    with_counts(&QUERY)
}

pub(super) fn tickets_schema() -> SchemaRef {
    with_counts(&TICKET)
}

pub(super) fn skips_schema() -> SchemaRef {
    schema(&SKIP)
}

/// One row for each query, with the sums over its tickets.
pub(super) async fn queries(parts: Arc<Parts>) -> Result<RecordBatch, PlannerError> {
    let mut reports: HashMap<String, Vec<ScanReport>> = HashMap::new();
    for (record, report) in ticket_reports(&parts).await? {
        reports.entry(record.query_id).or_default().push(report);
    }
    let mut rows = Vec::new();
    for row in read(&parts, proto::Log::Queries).await? {
        if let Row::Query(query) = row {
            let reports = reports.remove(&query.query_id).unwrap_or_default();
            rows.push(query_row(query, &reports));
        }
    }
    batch(&queries_schema(), &rows)
}

fn query_row(query: proto::QueryRecord, reports: &[ScanReport]) -> Vec<Cell> {
    let plan = query.plan.unwrap_or_default();
    let opened: usize = reports.iter().map(|report| report.tasks.len()).sum();
    let mut row = vec![
        Cell::text(query.query_id),
        Cell::text(query.sql),
        Cell::text(query.principal),
        Cell::text(query.state),
        Cell::Time(Some(query.started_unix_ms)),
        Cell::count(query.plan_ms),
        Cell::count(plan.files_total),
        Cell::count(plan.skipped_by_partition),
        Cell::count(plan.skipped_by_manifest),
        Cell::count(plan.skipped_by_bounds),
        Cell::count(opened as u64),
        Cell::count(query.tickets),
        Cell::text(query.error),
    ];
    row.extend(counts(&sum_counts(reports)));
    row
}

/// One row for each scan ticket that ended.
pub(super) async fn tickets(parts: Arc<Parts>) -> Result<RecordBatch, PlannerError> {
    let rows = ticket_reports(&parts)
        .await?
        .into_iter()
        .map(|(record, report)| {
            let mut row = vec![
                Cell::text(record.query_id),
                Cell::text(record.ticket_id),
                Cell::text(report.server),
                Cell::text(report.table.to_string()),
                Cell::Id(Some(report.snapshot_id.0)),
                Cell::Flag(Some(report.complete)),
                Cell::text(report.error.unwrap_or_default()),
                Cell::Time(Some(record.finished_unix_ms)),
                Cell::count(report.tasks.len() as u64),
            ];
            row.extend(counts(&report.counts));
            row
        });
    batch(&tickets_schema(), &rows.collect::<Vec<_>>())
}

/// One row for each skipped file, row group and run of pages.
pub(super) async fn skips(parts: Arc<Parts>) -> Result<RecordBatch, PlannerError> {
    let mut rows = Vec::new();
    for row in read(&parts, proto::Log::Skips).await? {
        if let Row::Skip(record) = row {
            let skip: Skip =
                serde_json::from_slice(&record.skip_json).map_err(|error| unreadable(&error))?;
            rows.push(skip_row(record, &skip));
        }
    }
    batch(&skips_schema(), &rows)
}

fn skip_row(record: proto::SkipRecord, skip: &Skip) -> Vec<Cell> {
    let table = record.table.map(|name| TableName::from(name).to_string());
    let (unit, row_group, column, first_page, pages) = match &skip.unit {
        SkippedUnit::File => ("file", None, "", None, None),
        SkippedUnit::RowGroup { row_group } => ("row-group", Some(*row_group), "", None, None),
        SkippedUnit::Pages {
            row_group,
            column,
            first_page,
            pages,
        } => (
            "pages",
            Some(*row_group),
            column.as_str(),
            Some(*first_page),
            Some(*pages),
        ),
    };
    let Reason { level, .. } = &skip.reason;
    vec![
        Cell::text(record.query_id),
        Cell::text(record.ticket_id),
        Cell::Text(table),
        Cell::text(&skip.path),
        Cell::text(unit),
        Cell::Count(row_group),
        Cell::text(column),
        Cell::Count(first_page),
        Cell::Count(pages),
        Cell::Count(skip.rows),
        Cell::text(level.to_string()),
        Cell::text(skip.reason.to_string()),
    ]
}

async fn ticket_reports(
    parts: &Parts,
) -> Result<Vec<(proto::TicketRecord, ScanReport)>, PlannerError> {
    let mut reports = Vec::new();
    for row in read(parts, proto::Log::Tickets).await? {
        if let Row::Ticket(record) = row {
            let report =
                serde_json::from_slice(&record.report_json).map_err(|error| unreadable(&error))?;
            reports.push((record, report));
        }
    }
    Ok(reports)
}

fn unreadable(error: &serde_json::Error) -> PlannerError {
    PlannerError::Internal(format!("query log cannot be read: {error}"))
}

async fn read(parts: &Parts, log: proto::Log) -> Result<Vec<Row>, PlannerError> {
    let request = proto::ReadLogRequest {
        log: log.into(),
        query_id: None,
        limit: None,
    };
    let failed = |status| parts.catalog_failed(&status);
    let mut stream = parts
        .catalog()
        .read_log(request)
        .await
        .map_err(failed)?
        .into_inner();
    let mut rows = Vec::new();
    while let Some(message) = stream.message().await.map_err(failed)? {
        rows.extend(message.row);
    }
    Ok(rows)
}
