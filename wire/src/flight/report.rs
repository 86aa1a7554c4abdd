//! The scan report as it travels: JSON of bounded size.

use bytes::Bytes;
use model::ScanReport;

/// Longest report sent. Clients on default limits take 4 MiB per message, and a table of many small
/// pages can have more skips than that.
pub const MAX_REPORT_BYTES: usize = 1024 * 1024;

/// Longest error text in a report that had to be shortened.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The report as JSON of at most [`MAX_REPORT_BYTES`]. A longer one is shortened: later skips of each
/// task are left out, then later tasks. Counts of the ticket stay exact, and the report says how many
/// tasks are missing.
pub fn report_json(report: &ScanReport) -> Bytes {
    let json = to_json(report);
    if json.len() <= MAX_REPORT_BYTES {
        return json;
    }
    let mut shorter = report.clone();
    if let Some(error) = &mut shorter.error {
        error.truncate(error.floor_char_boundary(MAX_ERROR_BYTES));
    }
    let mut skips = longest(&shorter);
    while skips > 0 {
        skips /= 2;
        for task in &mut shorter.tasks {
            task.skips.truncate(skips);
        }
        let json = to_json(&shorter);
        if json.len() <= MAX_REPORT_BYTES {
            return json;
        }
    }
    loop {
        let kept = shorter.tasks.len() / 2;
        shorter.tasks_left_out += (shorter.tasks.len() - kept) as u64;
        shorter.tasks.truncate(kept);
        let json = to_json(&shorter);
        if json.len() <= MAX_REPORT_BYTES || kept == 0 {
            return json;
        }
    }
}

fn longest(report: &ScanReport) -> usize {
    let skips = report.tasks.iter().map(|task| task.skips.len());
    skips.max().unwrap_or_default()
}

fn to_json(report: &ScanReport) -> Bytes {
    // The report has string keys and finite numbers only, so that it always has a JSON form.
    serde_json::to_vec(report).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use model::reason::{Level, Reason};
    use model::{Counts, QueryId, Skip, SkippedUnit, SnapshotId, TableName, TaskReport, TicketId};

    use super::*;

    fn report(skips: usize) -> ScanReport {
        let skip = |row_group| Skip {
            path: "file:///t/part-0.parquet".to_owned(),
            unit: SkippedUnit::RowGroup { row_group },
            rows: Some(10),
            reason: Reason {
                level: Level::RowGroup,
                conditions: Vec::new(),
                more: 0,
            },
        };
        let counts = Counts {
            requests: 3,
            ..Counts::default()
        };
        ScanReport {
            query_id: QueryId("q".to_owned()),
            ticket_id: TicketId("t".to_owned()),
            table: TableName::main("orders"),
            snapshot_id: SnapshotId(1),
            server: "grpc+tcp://127.0.0.1:1".to_owned(),
            complete: true,
            error: None,
            counts,
            tasks: vec![TaskReport {
                path: "file:///t/part-0.parquet".to_owned(),
                counts,
                skips: (0..skips as u64).map(skip).collect(),
            }],
            tasks_left_out: 0,
        }
    }

    #[test]
    fn a_report_that_fits_travels_whole() {
        let report = report(10);
        let read: ScanReport = serde_json::from_slice(&report_json(&report)).unwrap();
        assert_eq!(read, report);
    }

    #[test]
    fn a_report_of_very_many_skips_keeps_its_counts_and_fits() {
        let report = report(100_000);
        let json = report_json(&report);
        assert!(json.len() <= MAX_REPORT_BYTES);
        let read: ScanReport = serde_json::from_slice(&json).unwrap();
        assert_eq!(read.counts, report.counts);
        assert!(!read.tasks[0].skips.is_empty());
    }
    #[test]
    fn a_report_of_very_many_tasks_tells_how_many_are_left_out() {
        let mut report = report(3);
        report.tasks = vec![report.tasks[0].clone(); 20_000];
        report.error = Some("ä".repeat(MAX_REPORT_BYTES));
        let json = report_json(&report);
        assert!(json.len() <= MAX_REPORT_BYTES);
        let read: ScanReport = serde_json::from_slice(&json).unwrap();
        assert_eq!(read.counts, report.counts);
        assert!(!read.tasks.is_empty());
        assert_eq!(read.tasks.len() as u64 + read.tasks_left_out, 20_000);
    }
}
