//! What a statement read and what it left out: the plan, the reports of its scans, and what the
//! client itself measured.

mod gather;
mod show;
mod skips;

use std::time::Duration;

use model::{Counts, Skip};
use serde::Deserialize;

pub use skips::SkipGroup;

/// Everything that is known about a statement that has ended.
#[derive(Clone, Debug, Default)]
pub struct QueryReport {
    /// The query's id, as it stands in logs and in `system.queries`.
    pub query_id: Option<String>,
    /// What was decided before anything was read.
    pub plan: Plan,
    /// The files that were ruled out at plan time, as far as the planner tells.
    pub files_skipped: Vec<FileSkip>,
    /// The sum over all scans.
    pub counts: Counts,
    /// Row groups and pages that were ruled out.
    pub skips: Vec<Skip>,
    /// Tickets with a scan report.
    pub scans: u64,
    /// The Flight servers that ran them.
    pub servers: Vec<String>,
    /// Endpoints of the statement.
    pub tickets: u64,
    /// Rows that arrived.
    pub rows: u64,
    /// From sending the statement to the last row.
    pub elapsed: Duration,
    /// From sending the statement to the first row.
    pub first_rows: Option<Duration>,
}

/// The planner's counts over all tables of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// Data files of the tables.
    pub files_total: u64,
    /// Ruled out by partition values.
    #[serde(rename = "files_skipped_by_partition")]
    pub skipped_by_partition: u64,
    /// Ruled out by partition summaries of a manifest.
    #[serde(rename = "files_skipped_by_manifest")]
    pub skipped_by_manifest: u64,
    /// Ruled out by column bounds.
    #[serde(rename = "files_skipped_by_bounds")]
    pub skipped_by_bounds: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
    /// Bytes of the files that are left.
    pub bytes_left: u64,
    /// Milliseconds that planning took.
    pub plan_ms: u64,
}

impl Plan {
    /// Files that were ruled out before any was opened.
    pub fn files_skipped(&self) -> u64 {
        self.skipped_by_partition + self.skipped_by_manifest + self.skipped_by_bounds
    }
}

/// A file that was ruled out at plan time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSkip {
    /// Its URL.
    pub path: String,
    /// The level at which it was decided.
    pub level: String,
    /// Why, in words.
    pub reason: String,
}
