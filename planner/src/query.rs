//! One query while it is planned and run: its identity, and what was learned of its tables and scans
//! on the way. Decides nothing.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use chrono::Utc;
use model::{Counts, DataFile, QueryId, ScanReport, SnapshotId, TableName};
use uuid::Uuid;
use wire::proto;

/// A query.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) id: QueryId,
    pub(crate) sql: String,
    pub(crate) principal: String,
    pub(crate) started_unix_ms: i64,
    begun: Instant,
    plan_ms: OnceLock<u64>,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    tables: Vec<TablePlan>,
    reports: Vec<ScanReport>,
}

/// What the catalog answered for one scan of a table.
#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    pub(crate) table: TableName,
    pub(crate) snapshot: SnapshotId,
    pub(crate) summary: proto::PlanSummary,
    pub(crate) files: Vec<DataFile>,
    pub(crate) skipped: Vec<proto::SkippedFile>,
}

impl Query {
    /// A new query.
    pub(crate) fn new(sql: &str, principal: &str) -> Self {
        Self::known(new_id(), sql, principal)
    }

    /// A query that has its identity already, because its ticket carries it.
    pub(crate) fn known(id: QueryId, sql: &str, principal: &str) -> Self {
        Self {
            id,
            sql: sql.to_owned(),
            principal: principal.to_owned(),
            started_unix_ms: Utc::now().timestamp_millis(),
            begun: Instant::now(),
            plan_ms: OnceLock::new(),
            found: Mutex::default(),
        }
    }

    /// Says that planning is over.
    pub(crate) fn plan_done(&self) {
        let took = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Planned once; a second call could only lengthen it.
        let _ = self.plan_ms.set(took);
    }

    /// Milliseconds that planning took.
    pub(crate) fn planned_ms(&self) -> u64 {
        self.plan_ms.get().copied().unwrap_or_default()
    }

    /// Remembers what the catalog answered.
    pub(crate) fn planned(&self, plan: TablePlan) {
        self.found().tables.push(plan);
    }

    /// Remembers what a scan did.
    pub(crate) fn reported(&self, report: ScanReport) {
        self.found().reports.push(report);
    }

    /// What the catalog answered so far.
    pub(crate) fn tables(&self) -> Vec<TablePlan> {
        self.found().tables.clone()
    }

    /// What the scans did so far.
    pub(crate) fn reports(&self) -> Vec<ScanReport> {
        self.found().reports.clone()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        // Only pushes and clones happen under the lock, so what is inside is whole.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sums over all tables of a query.
pub(crate) fn sum_summaries(tables: &[TablePlan]) -> proto::PlanSummary {
    let mut sum = proto::PlanSummary::default();
    for summary in tables.iter().map(|table| &table.summary) {
        sum.files_total += summary.files_total;
        sum.skipped_by_partition += summary.skipped_by_partition;
        sum.skipped_by_manifest += summary.skipped_by_manifest;
        sum.skipped_by_bounds += summary.skipped_by_bounds;
        sum.bytes_total += summary.bytes_total;
        sum.bytes_left += summary.bytes_left;
    }
    sum
}

/// The sums over all scans of a query.
pub(crate) fn sum_counts<'a>(reports: impl IntoIterator<Item = &'a ScanReport>) -> Counts {
    let mut sum = Counts::default();
    reports.into_iter().for_each(|report| sum += report.counts);
    sum
}

/// An identity that sorts by time.
pub(crate) fn new_id() -> QueryId {
    QueryId(Uuid::now_v7().to_string())
}
