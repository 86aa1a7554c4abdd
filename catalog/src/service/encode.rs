//! The catalog's own types as answers. Cannot fail.

use model::{ColumnBounds, FieldId};
use wire::convert::{encode_bounds, encode_mapping};
use wire::proto;
use wire::proto::plan_files_response::Part;
use wire::proto::read_log_response::Row;
use wire::schema::encode_schema;

use crate::index::TableIndex;
use crate::known_footers::Known;
use crate::log::{LogRow, LoggedQuery, LoggedSkip, LoggedTicket};
use crate::plan::{PlanPart, Summary, bounds_of};
use crate::table::{Progress, Snapshot, Table, TableKind};

/// A table at its snapshot.
pub(super) fn table(table: &Table) -> proto::Table {
    let (definition, snapshot) = (&table.definition, &table.snapshot);
    let kind = match definition.kind {
        TableKind::Listing => proto::TableKind::Listing,
        TableKind::Managed => proto::TableKind::Managed,
    };
    let partition_fields = snapshot.columns.partition_fields.iter();
    proto::Table {
        name: Some((&definition.name).into()),
        kind: kind.into(),
        location: definition.location.clone(),
        schema: encode_schema(snapshot.columns.schema.arrow()),
        partition_field_ids: partition_fields.map(|field| field.0).collect(),
        mapping: encode_mapping(definition.mapping),
        snapshot_id: snapshot.id.0,
        files: snapshot.files,
        rows: snapshot.rows,
        bytes: snapshot.bytes,
        metadata_location: definition.metadata_location.clone(),
    }
}

/// A snapshot.
pub(super) fn snapshot(snapshot: &Snapshot) -> proto::Snapshot {
    proto::Snapshot {
        snapshot_id: snapshot.id.0,
        sequence_number: snapshot.sequence_number,
        committed_unix_ms: snapshot.committed_unix_ms,
        operation: snapshot.operation.clone(),
        files_added: snapshot.files_added,
        files_removed: snapshot.files_removed,
        files: snapshot.files,
        rows: snapshot.rows,
    }
}

/// How far long work is, with the table when it is done.
pub(super) fn progress(progress: Progress, done: Option<&Table>) -> proto::TableProgress {
    proto::TableProgress {
        files_done: progress.files_done,
        files_total: progress.files_total,
        footers_read: progress.footers_read,
        table: done.map(table),
    }
}

/// One part of a plan.
pub(super) fn plan_part(part: PlanPart) -> proto::PlanFilesResponse {
    let part = match part {
        PlanPart::Header(index) => Part::Header(table(&index.table)),
        PlanPart::File {
            index,
            position,
            fully_matched,
            footer,
        } => {
            let mut file = planned_file(&index, position, fully_matched, &[]);
            if let Some(task) = &mut file.task {
                task.footer_wanted = footer == Known::Wanted;
                if let Known::Here(columns) = &footer {
                    task.footer = columns.iter().map(Into::into).collect();
                }
            }
            Part::File(file)
        }
        PlanPart::Skipped {
            index,
            position,
            reason,
        } => {
            let file = index.files.get(position).map(|file| &file.file);
            Part::Skipped(proto::SkippedFile {
                path: file.map(|file| file.path.clone()).unwrap_or_default(),
                size: file.map(|file| file.size).unwrap_or_default(),
                record_count: file.and_then(|file| file.record_count),
                reason: Some((&reason).into()),
            })
        }
        PlanPart::Summary(totals) => Part::Summary(summary(totals)),
    };
    proto::PlanFilesResponse { part: Some(part) }
}

fn planned_file(
    index: &TableIndex,
    position: usize,
    fully_matched: bool,
    bounds: &[(FieldId, ColumnBounds)],
) -> proto::PlannedFile {
    let bounds = bounds.iter();
    proto::PlannedFile {
        task: index.files.get(position).map(|file| (&file.task()).into()),
        bounds: bounds
            .map(|(field, bounds)| encode_bounds(*field, bounds))
            .collect(),
        fully_matched,
    }
}

fn summary(summary: Summary) -> proto::PlanSummary {
    proto::PlanSummary {
        files_total: summary.files_total,
        skipped_by_partition: summary.skipped_by_partition,
        skipped_by_manifest: 0,
        skipped_by_bounds: summary.skipped_by_bounds,
        bytes_total: summary.bytes_total,
        bytes_left: summary.bytes_left,
    }
}

/// A file of a snapshot with all that is known of its columns.
pub(super) fn listed_file(index: &TableIndex, position: usize) -> proto::ListFilesResponse {
    let ids = index.table.snapshot.columns.schema.ids();
    let file = index.files.get(position);
    let bounds = file.map(|file| bounds_of(file, ids)).unwrap_or_default();
    proto::ListFilesResponse {
        file: Some(planned_file(index, position, false, &bounds)),
    }
}

/// A row of the query log.
pub(super) fn log_row(row: LogRow) -> proto::ReadLogResponse {
    let row = match row {
        LogRow::Query(query) => Row::Query(logged_query(query)),
        LogRow::Ticket(ticket) => Row::Ticket(logged_ticket(ticket)),
        LogRow::Skip(skip) => Row::Skip(logged_skip(skip)),
    };
    proto::ReadLogResponse { row: Some(row) }
}

fn logged_query(query: LoggedQuery) -> proto::QueryRecord {
    proto::QueryRecord {
        query_id: query.id.0,
        sql: query.sql,
        principal: query.principal,
        started_unix_ms: query.started_unix_ms,
        state: query.state.as_str().to_owned(),
        error: query.error,
        tickets: query.tickets,
        plan: Some(query.plan),
        plan_ms: query.plan_ms,
        skips: Vec::new(),
    }
}

fn logged_ticket(ticket: LoggedTicket) -> proto::TicketRecord {
    proto::TicketRecord {
        query_id: ticket.query.0,
        ticket_id: ticket.ticket.0,
        finished_unix_ms: ticket.finished_unix_ms,
        report_json: ticket.report,
    }
}

fn logged_skip(skip: LoggedSkip) -> proto::SkipRecord {
    proto::SkipRecord {
        query_id: skip.query.0,
        ticket_id: skip.ticket,
        table: Some((&skip.table).into()),
        skip_json: skip.skip,
    }
}
