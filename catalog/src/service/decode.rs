//! Requests as the catalog's own types. Total: what cannot be understood is an error about its field.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use model::{
    FieldId, Predicate, QueryId, Reason, ScanReport, Skip, SkippedUnit, SnapshotId, TableName,
};
use wire::convert::required;
use wire::{DecodeError, proto};

use crate::catalog::{Existing, NewTable};
use crate::known_footers::FootersWanted;
use crate::log::{LogFilter, LogKind, LoggedQuery};
use crate::plan::PlanRequest;
use crate::table::Declaration;

/// A table's name; without a schema it is in the default one.
pub(super) fn name(name: Option<proto::TableName>) -> Result<TableName, DecodeError> {
    let name = TableName::from(required(name, "table name")?);
    if name.schema.is_empty() {
        return Ok(TableName::main(name.table));
    }
    Ok(name)
}

/// A snapshot's id.
pub(super) fn snapshot(id: Option<i64>) -> Option<SnapshotId> {
    id.map(SnapshotId)
}

/// What is asked of a plan; a missing predicate passes every row.
pub(super) fn plan(request: proto::PlanFilesRequest) -> Result<PlanRequest, DecodeError> {
    let predicate = request.predicate.map(Predicate::try_from).transpose()?;
    Ok(PlanRequest {
        predicate: predicate.unwrap_or(Predicate::Always),
        explain: request.explain,
        footers: request.footers.map(footers).unwrap_or_default(),
    })
}

fn footers(wanted: proto::FootersWanted) -> FootersWanted {
    let fields = |ids: Vec<i32>| ids.into_iter().map(FieldId).collect();
    FootersWanted {
        read: fields(wanted.read_field_ids),
        judged: fields(wanted.judged_field_ids),
        most_bytes: usize::try_from(wanted.most_bytes).unwrap_or(usize::MAX),
    }
}

/// A table to be made.
pub(super) fn new_table(request: proto::CreateTableRequest) -> Result<NewTable, DecodeError> {
    let existing = match (request.if_not_exists, request.or_replace) {
        (false, false) => Existing::Refuse,
        (true, false) => Existing::Keep,
        (false, true) => Existing::Replace,
        (true, true) => {
            let reason = "OR REPLACE and IF NOT EXISTS exclude each other";
            return Err(DecodeError::new("create table", reason));
        }
    };
    Ok(NewTable {
        name: name(request.name)?,
        location: request.location,
        declaration: Declaration {
            partition_columns: request.partition_columns,
            schema: declared_schema(&request.declared_schema)?,
        },
        existing,
    })
}

fn declared_schema(bytes: &[u8]) -> Result<Option<SchemaRef>, DecodeError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let schema = wire::schema::decode_schema(bytes)?;
    Ok((!schema.fields().is_empty()).then_some(Arc::clone(&schema)))
}

/// A query with the files that were skipped when it was planned.
pub(super) fn query(
    request: proto::RecordQueryRequest,
) -> Result<(LoggedQuery, Vec<(TableName, Skip)>), DecodeError> {
    let query = required(request.query, "query")?;
    if query.query_id.is_empty() {
        return Err(DecodeError::new("query id", "missing"));
    }
    let skips = query.skips.into_iter().map(skip);
    let skips = skips.collect::<Result<_, _>>()?;
    let logged = LoggedQuery {
        id: QueryId(query.query_id),
        sql: query.sql,
        principal: query.principal,
        started_unix_ms: query.started_unix_ms,
        state: query.state.parse()?,
        error: query.error,
        tickets: query.tickets,
        plan: query.plan.unwrap_or_default(),
        plan_ms: query.plan_ms,
    };
    Ok((logged, skips))
}

fn skip(skip: proto::QuerySkip) -> Result<(TableName, Skip), DecodeError> {
    let file = required(skip.file, "skipped file")?;
    let reason = Reason::try_from(required(file.reason, "reason")?)?;
    let skipped = Skip {
        path: file.path,
        unit: SkippedUnit::File,
        rows: file.record_count,
        reason,
    };
    Ok((name(skip.table)?, skipped))
}

/// A scan report from its JSON form.
pub(super) fn report(json: &[u8]) -> Result<ScanReport, DecodeError> {
    serde_json::from_slice(json).map_err(|error| DecodeError::new("scan report", error.to_string()))
}

/// Which rows of which log are wanted.
pub(super) fn log_filter(request: proto::ReadLogRequest) -> Result<LogFilter, DecodeError> {
    let log = match proto::Log::try_from(request.log) {
        Ok(proto::Log::Queries) => LogKind::Queries,
        Ok(proto::Log::Tickets) => LogKind::Tickets,
        Ok(proto::Log::Skips) => LogKind::Skips,
        _ => {
            let reason = format!("unknown value {}", request.log);
            return Err(DecodeError::new("log", reason));
        }
    };
    Ok(LogFilter {
        log,
        query: request.query_id.map(QueryId),
        limit: request.limit,
    })
}
