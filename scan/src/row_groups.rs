//! Which row groups can match, judged by their statistics. Pure: a footer in, verdicts out.

use std::borrow::Cow;
use std::ops::Range;

use model::{
    ColumnBounds, FieldId, Level, Predicate, ScanTask, Skip, SkippedUnit, StatsSource, Verdict,
};
use store::bounds::row_group_bounds;
use store::columns::FileColumns;

use crate::layout::Constants;
use crate::opened::OpenedFile;

/// What is known of the columns of a predicate in some rows of one file.
pub(crate) type Known = Vec<(FieldId, ColumnBounds)>;

/// A row group that its statistics did not rule out.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) row_group: usize,
    /// Its rows.
    pub(crate) rows: u64,
    /// Of those, the rows that belong to the task.
    pub(crate) within: Range<u64>,
    /// What is known of the predicate's columns.
    pub(crate) known: Known,
    /// Whether every row surely matches.
    pub(crate) sure: bool,
}

/// What the statistics of row groups say.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) skips: Vec<Skip>,
    /// Row groups and rows that belong to the task.
    pub(crate) row_groups: u64,
    pub(crate) rows: u64,
}

/// Judges the row groups that hold rows of the task.
pub(crate) fn judge(
    file: &OpenedFile,
    columns: &FileColumns,
    predicate: &Predicate,
    task: &ScanTask,
) -> Judged {
    let fields = predicate.fields();
    let tested = only(columns, &fields);
    let mut judged = Judged::default();
    let mut first = 0;
    for row_group in 0..file.metadata().num_row_groups() {
        let rows = file.rows(row_group);
        let within = within(task, first..first + rows);
        first += rows;
        if within.is_empty() {
            continue;
        }
        judged.row_groups += 1;
        judged.rows += within.end - within.start;
        let known = known(file, row_group, &tested, &fields, Constants::of(task));
        let verdict = predicate.verdict(known.as_slice());
        let refutation = (verdict == Verdict::None)
            .then(|| predicate.refutation(known.as_slice(), Level::RowGroup))
            .flatten();
        match refutation {
            Some(reason) => judged.skips.push(Skip {
                path: file.path().to_owned(),
                unit: SkippedUnit::RowGroup {
                    row_group: row_group as u64,
                },
                rows: Some(within.end - within.start),
                reason,
            }),
            None => judged.candidates.push(Candidate {
                row_group,
                rows,
                within,
                sure: verdict == Verdict::All,
                known,
            }),
        }
    }
    judged
}

/// The candidates that a limit needs: those that surely match are counted, and the rest is left out.
pub(crate) fn enough(candidates: Vec<Candidate>, limit: Option<u64>) -> Vec<Candidate> {
    let Some(mut left) = limit else {
        return candidates;
    };
    let mut needed = Vec::new();
    for mut candidate in candidates {
        if left == 0 {
            break;
        }
        if candidate.sure {
            let rows = left.min(candidate.within.end - candidate.within.start);
            candidate.within.end = candidate.within.start + rows;
            left -= rows;
        }
        needed.push(candidate);
    }
    needed
}

/// The rows of a row group that belong to the task, counted from its first.
fn within(task: &ScanTask, rows: Range<u64>) -> Range<u64> {
    let wanted = task.rows.map_or(0..u64::MAX, |rows| rows.start..rows.end);
    let start = wanted.start.clamp(rows.start, rows.end);
    let end = wanted.end.clamp(start, rows.end);
    start - rows.start..end - rows.start
}

/// The file's columns without those that the predicate does not test.
fn only(columns: &FileColumns, fields: &[FieldId]) -> FileColumns {
    let tested = columns
        .columns
        .iter()
        .map(|column| column.clone().filter(|column| fields.contains(&column.id)));
    FileColumns {
        schema: columns.schema.clone(),
        columns: tested.collect(),
    }
}

/// What is known of the tested columns in a row group: partition values and columns that the file lacks
/// are the same in all its rows.
fn known(
    file: &OpenedFile,
    row_group: usize,
    tested: &FileColumns,
    fields: &[FieldId],
    constants: Constants<'_>,
) -> Known {
    let stored = row_group_bounds(file.metadata(), row_group, tested);
    let bounds = fields.iter().filter_map(|field| {
        let bounds = match constants.get(*field) {
            Some(constant) => ColumnBounds::constant(constant.value.clone()),
            None if tested.find(*field).is_none() => ColumnBounds::constant(None),
            None => stored.as_slice().bounds(*field).map(Cow::into_owned)?,
        };
        Some((*field, bounds))
    });
    bounds.collect()
}
