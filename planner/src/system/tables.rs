//! `system.tables`, `system.files` and `system.snapshots`: the catalog's tables as rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::{Bound, ColumnBounds, FieldId, ScanTask, TableName};
use tonic::{Code, Response, Status};
use wire::convert::{decode_bounds, required};
use wire::proto;

use super::columns::{Cell, Kind, batch, schema};
use crate::engine::Parts;
use crate::error::PlannerError;
use crate::tables::{TableMeta, list};

pub(super) fn tables_schema() -> SchemaRef {
    schema(&[
        ("table_schema", Kind::Text),
        ("table_name", Kind::Text),
        ("kind", Kind::Text),
        ("location", Kind::Text),
        ("snapshot_id", Kind::Id),
        ("files", Kind::Count),
        ("row_count", Kind::Count),
        ("bytes", Kind::Count),
        ("partition_columns", Kind::Text),
        ("metadata_location", Kind::Text),
    ])
}

pub(super) fn files_schema() -> SchemaRef {
    schema(&[
        ("table_schema", Kind::Text),
        ("table_name", Kind::Text),
        ("path", Kind::Text),
        ("size", Kind::Count),
        ("row_count", Kind::Count),
        ("partition_values", Kind::Text),
        ("bounds", Kind::Text),
    ])
}

pub(super) fn snapshots_schema() -> SchemaRef {
    schema(&[
        ("table_schema", Kind::Text),
        ("table_name", Kind::Text),
        ("snapshot_id", Kind::Id),
        ("sequence_number", Kind::Id),
        ("committed", Kind::Time),
        ("operation", Kind::Text),
        ("files_added", Kind::Count),
        ("files_removed", Kind::Count),
        ("files", Kind::Count),
        ("row_count", Kind::Count),
    ])
}

/// One row for each table.
pub(super) async fn tables(parts: Arc<Parts>) -> Result<RecordBatch, PlannerError> {
    let rows = list(&parts, None).await?.into_iter().map(|table| {
        let partitions = table.partition_fields.iter();
        let partitions = partitions
            .map(|field| name_of(&table, *field))
            .collect::<Vec<_>>();
        vec![
            Cell::text(&table.name.schema),
            Cell::text(&table.name.table),
            Cell::text(kind(table.kind)),
            Cell::text(&table.location),
            Cell::Id(Some(table.snapshot.0)),
            Cell::count(table.files),
            Cell::count(table.rows),
            Cell::count(table.bytes),
            Cell::text(partitions.join(", ")),
            Cell::Text(table.metadata_location),
        ]
    });
    batch(&tables_schema(), &rows.collect::<Vec<_>>())
}

fn kind(kind: proto::TableKind) -> &'static str {
    match kind {
        proto::TableKind::Listing => "listing",
        proto::TableKind::Managed => "managed",
        proto::TableKind::Unspecified => "unknown",
    }
}

fn name_of(table: &TableMeta, field: FieldId) -> String {
    let found = table.schema.field(field);
    found.map_or_else(
        || format!("field {}", field.0),
        |(_, field)| field.name().clone(),
    )
}

/// One row for each data file of each table.
pub(super) async fn files(parts: Arc<Parts>) -> Result<RecordBatch, PlannerError> {
    let mut rows = Vec::new();
    for table in list(&parts, None).await? {
        let request = proto::ListFilesRequest {
            name: Some((&table.name).into()),
            snapshot_id: Some(table.snapshot.0),
        };
        let answer = parts.catalog().list_files(request).await;
        let Some(answer) = unless_gone(&parts, answer)? else {
            continue;
        };
        let mut stream = answer.into_inner();
        while let Some(message) = stream
            .message()
            .await
            .map_err(|status| parts.catalog_failed(&status))?
        {
            rows.push(file_row(&table, required(message.file, "file")?)?);
        }
    }
    batch(&files_schema(), &rows)
}

/// The answer about a table; nothing when it was dropped, or lost its snapshot, since it was listed.
fn unless_gone<T>(
    parts: &Parts,
    answer: Result<Response<T>, Status>,
) -> Result<Option<Response<T>>, PlannerError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(parts.catalog_failed(&status)),
    }
}

fn file_row(table: &TableMeta, file: proto::PlannedFile) -> Result<Vec<Cell>, PlannerError> {
    let task: ScanTask = required(file.task, "scan task")?.try_into()?;
    let partition = task.partition_values.iter().map(|value| {
        let shown = value
            .value
            .as_ref()
            .map_or("NULL".to_owned(), ToString::to_string);
        format!("{}={shown}", name_of(table, value.field))
    });
    let bounds = file.bounds.into_iter().map(|bounds| {
        let (field, bounds) = decode_bounds(bounds)?;
        Ok(format!("{}: {}", name_of(table, field), shown(&bounds)))
    });
    let bounds: Vec<String> = bounds.collect::<Result<_, PlannerError>>()?;
    Ok(vec![
        Cell::text(&table.name.schema),
        Cell::text(&table.name.table),
        Cell::text(&task.file.path),
        Cell::count(task.file.size),
        Cell::Count(task.file.record_count),
        Cell::text(partition.collect::<Vec<_>>().join(", ")),
        Cell::text(bounds.join("; ")),
    ])
}

fn shown(bounds: &ColumnBounds) -> String {
    let bound = |bound: &Option<Bound>| match bound {
        Some(bound) => bound.value.to_string(),
        None => "?".to_owned(),
    };
    let nulls = bounds
        .null_count
        .map_or("?".to_owned(), |nulls| nulls.to_string());
    format!(
        "{} to {}, {nulls} nulls",
        bound(&bounds.lower),
        bound(&bounds.upper)
    )
}

/// One row for each snapshot of each table.
pub(super) async fn snapshots(parts: Arc<Parts>) -> Result<RecordBatch, PlannerError> {
    let mut rows = Vec::new();
    for table in list(&parts, None).await? {
        let request = proto::ListSnapshotsRequest {
            name: Some((&table.name).into()),
        };
        let answer = parts.catalog().list_snapshots(request).await;
        let Some(answer) = unless_gone(&parts, answer)? else {
            continue;
        };
        let snapshots = answer.into_inner().snapshots.into_iter();
        rows.extend(snapshots.map(|snapshot| snapshot_row(&table.name, snapshot)));
    }
    batch(&snapshots_schema(), &rows)
}

fn snapshot_row(table: &TableName, snapshot: proto::Snapshot) -> Vec<Cell> {
    vec![
        Cell::text(&table.schema),
        Cell::text(&table.table),
        Cell::Id(Some(snapshot.snapshot_id)),
        Cell::Id(Some(snapshot.sequence_number)),
        Cell::Time(Some(snapshot.committed_unix_ms)),
        Cell::text(snapshot.operation),
        Cell::count(snapshot.files_added),
        Cell::count(snapshot.files_removed),
        Cell::count(snapshot.files),
        Cell::count(snapshot.rows),
    ]
}
