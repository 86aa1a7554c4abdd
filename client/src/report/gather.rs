//! Puts a report together: from the plan's metadata, from the scan reports in the streams, and from
//! the planner's system tables for what neither of them holds.

use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray};
use arrow::record_batch::RecordBatch;
use model::ScanReport;
use serde_json::Value;

use super::{FileSkip, Plan, QueryReport};
use crate::connection::{Client, QueryOptions};
use crate::error::ClientError;
use crate::results::Results;

impl QueryReport {
    /// The report of a statement whose rows have all been taken; `began` is when it was sent. What
    /// the planner's system tables would add is left out when they cannot be read.
    pub async fn gather(client: &Client, results: &Results, began: Instant) -> Self {
        let mut report = Self::of_results(results, began);
        if let Some(query_id) = report.query_id.clone()
            && report.plan.files_skipped() > 0
        {
            let skips = files_skipped(client, &query_id).await;
            report.files_skipped = skips.unwrap_or_default();
        }
        report
    }

    fn of_results(results: &Results, began: Instant) -> Self {
        let tally = results.tally();
        let metadata: Value = serde_json::from_slice(results.plan_metadata()).unwrap_or_default();
        let elapsed = began.elapsed();
        let mut report = Self {
            query_id: metadata
                .get("query_id")
                .and_then(Value::as_str)
                .map(str::to_owned),
            plan: plan_of(&metadata),
            tickets: tally.tickets as u64,
            rows: tally.rows,
            elapsed,
            first_rows: tally.first_batch.map(|first| since(began, first, results)),
            ..Self::default()
        };
        for scan in &tally.reports {
            report.add_scan(scan);
        }
        report
    }

    fn add_scan(&mut self, scan: &ScanReport) {
        self.scans += 1;
        self.counts += scan.counts;
        self.query_id
            .get_or_insert_with(|| scan.query_id.to_string());
        if !self.servers.contains(&scan.server) {
            self.servers.push(scan.server.clone());
        }
        let skips = scan.tasks.iter().flat_map(|task| &task.skips);
        self.skips.extend(skips.cloned());
    }
}

/// The first rows counted from when the statement was sent, planning included.
fn since(began: Instant, first: Duration, results: &Results) -> Duration {
    results.began().saturating_duration_since(began) + first
}

/// The plan's counts stand in the metadata itself or under `plan`.
fn plan_of(metadata: &Value) -> Plan {
    let counts = metadata.get("plan").unwrap_or(metadata);
    serde_json::from_value(counts.clone()).unwrap_or_default()
}

async fn files_skipped(client: &Client, query_id: &str) -> Result<Vec<FileSkip>, ClientError> {
    let query_id = query_id.replace('\'', "''");
    let sql = format!(
        "SELECT path, level, reason FROM system.skips \
         WHERE query_id = '{query_id}' AND unit = 'file'"
    );
    let mut rows = client.execute(&sql, &QueryOptions::default()).await?;
    let mut skips = Vec::new();
    while let Some(batch) = rows.next().await? {
        skips.extend(file_skips(&batch));
    }
    skips.sort_by(|left: &FileSkip, right| left.path.cmp(&right.path));
    Ok(skips)
}

fn file_skips(batch: &RecordBatch) -> Vec<FileSkip> {
    let rows = 0..batch.num_rows();
    let skips = rows.map(|row| FileSkip {
        path: text(batch, "path", row),
        level: text(batch, "level", row),
        reason: text(batch, "reason", row),
    });
    skips.collect()
}

/// A value of a string column; empty when it is null or there is no such column.
fn text(batch: &RecordBatch, column: &str, row: usize) -> String {
    let array = batch.column_by_name(column);
    array
        .and_then(|array| array.as_string_opt::<i32>())
        .filter(|array| array.is_valid(row))
        .map(|array| array.value(row).to_owned())
        .unwrap_or_default()
}
