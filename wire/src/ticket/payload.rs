//! What a ticket says, and its bytes as they are signed. Knows no keys.

use std::collections::BTreeMap;

use bytes::Bytes;
use model::{QueryId, ScanTask, SnapshotId, TableName, TicketId};
use prost::Message;

use crate::convert::{DecodeError, required};
use crate::proto;

/// What a ticket says.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// When it stops being valid, in milliseconds since 1970.
    pub expires_unix_ms: i64,
    /// The query it belongs to.
    pub query_id: QueryId,
    /// Its own identity.
    pub ticket_id: TicketId,
    /// On whose behalf it was signed.
    pub principal: String,
    /// What to do.
    pub work: Work,
}

/// What a ticket asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Scan files: any Flight server can.
    Scan(ScanWork),
    /// Run a statement: any planner can.
    Statement(StatementWork),
}

/// Scan these files of one snapshot of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanWork {
    /// The table.
    pub table: TableName,
    /// The snapshot that was planned.
    pub snapshot_id: SnapshotId,
    /// The files.
    pub tasks: Vec<ScanTask>,
    /// `datafusion-proto` bytes of `[Projection] ScanExec`; the leaf has no tasks of its own.
    pub fragment: Bytes,
    /// The schema that was promised, as an IPC message.
    pub output_schema: Bytes,
    /// Rows of the result to leave out.
    pub skip_rows: u64,
}

/// A table pinned to a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSnapshot {
    /// The table.
    pub table: TableName,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
}

/// Run this statement on these snapshots.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementWork {
    /// The statement.
    pub sql: String,
    /// An Arrow IPC stream of one row of parameters; empty without parameters.
    pub parameters: Bytes,
    /// Session options that the result depends on.
    pub options: BTreeMap<String, String>,
    /// The snapshots it was planned on.
    pub snapshots: Vec<TableSnapshot>,
    /// The schema that was promised, as an IPC message.
    pub output_schema: Bytes,
}

/// The payload's bytes, as they are signed.
pub fn encode_payload(payload: &Payload) -> Vec<u8> {
    use proto::ticket_payload::Work as ProtoWork;
    let work = match &payload.work {
        Work::Scan(scan) => ProtoWork::Scan(proto::ScanWork {
            table: Some((&scan.table).into()),
            snapshot_id: scan.snapshot_id.0,
            tasks: scan.tasks.iter().map(Into::into).collect(),
            fragment: scan.fragment.to_vec(),
            output_schema: scan.output_schema.to_vec(),
            skip_rows: scan.skip_rows,
        }),
        Work::Statement(statement) => ProtoWork::Statement(proto::StatementWork {
            sql: statement.sql.clone(),
            parameters: statement.parameters.to_vec(),
            options: statement.options.clone().into_iter().collect(),
            snapshots: statement.snapshots.iter().map(Into::into).collect(),
            output_schema: statement.output_schema.to_vec(),
        }),
    };
    proto::TicketPayload {
        expires_unix_ms: payload.expires_unix_ms,
        query_id: payload.query_id.0.clone(),
        ticket_id: payload.ticket_id.0.clone(),
        principal: payload.principal.clone(),
        work: Some(work),
    }
    .encode_to_vec()
}

/// Reads the payload back.
pub(super) fn decode_payload(body: &[u8]) -> Result<Payload, DecodeError> {
    proto::TicketPayload::decode(body)
        .map_err(|error| DecodeError::new("ticket payload", error.to_string()))?
        .try_into()
}

impl TryFrom<proto::TicketPayload> for Payload {
    type Error = DecodeError;

    fn try_from(payload: proto::TicketPayload) -> Result<Self, DecodeError> {
        use proto::ticket_payload::Work as ProtoWork;
        let work = match required(payload.work, "work")? {
            ProtoWork::Scan(scan) => Work::Scan(scan.try_into()?),
            ProtoWork::Statement(statement) => Work::Statement(statement.try_into()?),
        };
        Ok(Self {
            expires_unix_ms: payload.expires_unix_ms,
            query_id: QueryId(payload.query_id),
            ticket_id: TicketId(payload.ticket_id),
            principal: payload.principal,
            work,
        })
    }
}

impl TryFrom<proto::ScanWork> for ScanWork {
    type Error = DecodeError;

    fn try_from(scan: proto::ScanWork) -> Result<Self, DecodeError> {
        Ok(Self {
            table: required(scan.table, "table")?.into(),
            snapshot_id: SnapshotId(scan.snapshot_id),
            tasks: scan
                .tasks
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            fragment: scan.fragment.into(),
            output_schema: scan.output_schema.into(),
            skip_rows: scan.skip_rows,
        })
    }
}

impl TryFrom<proto::StatementWork> for StatementWork {
    type Error = DecodeError;

    fn try_from(statement: proto::StatementWork) -> Result<Self, DecodeError> {
        let snapshots = statement.snapshots.into_iter().map(|snapshot| {
            Ok(TableSnapshot {
                table: required(snapshot.table, "table")?.into(),
                snapshot_id: SnapshotId(snapshot.snapshot_id),
            })
        });
        Ok(Self {
            sql: statement.sql,
            parameters: statement.parameters.into(),
            options: statement.options.into_iter().collect(),
            snapshots: snapshots.collect::<Result<_, DecodeError>>()?,
            output_schema: statement.output_schema.into(),
        })
    }
}

impl From<&TableSnapshot> for proto::TableSnapshot {
    fn from(snapshot: &TableSnapshot) -> Self {
        Self {
            table: Some((&snapshot.table).into()),
            snapshot_id: snapshot.snapshot_id.0,
        }
    }
}
