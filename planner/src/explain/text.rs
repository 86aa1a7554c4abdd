//! The text of EXPLAIN from facts. Pure.

use std::fmt::Write;
use std::time::Duration;

use model::{Reason, Skip, SkippedUnit, TableName};
use scan::Forecast;

use crate::query::{Found, TablePlan, sum_counts};

/// For each scan of a table: how many files were left after each level, and what reading them takes.
pub(crate) fn files(tables: &[TablePlan]) -> String {
    let mut text = String::new();
    for plan in tables {
        let summary = &plan.summary;
        let after_partition = summary
            .files_total
            .saturating_sub(summary.skipped_by_partition);
        let after_manifest = after_partition.saturating_sub(summary.skipped_by_manifest);
        let after_bounds = after_manifest.saturating_sub(summary.skipped_by_bounds);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} at snapshot {}: {} files -> {after_partition} after partition -> \
             {after_manifest} after manifest -> {after_bounds} after bounds ({} skipped)",
            plan.table,
            plan.snapshot,
            summary.files_total,
            summary.files_total.saturating_sub(after_bounds),
        );
        if let Some(forecast) = &plan.forecast {
            let predicted = predicted(forecast, summary.bytes_total);
            let _ = writeln!(text, "  predicted: {predicted}");
        }
    }
    text
}

/// What a scan will take: as one number each where that is certain.
fn predicted(forecast: &Forecast, total: u64) -> String {
    let Forecast { least, most, .. } = forecast;
    let (short, long) = (milliseconds(least.time), milliseconds(most.time));
    if !forecast.knows_requests {
        return format!(
            "at least {} requests and {short}, at most {} of {total} bytes, {long} for all of these",
            least.requests, most.bytes
        );
    }
    if least == most {
        return format!(
            "{} requests, {} of {total} bytes, {long}",
            most.requests, most.bytes
        );
    }
    format!(
        "{} to {} requests, {} to {} of {total} bytes, {short} to {long}",
        least.requests, most.requests, least.bytes, most.bytes
    )
}

fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    match milliseconds {
        0.0..10.0 => format!("{milliseconds:.1} ms"),
        _ => format!("{milliseconds:.0} ms"),
    }
}

/// What the scans of each table did, as sums.
pub(crate) fn scans(rows: usize, found: &Found) -> String {
    let mut text = format!("{rows} rows\n");
    if found.cut() > 0 {
        let _ = writeln!(
            text,
            "{} scans were cut short, their counts are missing",
            found.cut()
        );
    }
    for table in names(found) {
        let of_table = || {
            found
                .scans
                .iter()
                .filter(|scan| scan.report.table == *table)
        };
        let files: usize = of_table().map(|scan| scan.files).sum();
        let tickets = of_table().count();
        let _ = writeln!(text, "{table}: {tickets} tickets, {files} files opened");
        for (name, count) in sum_counts(of_table().map(|scan| &scan.report)).named() {
            let _ = writeln!(text, "  {name}: {count}");
        }
    }
    text
}

/// Every skipped unit with its reason, one a line.
pub(crate) fn skipped(found: &Found) -> impl Iterator<Item = String> {
    let files = found.tables.iter().flat_map(|table| &table.skipped);
    let files = files.map(|file| match file.reason.clone().map(Reason::try_from) {
        Some(Ok(reason)) => format!("file {}: {}: {reason}", file.path, reason.level),
        Some(Err(_)) | None => format!("file {}: no reason given", file.path),
    });
    let tasks = found.reports().flat_map(|report| &report.tasks);
    let units = tasks.flat_map(|task| &task.skips).map(|skip| {
        let Skip { path, reason, .. } = skip;
        format!("{} of {path}: {}: {reason}", unit(skip), reason.level)
    });
    files.chain(units)
}

fn names(found: &Found) -> Vec<&TableName> {
    let mut names: Vec<&TableName> = found.reports().map(|report| &report.table).collect();
    names.sort();
    names.dedup();
    names
}

fn unit(skip: &Skip) -> String {
    match &skip.unit {
        SkippedUnit::File => "file".to_owned(),
        SkippedUnit::RowGroup { row_group } => format!("row group {row_group}"),
        SkippedUnit::Pages {
            row_group,
            column,
            first_page,
            pages,
        } => {
            let last = first_page + pages.saturating_sub(1);
            format!("pages {first_page} to {last} of {column} in row group {row_group}")
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{Condition, Counts, Level, QueryId, ScanReport, SnapshotId, TaskReport, TicketId};
    use scan::Cost;
    use wire::proto;

    use super::*;
    use crate::query::Query;

    fn reason(level: Level) -> Reason {
        Reason {
            level,
            conditions: vec![Condition {
                column: "order_date".to_owned(),
                test: ">= 2024-03-01".to_owned(),
                lower: Some("2024-01-01".to_owned()),
                upper: Some("2024-01-31".to_owned()),
                null_count: Some(0),
                all_null: false,
            }],
            more: 0,
        }
    }

    fn plan() -> TablePlan {
        TablePlan {
            table: TableName::main("orders"),
            snapshot: SnapshotId(3),
            summary: proto::PlanSummary {
                files_total: 12,
                skipped_by_partition: 2,
                skipped_by_manifest: 0,
                skipped_by_bounds: 9,
                bytes_total: 1200,
                bytes_left: 100,
            },
            forecast: Some(Forecast {
                least: cost(1, 20, 30_000),
                most: cost(4, 100, 61_600),
                knows_requests: false,
            }),
            skipped: vec![proto::SkippedFile {
                path: "file:///o/1.parquet".to_owned(),
                size: 100,
                record_count: Some(5),
                reason: Some((&reason(Level::Bounds)).into()),
            }],
        }
    }

    fn cost(requests: u64, bytes: u64, micros: u64) -> Cost {
        Cost {
            requests,
            bytes,
            time: Duration::from_micros(micros),
        }
    }

    #[test]
    fn what_is_certain_is_one_number() {
        let mut forecast = plan().forecast.unwrap();
        forecast.knows_requests = true;
        assert_eq!(
            predicted(&forecast, 1200),
            "1 to 4 requests, 20 to 100 of 1200 bytes, 30 ms to 62 ms"
        );
        forecast.least = forecast.most;
        assert_eq!(
            predicted(&forecast, 1200),
            "4 requests, 100 of 1200 bytes, 62 ms"
        );
    }

    fn report() -> ScanReport {
        let counts = Counts {
            requests: 3,
            rows_returned: 5,
            ..Counts::default()
        };
        let skip = |unit| Skip {
            path: "file:///o/3.parquet".to_owned(),
            unit,
            rows: None,
            reason: reason(Level::Page),
        };
        ScanReport {
            query_id: QueryId("q".to_owned()),
            ticket_id: TicketId("t".to_owned()),
            table: TableName::main("orders"),
            snapshot_id: SnapshotId(3),
            server: String::new(),
            complete: true,
            error: None,
            counts,
            tasks: vec![TaskReport {
                path: "file:///o/3.parquet".to_owned(),
                counts,
                skips: vec![
                    skip(SkippedUnit::RowGroup { row_group: 1 }),
                    skip(SkippedUnit::Pages {
                        row_group: 0,
                        column: "order_date".to_owned(),
                        first_page: 2,
                        pages: 3,
                    }),
                ],
            }],
            tasks_left_out: 0,
        }
    }

    #[test]
    fn files_are_counted_level_by_level() {
        assert_eq!(
            files(&[plan()]),
            "fulmar.main.orders at snapshot 3: 12 files -> 10 after partition -> 10 after manifest \
             -> 1 after bounds (11 skipped)\n  predicted: at least 1 requests and 30 ms, \
             at most 100 of 1200 bytes, 62 ms for all of these\n"
        );
    }

    #[test]
    fn scans_are_summed_by_table() {
        let query = Query::new("", "");
        for _ in 0..3 {
            query.scan_begun();
        }
        query.reported(report());
        query.reported(report());
        let text = query.look(|found| scans(10, found));
        assert!(text.starts_with(
            "10 rows\n1 scans were cut short, their counts are missing\nfulmar.main.orders: 2 tickets, 2 files opened\n  requests: 6\n"
        ));
        assert!(text.contains("\n  rows_returned: 10\n"), "{text}");
    }

    #[test]
    fn every_skipped_unit_has_its_reason() {
        let why = "order_date >= 2024-03-01, but values are 2024-01-01 to 2024-01-31";
        let expected = [
            format!("file file:///o/1.parquet: bounds: {why}"),
            format!("row group 1 of file:///o/3.parquet: page: {why}"),
            format!(
                "pages 2 to 4 of order_date in row group 0 of file:///o/3.parquet: page: {why}"
            ),
        ];
        let query = Query::new("", "");
        query.planned(plan());
        query.reported(report());
        let lines: Vec<String> = query.look(|found| skipped(found).collect());
        assert_eq!(lines, expected);
    }
}
