//! Which rows of a row group can match, judged page by page. Pure: pages and their bounds in, rows out.
//!
//! A test of one column marks the rows of the pages that may match and of those that surely do. AND
//! intersects such sets and OR unites them, so columns need not share page boundaries. A column
//! without a column index is judged once, by the bounds of the row group.

use std::borrow::Cow;
use std::ops::Range;

use model::{
    ColumnBounds, ColumnPredicate, FieldId, Level, Predicate, Reason, StatsSource, Verdict,
};
use store::fold::fold;

use crate::rows::RowSet;

/// The pages of one column in one row group; they cover its rows in order.
#[derive(Clone, Debug)]
pub(crate) struct ColumnPages {
    pub(crate) field: FieldId,
    pub(crate) pages: Vec<Page>,
}

/// One page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) rows: Range<u64>,
    pub(crate) bounds: ColumnBounds,
}

/// What the pages of a row group say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// The rows that may match.
    pub(crate) may: RowSet,
    /// The rows that surely match.
    pub(crate) sure: RowSet,
    /// Pages that were judged.
    pub(crate) considered: u64,
    /// Pages that no row of the filter can be in.
    pub(crate) skipped: u64,
    /// Runs of skipped pages.
    pub(crate) runs: Vec<Run>,
}

/// Consecutive pages of one column, skipped for the same conjunct.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) column: String,
    pub(crate) pages: Range<usize>,
    pub(crate) rows: Range<u64>,
    pub(crate) reason: Reason,
}

/// The pages of a row group of `rows` rows, and what is known of it as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'a> {
    pub(crate) rows: u64,
    pub(crate) row_group: &'a [(FieldId, ColumnBounds)],
    pub(crate) columns: &'a [ColumnPages],
}

impl Judge<'_> {
    /// Which rows can match.
    pub(crate) fn judge(&self, predicate: &Predicate) -> Judged {
        let conjuncts = match predicate {
            Predicate::And(parts) => parts.as_slice(),
            only => std::slice::from_ref(only),
        };
        let everything = RowSet::range(0..self.rows);
        let mut judged = Judged {
            may: everything.clone(),
            sure: everything,
            considered: self
                .columns
                .iter()
                .map(|column| column.pages.len() as u64)
                .sum(),
            skipped: 0,
            runs: Vec::new(),
        };
        let mut skipped: Vec<Vec<bool>> = self
            .columns
            .iter()
            .map(|column| vec![false; column.pages.len()])
            .collect();
        for conjunct in conjuncts {
            let (may, sure) = self.rows_of(conjunct);
            for (column, skipped) in self.columns.iter().zip(&mut skipped) {
                if conjunct.fields().contains(&column.field) {
                    judged
                        .runs
                        .extend(self.runs(conjunct, column, &may, skipped));
                }
            }
            judged.may = judged.may.intersect(&may);
            judged.sure = judged.sure.intersect(&sure);
        }
        judged.skipped = skipped.iter().flatten().filter(|skipped| **skipped).count() as u64;
        judged
    }

    /// The rows that may match and those that surely do.
    fn rows_of(&self, predicate: &Predicate) -> (RowSet, RowSet) {
        let everything = || RowSet::range(0..self.rows);
        match predicate {
            Predicate::Always => (everything(), everything()),
            Predicate::Never => (RowSet::empty(), RowSet::empty()),
            Predicate::Unknown => (everything(), RowSet::empty()),
            Predicate::Column(column) => self.rows_of_column(column),
            Predicate::And(parts) => {
                parts
                    .iter()
                    .fold((everything(), everything()), |(may, sure), part| {
                        let (part_may, part_sure) = self.rows_of(part);
                        (may.intersect(&part_may), sure.intersect(&part_sure))
                    })
            }
            Predicate::Or(parts) => {
                parts
                    .iter()
                    .fold((RowSet::empty(), RowSet::empty()), |(may, sure), part| {
                        let (part_may, part_sure) = self.rows_of(part);
                        (may.union(&part_may), sure.union(&part_sure))
                    })
            }
        }
    }

    fn rows_of_column(&self, column: &ColumnPredicate) -> (RowSet, RowSet) {
        let Some(pages) = self.pages_of(column.field) else {
            let bounds = self.row_group.bounds(column.field);
            let verdict = bounds.map_or(Verdict::Some, |bounds| column.verdict(&bounds));
            let rows = |included| {
                if included {
                    RowSet::range(0..self.rows)
                } else {
                    RowSet::empty()
                }
            };
            return (
                rows(verdict != Verdict::None),
                rows(verdict == Verdict::All),
            );
        };
        let judged: Vec<_> = pages
            .iter()
            .map(|page| (page.rows.clone(), column.verdict(&page.bounds)))
            .collect();
        let rows = |included: fn(Verdict) -> bool| {
            let pages = judged.iter().filter(|(_, verdict)| included(*verdict));
            RowSet::of(pages.map(|(rows, _)| rows.clone()))
        };
        (
            rows(|verdict| verdict != Verdict::None),
            rows(|verdict| verdict == Verdict::All),
        )
    }

    fn pages_of(&self, field: FieldId) -> Option<&[Page]> {
        let column = self.columns.iter().find(|column| column.field == field)?;
        Some(&column.pages)
    }

    /// The runs of pages of one column of which the conjunct leaves no row, without those that an
    /// earlier conjunct ruled out. A run ends where its common bounds would no longer be a reason.
    fn runs(
        &self,
        conjunct: &Predicate,
        column: &ColumnPages,
        may: &RowSet,
        skipped: &mut [bool],
    ) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (number, (page, skipped)) in column.pages.iter().zip(skipped).enumerate() {
            if *skipped || page.rows.is_empty() || may.overlaps(&page.rows) {
                continue;
            }
            *skipped = true;
            if let Some(last) = runs.last_mut()
                && last.pages.end == number
                && let Some(reason) =
                    self.refutation(conjunct, column, &(last.rows.start..page.rows.end))
            {
                last.pages.end = number + 1;
                last.rows.end = page.rows.end;
                last.reason = reason;
                continue;
            }
            runs.push(Run {
                column: name_of(conjunct, column.field)
                    .unwrap_or_default()
                    .to_owned(),
                pages: number..number + 1,
                rows: page.rows.clone(),
                reason: self
                    .refutation(conjunct, column, &page.rows)
                    .unwrap_or_else(|| own_reason(conjunct, column.field, &page.bounds)),
            });
        }
        runs
    }

    /// Why the conjunct holds in none of `rows`, as far as the bounds over all of them tell.
    fn refutation(
        &self,
        conjunct: &Predicate,
        column: &ColumnPages,
        rows: &Range<u64>,
    ) -> Option<Reason> {
        let over = OverRows { judge: self, rows };
        let reason = conjunct.refutation(&over, Level::Page)?;
        let name = name_of(conjunct, column.field)?;
        let own = reason
            .conditions
            .iter()
            .any(|condition| condition.column == name);
        own.then_some(reason)
    }
}

/// What is known of columns over some rows: the bounds of all pages that hold one of them.
struct OverRows<'a> {
    judge: &'a Judge<'a>,
    rows: &'a Range<u64>,
}

impl StatsSource for OverRows<'_> {
    fn bounds(&self, field: FieldId) -> Option<Cow<'_, ColumnBounds>> {
        let Some(pages) = self.judge.pages_of(field) else {
            return self.judge.row_group.bounds(field);
        };
        let first = pages.partition_point(|page| page.rows.end <= self.rows.start);
        let here = pages.get(first..)?.iter();
        let here = here.take_while(|page| page.rows.start < self.rows.end);
        Some(Cow::Owned(fold(here.map(|page| page.bounds.clone()))))
    }
}

/// The name of a column that the predicate tests.
fn name_of(predicate: &Predicate, field: FieldId) -> Option<&str> {
    match predicate {
        Predicate::Column(column) => (column.field == field).then_some(column.name.as_str()),
        Predicate::And(parts) | Predicate::Or(parts) => {
            parts.iter().find_map(|part| name_of(part, field))
        }
        Predicate::Always | Predicate::Never | Predicate::Unknown => None,
    }
}

/// The reason when only several pages of other columns together rule the page out.
fn own_reason(conjunct: &Predicate, field: FieldId, bounds: &ColumnBounds) -> Reason {
    let mut reason = Reason::at(Level::Page);
    collect_tests(conjunct, field, bounds, &mut reason);
    reason
}

fn collect_tests(
    predicate: &Predicate,
    field: FieldId,
    bounds: &ColumnBounds,
    found: &mut Reason,
) {
    match predicate {
        Predicate::Column(column) if column.field == field => {
            found.refuted(column, bounds);
        }
        Predicate::And(parts) | Predicate::Or(parts) => {
            for part in parts {
                collect_tests(part, field, bounds, found);
            }
        }
        _ => {}
    }
}
