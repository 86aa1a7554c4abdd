//! Signing tickets, and making them from fragments. Owns expiry and identities; places nothing.

use std::time::Duration;

use bytes::Bytes;
use chrono::Utc;
use model::{ScanTask, SnapshotId, TableName, TicketId};
use uuid::Uuid;
use wire::{Payload, ScanWork, TableSnapshot, TicketError, TicketKeys, Work};

use crate::error::PlannerError;
use crate::query::Query;
use crate::shape::Fragment;

/// Signs and checks tickets.
#[derive(Debug)]
pub(crate) struct Signer {
    keys: TicketKeys,
    ttl: Duration,
}

impl Signer {
    pub(crate) fn new(keys: TicketKeys, ttl: Duration) -> Self {
        Self { keys, ttl }
    }

    /// A payload with a new identity that is valid from now on.
    pub(crate) fn payload(&self, query: &Query, work: Work) -> Payload {
        Payload {
            expires_unix_ms: self.expiry(),
            query_id: query.id.clone(),
            ticket_id: TicketId(Uuid::now_v7().to_string()),
            principal: query.principal.clone(),
            work,
        }
    }

    /// Signs a payload.
    pub(crate) fn sign(&self, payload: &Payload) -> Result<Bytes, TicketError> {
        self.keys.sign(payload)
    }

    /// Signs a scan again so that it goes on after `rows` more rows. It gets time anew: whoever began
    /// to fetch a valid ticket may finish.
    pub(crate) fn resume(&self, payload: &Payload, rows: u64) -> Result<Bytes, TicketError> {
        let mut payload = payload.clone();
        payload.expires_unix_ms = self.expiry();
        if let Work::Scan(scan) = &mut payload.work {
            scan.skip_rows = scan.skip_rows.saturating_add(rows);
        }
        self.keys.sign(&payload)
    }

    /// Checks a ticket that a client brought.
    pub(crate) fn verify(&self, ticket: &[u8]) -> Result<Payload, TicketError> {
        self.keys.verify(ticket, Utc::now().timestamp_millis())
    }

    fn expiry(&self) -> i64 {
        let ttl = i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX);
        Utc::now().timestamp_millis().saturating_add(ttl)
    }
}

/// The work of a ticket that runs a fragment over some of its files.
pub(crate) fn scan_work(
    fragment: &Fragment,
    encoded: &Bytes,
    tasks: Vec<ScanTask>,
    snapshots: &[TableSnapshot],
) -> Result<ScanWork, PlannerError> {
    let table = fragment.scan.spec().table.clone();
    Ok(ScanWork {
        snapshot_id: snapshot_of(&table, snapshots)?,
        table,
        tasks,
        fragment: encoded.clone(),
        output_schema: wire::schema::encode_schema(&fragment.plan.schema()).into(),
        skip_rows: 0,
    })
}

/// The snapshot to which a statement pinned a table.
pub(crate) fn snapshot_of(
    table: &TableName,
    snapshots: &[TableSnapshot],
) -> Result<SnapshotId, PlannerError> {
    let pinned = snapshots.iter().find(|pin| pin.table == *table);
    pinned
        .map(|pin| pin.snapshot_id)
        .ok_or_else(|| PlannerError::Internal(format!("table {table} is not pinned to a snapshot")))
}
