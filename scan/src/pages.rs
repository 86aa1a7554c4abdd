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
use store::fold::Folded;

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
        let conjuncts = predicate.conjuncts();
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
                judged
                    .runs
                    .extend(self.runs(conjunct, column, &may, skipped));
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
        let Some(name) = name_of(conjunct, column.field) else {
            return Vec::new();
        };
        let mut runs: Vec<Run> = Vec::new();
        let mut over = OverRows::none(self);
        for (number, (page, skipped)) in column.pages.iter().zip(skipped).enumerate() {
            if *skipped || page.rows.is_empty() || may.overlaps(&page.rows) {
                continue;
            }
            *skipped = true;
            if let Some(last) = runs.last_mut()
                && last.pages.end == number
            {
                over.grow(page.rows.end);
                if let Some(reason) = over.refutation(conjunct, name) {
                    last.pages.end = number + 1;
                    last.rows.end = page.rows.end;
                    last.reason = reason;
                    continue;
                }
            }
            over = OverRows::of(self, conjunct, &page.rows);
            runs.push(Run {
                column: name.to_owned(),
                pages: number..number + 1,
                rows: page.rows.clone(),
                reason: over
                    .refutation(conjunct, name)
                    .unwrap_or_else(|| own_reason(conjunct, column.field, &page.bounds)),
            });
        }
        runs
    }
}

/// What is known of a conjunct's columns over some rows: the bounds of all pages that hold one of them.
struct OverRows<'a> {
    judge: &'a Judge<'a>,
    columns: Vec<OverPages<'a>>,
}

/// What is known of one column over the pages so far.
struct OverPages<'a> {
    field: FieldId,
    bounds: Folded,
    /// The pages that are not among them yet.
    after: &'a [Page],
}

impl<'a> OverRows<'a> {
    fn none(judge: &'a Judge<'a>) -> Self {
        let columns = Vec::new();
        Self { judge, columns }
    }

    fn of(judge: &'a Judge<'a>, conjunct: &Predicate, rows: &Range<u64>) -> Self {
        let columns = conjunct.fields().into_iter().filter_map(|field| {
            let pages = judge.pages_of(field)?;
            let first = pages.partition_point(|page| page.rows.end <= rows.start);
            Some(OverPages {
                field,
                bounds: Folded::default(),
                after: pages.get(first..)?,
            })
        });
        let columns = columns.collect();
        let mut over = Self { judge, columns };
        over.grow(rows.end);
        over
    }

    /// The same with the rows up to `end`.
    fn grow(&mut self, end: u64) {
        for column in &mut self.columns {
            while let Some((page, after)) = column.after.split_first()
                && page.rows.start < end
            {
                column.bounds.add(&page.bounds);
                column.after = after;
            }
        }
    }

    /// Why the conjunct holds in none of the rows, as far as the bounds over all of them tell, if the
    /// column of this name has to do with it.
    fn refutation(&self, conjunct: &Predicate, name: &str) -> Option<Reason> {
        let reason = conjunct.refutation(self, Level::Page)?;
        let own = reason
            .conditions
            .iter()
            .any(|condition| condition.column == name);
        own.then_some(reason)
    }
}

impl StatsSource for OverRows<'_> {
    fn bounds(&self, field: FieldId) -> Option<Cow<'_, ColumnBounds>> {
        match self.columns.iter().find(|column| column.field == field) {
            Some(column) => Some(Cow::Owned(column.bounds.bounds())),
            None => self.judge.row_group.bounds(field),
        }
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

fn collect_tests(predicate: &Predicate, field: FieldId, bounds: &ColumnBounds, found: &mut Reason) {
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
