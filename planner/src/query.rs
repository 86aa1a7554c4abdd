//! One query while it is planned and run: its identity, and what was learned of its tables and scans
//! on the way. Decides nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use chrono::Utc;
use model::{Counts, QueryId, ScanReport, SnapshotId, TableName};
use scan::Forecast;
use uuid::Uuid;
use wire::proto;

/// Files whose reports are kept of one query. Counts stay exact beyond it.
const FILES_KEPT: usize = 1000;

/// A query.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) id: QueryId,
    pub(crate) sql: String,
    pub(crate) principal: String,
    pub(crate) started_unix_ms: i64,
    begun: Instant,
    plan_ms: OnceLock<u64>,
    forecast: AtomicBool,
    every_reason: AtomicBool,
    found: Mutex<Found>,
}

/// What was learned of a query so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What the catalog answered, for each scan of a table.
    pub(crate) tables: Vec<TablePlan>,
    /// What the scans did.
    pub(crate) scans: Vec<Scanned>,
    /// Scans that were begun.
    pub(crate) begun: usize,
    files_kept: usize,
}

/// What one scan did.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// Its report. Of later files only the sums are kept.
    pub(crate) report: ScanReport,
    /// Files that it opened.
    pub(crate) files: usize,
}

/// What the catalog answered for one scan of a table.
#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    pub(crate) table: TableName,
    pub(crate) snapshot: SnapshotId,
    pub(crate) summary: proto::PlanSummary,
    /// What scanning the files that are left will take, when somebody wants to know.
    pub(crate) forecast: Option<Forecast>,
    /// Files that hold no match; the first ones, unless every reason is wanted.
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
            forecast: AtomicBool::new(false),
            every_reason: AtomicBool::new(false),
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

    /// Asks for the reason of every skipped unit, however many there are.
    pub(crate) fn want_every_reason(&self) {
        self.every_reason.store(true, Ordering::Relaxed);
    }

    /// Asks what its scans will take.
    pub(crate) fn want_forecast(&self) {
        self.forecast.store(true, Ordering::Relaxed);
    }

    /// Whether somebody wants to know what its scans will take.
    pub(crate) fn wants_forecast(&self) -> bool {
        self.forecast.load(Ordering::Relaxed)
    }

    /// Whether the reason of every skipped unit is wanted.
    pub(crate) fn wants_every_reason(&self) -> bool {
        self.every_reason.load(Ordering::Relaxed)
    }

    /// Remembers what the catalog answered.
    pub(crate) fn planned(&self, plan: TablePlan) {
        self.found().tables.push(plan);
    }

    /// Remembers that a scan was begun; its report follows unless it is cut short.
    pub(crate) fn scan_begun(&self) {
        self.found().begun += 1;
    }

    /// Remembers what a scan did.
    pub(crate) fn reported(&self, report: ScanReport) {
        let kept = if self.wants_every_reason() {
            usize::MAX
        } else {
            FILES_KEPT
        };
        self.found().add(report, kept);
    }

    /// Looks at what was learned so far.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&Found) -> T) -> T {
        at(&self.found())
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        // Only pushes and looks happen under the lock, so what is inside is whole.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Found {
    fn add(&mut self, mut report: ScanReport, kept: usize) {
        let files = report.tasks.len();
        report.tasks.truncate(kept.saturating_sub(self.files_kept));
        self.files_kept += report.tasks.len();
        self.scans.push(Scanned { report, files });
    }

    /// The reports of the scans.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &ScanReport> {
        self.scans.iter().map(|scan| &scan.report)
    }

    /// Scans of which nothing was heard: broken off, because enough rows were there or an error came.
    pub(crate) fn cut(&self) -> usize {
        self.begun.saturating_sub(self.scans.len())
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

#[cfg(test)]
mod tests {
    use model::{TaskReport, TicketId};

    use super::*;

    fn report(files: usize) -> ScanReport {
        let counts = Counts {
            requests: files as u64,
            ..Counts::default()
        };
        let task = |file| TaskReport {
            path: format!("file:///{file}"),
            counts: Counts::default(),
            skips: Vec::new(),
        };
        ScanReport {
            tasks_left_out: 0,
            query_id: QueryId("q".to_owned()),
            ticket_id: TicketId("t".to_owned()),
            table: TableName::main("t"),
            snapshot_id: SnapshotId(1),
            server: String::new(),
            complete: true,
            error: None,
            counts,
            tasks: (0..files).map(task).collect(),
        }
    }

    #[test]
    fn many_files_are_summed_and_the_first_ones_kept() {
        let query = Query::new("", "");
        for files in [FILES_KEPT - 1, 5, 7] {
            query.scan_begun();
            query.reported(report(files));
        }
        query.scan_begun();
        query.look(|found| {
            let kept: Vec<usize> = found.reports().map(|one| one.tasks.len()).collect();
            assert_eq!(kept, [FILES_KEPT - 1, 1, 0]);
            let files: Vec<usize> = found.scans.iter().map(|scan| scan.files).collect();
            assert_eq!(files, [FILES_KEPT - 1, 5, 7]);
            let requests = sum_counts(found.reports()).requests;
            assert_eq!((requests, found.cut()), (FILES_KEPT as u64 + 11, 1));
        });
        let query = Query::new("", "");
        query.want_every_reason();
        query.reported(report(FILES_KEPT + 1));
        assert_eq!(
            query.look(|found| found.scans[0].report.tasks.len()),
            FILES_KEPT + 1
        );
    }
}
