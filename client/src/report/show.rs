//! The report as text: one line for each kind of count, with the reasons below.

use std::fmt::{self, Write as _};

use model::SkippedUnit;

use super::skips::{SkipGroup, Unit, group, short_names};
use super::{Plan, QueryReport};
use crate::text::{bytes, count, counted, duration, percent};

/// How many groups of reasons are shown for one kind of unit.
const GROUPS: usize = 4;

impl fmt::Display for QueryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(query_id) = &self.query_id {
            writeln!(f, "query {query_id}")?;
        }
        self.files(f)?;
        self.tickets(f)?;
        if self.scans > 0 {
            self.row_groups(f)?;
            self.pages(f)?;
            self.reads(f)?;
        }
        self.rows_and_time(f)
    }
}

impl QueryReport {
    fn files(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        if plan.files_total == 0 {
            return Ok(());
        }
        let left = plan.files_total.saturating_sub(plan.files_skipped());
        let text = match plan.files_skipped() {
            0 => format!("{}, none ruled out", count(plan.files_total)),
            skipped => format!(
                "{}: {}, {} left",
                count(plan.files_total),
                levels(plan, skipped),
                count(left)
            ),
        };
        line(f, "files", &text)?;
        groups(f, &group(self.file_units()), plan.files_skipped())
    }

    fn file_units(&self) -> Vec<Unit> {
        let paths: Vec<&str> = self.files_skipped.iter().map(|s| s.path.as_str()).collect();
        let named = short_names(&paths).into_iter().zip(&self.files_skipped);
        let units = named.map(|(name, skip)| Unit {
            name: name.to_owned(),
            level: skip.level.clone(),
            reason: skip.reason.clone(),
            units: 1,
        });
        units.collect()
    }

    fn tickets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.servers.as_slice() {
            [] => count(self.tickets),
            [server] => format!("{} on {server}", count(self.tickets.max(self.scans))),
            servers => {
                let servers = counted(servers.len() as u64, "server");
                format!("{} on {servers}", count(self.tickets.max(self.scans)))
            }
        };
        line(f, "tickets", &text)
    }

    fn row_groups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let mut parts = Vec::new();
        add(
            &mut parts,
            counts.row_groups_skipped_statistics,
            "ruled out by statistics",
        );
        add(
            &mut parts,
            counts.row_groups_skipped_pages,
            "ruled out by their pages",
        );
        parts.push(format!("{} read", count(counts.row_groups_read)));
        add(
            &mut parts,
            counts.row_groups_fully_matched,
            "without filtering",
        );
        let text = format!("{}: {}", count(counts.row_groups_total), parts.join(", "));
        line(f, "row groups", &text)?;
        let units = self.units(|unit| matches!(unit, SkippedUnit::RowGroup { .. }));
        groups(f, &group(units), counts.row_groups_skipped_statistics)
    }

    fn pages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        if counts.pages_considered == 0 && counts.pages_read == 0 {
            // Without a filter or without a page index nobody looked at pages.
            return Ok(());
        }
        let text = format!(
            "{} of the filter: {} ruled out; {} of all columns read",
            count(counts.pages_considered),
            count(counts.pages_skipped),
            count(counts.pages_read)
        );
        line(f, "pages", &text)?;
        let units = self.units(|unit| matches!(unit, SkippedUnit::Pages { .. }));
        groups(f, &group(units), counts.pages_skipped)
    }

    fn units(&self, wanted: impl Fn(&SkippedUnit) -> bool) -> Vec<Unit> {
        let skips: Vec<_> = self
            .skips
            .iter()
            .filter(|skip| wanted(&skip.unit))
            .collect();
        let paths: Vec<&str> = skips.iter().map(|skip| skip.path.as_str()).collect();
        let named = short_names(&paths).into_iter().zip(skips);
        let units = named.map(|(name, skip)| {
            let (part, units) = unit_name(&skip.unit);
            Unit {
                name: format!("{name} {part}"),
                level: skip.reason.level.to_string(),
                reason: skip.reason.to_string(),
                units,
            }
        });
        units.collect()
    }

    fn reads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let mut requests = format!(
            "{} in {}",
            count(counts.requests),
            counted(counts.waves, "wave")
        );
        if counts.retries > 0 {
            write!(requests, ", {} of them again", count(counts.retries))?;
        }
        line(f, "requests", &requests)?;
        let mut fetched = format!(
            "{} fetched, {} needed",
            bytes(counts.bytes_fetched),
            bytes(counts.bytes_needed)
        );
        if counts.bytes_dictionaries > 0 {
            let dictionaries = bytes(counts.bytes_dictionaries);
            write!(fetched, " ({dictionaries} of dictionaries)")?;
        }
        if self.plan.bytes_total > 0 {
            write!(
                fetched,
                "; {} of the table's {}",
                percent(counts.bytes_fetched, self.plan.bytes_total),
                bytes(self.plan.bytes_total)
            )?;
        }
        line(f, "bytes", &fetched)
    }

    fn rows_and_time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = count(self.rows);
        if self.scans > 0 {
            rows = format!(
                "{rows}; scans returned {} of {} decoded, the files hold {}",
                count(self.counts.rows_returned),
                count(self.counts.rows_decoded),
                count(self.counts.rows_in_file)
            );
        }
        line(f, "rows", &rows)?;
        let mut times = Vec::new();
        if self.plan.plan_ms > 0 {
            times.push(format!("planned in {} ms", count(self.plan.plan_ms)));
        }
        if let Some(first) = self.first_rows {
            times.push(format!("first rows after {}", duration(first)));
        }
        times.push(format!("all after {}", duration(self.elapsed)));
        line(f, "time", &times.join(", "))
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    writeln!(f, "  {name:<11} {text}")
}

fn add(parts: &mut Vec<String>, number: u64, text: &str) {
    if number > 0 {
        parts.push(format!("{} {text}", count(number)));
    }
}

/// `11 ruled out by bounds`, or each level with its count when there are several.
fn levels(plan: &Plan, skipped: u64) -> String {
    let levels = [
        (plan.skipped_by_partition, "by partition"),
        (plan.skipped_by_manifest, "by manifest"),
        (plan.skipped_by_bounds, "by bounds"),
    ];
    let mut parts = Vec::new();
    for (number, level) in levels {
        if number == skipped {
            return format!("{} ruled out {level}", count(skipped));
        }
        add(&mut parts, number, level);
    }
    format!("{} ruled out ({})", count(skipped), parts.join(", "))
}

/// What a unit is within its file, and how many units it stands for.
fn unit_name(unit: &SkippedUnit) -> (String, u64) {
    match unit {
        SkippedUnit::File => (String::new(), 1),
        SkippedUnit::RowGroup { row_group } => (format!("row group {row_group}"), 1),
        SkippedUnit::Pages {
            row_group,
            first_page,
            pages,
            ..
        } => {
            let last = first_page + pages.saturating_sub(1);
            let range = if *pages == 1 {
                format!("page {first_page}")
            } else {
                format!("pages {first_page} to {last}")
            };
            (format!("row group {row_group} {range}"), *pages)
        }
    }
}

/// The reasons below a line: each group, its first units, and how many more there are.
fn groups(f: &mut fmt::Formatter<'_>, groups: &[SkipGroup], total: u64) -> fmt::Result {
    for group in groups.iter().take(GROUPS) {
        writeln!(f, "{:16}{} × {}", "", count(group.units), group.test)?;
        let width = group.named.iter().map(|(name, _)| name.chars().count());
        let width = width.max().unwrap_or_default();
        for (name, seen) in &group.named {
            let text = format!("{:18}{name:<width$}  {seen}", "");
            writeln!(f, "{}", text.trim_end())?;
        }
        let more = group.units.saturating_sub(group.named.len() as u64);
        if more > 0 && !is_pages(group) {
            writeln!(f, "{:18}… {} more", "", count(more))?;
        }
    }
    let shown: u64 = groups.iter().take(GROUPS).map(|group| group.units).sum();
    if groups.len() > GROUPS && total > shown {
        writeln!(
            f,
            "{:16}… {} more for other reasons",
            "",
            count(total - shown)
        )?;
    }
    Ok(())
}

/// Pages come in runs, so that what is named is not a number of units.
fn is_pages(group: &SkipGroup) -> bool {
    group.level == "page"
}
