//! How many rows of a row group are expected to pass, from the bounds of the row group and of its pages.
//! For decisions of cost only. Pure.

use std::ops::Range;

use model::{FieldId, Predicate};

use crate::conjuncts::Estimate;
use crate::pages::ColumnPages;
use crate::row_groups::Known;
use crate::rows::RowSet;

/// What is assumed of a part of the filter that the pruner does not understand.
const UNKNOWN: f64 = 0.3;

/// What is expected of the rows of one row group.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    parts: Vec<Part>,
}

/// A conjunct, and the fraction of rows that is expected to pass it.
#[derive(Clone, Debug)]
struct Part {
    fields: Vec<FieldId>,
    passing: Passing,
}

#[derive(Clone, Debug)]
enum Passing {
    Evenly(f64),
    ByPage(Vec<(Range<u64>, f64)>),
}

impl Expected {
    /// What bounds say: those of pages where there are any, else those of the row group.
    pub(crate) fn of(predicate: &Predicate, known: &Known, pages: &[ColumnPages]) -> Self {
        let conjuncts = predicate.conjuncts();
        let part = |part: &Predicate| Part {
            fields: part.fields(),
            passing: passing(part, known, pages),
        };
        Self {
            parts: conjuncts.iter().map(part).collect(),
        }
    }

    /// The fraction of `rows` that passes all conjuncts.
    pub(crate) fn passing(&self, rows: &Range<u64>) -> f64 {
        self.parts
            .iter()
            .map(|part| part.passing.of(rows))
            .product()
    }

    /// How many of `rows` pass all conjuncts.
    pub(crate) fn rows(&self, rows: &RowSet) -> f64 {
        let runs = rows.ranges().iter();
        runs.map(|run| float(run.end - run.start) * self.passing(run))
            .sum()
    }

    /// The fraction of `rows` that passes the conjuncts on exactly these columns.
    pub(crate) fn passing_of(&self, fields: &[FieldId], rows: &RowSet) -> f64 {
        let same = |part: &&Part| {
            part.fields.len() == fields.len()
                && fields.iter().all(|field| part.fields.contains(field))
        };
        let mut parts = self.parts.iter().filter(same).peekable();
        if parts.peek().is_none() {
            return UNKNOWN;
        }
        parts.map(|part| part.passing.over(rows)).product()
    }

    /// The bytes of pages, or of a whole chunk, in which no row is expected to pass.
    pub(crate) fn spared<'a>(
        &self,
        pages: impl Iterator<Item = (&'a Range<u64>, u64)>,
        wanted: &RowSet,
    ) -> f64 {
        let spared = pages.map(|(rows, bytes)| {
            let inside = wanted.intersect(&RowSet::range(rows.clone()));
            float(bytes) * (-self.rows(&inside)).exp()
        });
        spared.sum()
    }
}

/// What evaluating a part of the filter costs and leaves over some row groups, each with its rows that
/// can match and the bytes of the columns.
pub(crate) fn estimate<'a>(
    row_groups: impl Iterator<Item = (&'a Expected, &'a RowSet, u64)>,
    fields: &[FieldId],
) -> Estimate {
    let (mut rows, mut passing, mut bytes) = (0.0, 0.0, 0.0);
    for (expected, wanted, size) in row_groups {
        let count = float(wanted.count());
        rows += count;
        passing += count * expected.passing_of(fields, wanted);
        bytes += float(size);
    }
    Estimate {
        passing: if rows > 0.0 { passing / rows } else { 1.0 },
        bytes,
    }
}

fn passing(part: &Predicate, known: &Known, pages: &[ColumnPages]) -> Passing {
    let Predicate::Column(column) = part else {
        return Passing::Evenly(part.selectivity(known.as_slice()));
    };
    match pages.iter().find(|pages| pages.field == column.field) {
        None => Passing::Evenly(part.selectivity(known.as_slice())),
        Some(pages) => Passing::ByPage(
            pages
                .pages
                .iter()
                .map(|page| (page.rows.clone(), column.selectivity(&page.bounds)))
                .collect(),
        ),
    }
}

impl Passing {
    fn of(&self, rows: &Range<u64>) -> f64 {
        let pages = match self {
            Self::Evenly(passing) => return *passing,
            Self::ByPage(pages) => pages,
        };
        let first = pages.partition_point(|(page, _)| page.end <= rows.start);
        let here = pages
            .iter()
            .skip(first)
            .take_while(|(page, _)| page.start < rows.end);
        let sum: f64 = here
            .map(|(page, passing)| {
                let inside = page
                    .end
                    .min(rows.end)
                    .saturating_sub(page.start.max(rows.start));
                float(inside) * passing
            })
            .sum();
        sum / float(rows.end - rows.start).max(1.0)
    }

    fn over(&self, rows: &RowSet) -> f64 {
        let sum: f64 = rows
            .ranges()
            .iter()
            .map(|run| float(run.end - run.start) * self.of(run))
            .sum();
        sum / float(rows.count()).max(1.0)
    }
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use model::interval::End;
    use model::{Bound, ColumnBounds, Datum, Interval, ValueSet};

    use super::*;
    use crate::pages::Page;

    const A: FieldId = FieldId(1);
    const B: FieldId = FieldId(2);

    fn bounds(lower: i64, upper: i64) -> ColumnBounds {
        ColumnBounds {
            lower: Some(Bound::exact(Datum::Int(lower))),
            upper: Some(Bound::exact(Datum::Int(upper))),
            null_count: Some(0),
            ..ColumnBounds::default()
        }
    }

    fn between(field: FieldId, lower: i64, upper: i64) -> Predicate {
        let values = Interval::new(
            End::Inclusive(Datum::Int(lower)),
            End::Inclusive(Datum::Int(upper)),
        );
        Predicate::column(field, "x", ValueSet::of(values), false)
    }

    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
    }

    #[test]
    fn pages_tell_where_rows_pass_and_row_groups_only_how_many() {
        let pages = [(0..100, bounds(0, 99)), (100..200, bounds(100, 199))];
        let pages = pages.map(|(rows, bounds)| Page { rows, bounds });
        let pages = [ColumnPages {
            field: A,
            pages: pages.to_vec(),
        }];
        let known = vec![(A, bounds(0, 199)), (B, bounds(0, 9))];
        let predicate = Predicate::and([between(A, 150, 299), between(B, 0, 0)]);
        let expected = Expected::of(&predicate, &known, &pages);
        near(expected.passing(&(0..100)), 0.0);
        near(expected.passing(&(100..200)), 0.05);
        near(expected.passing(&(50..150)), 0.025);
        near(expected.passing_of(&[A], &RowSet::range(0..200)), 0.25);
        near(expected.passing_of(&[B], &RowSet::range(0..10)), 0.1);
        near(expected.passing_of(&[A, B], &RowSet::range(0..10)), UNKNOWN);
    }

    #[test]
    fn pages_are_spared_where_no_row_is_expected() {
        let known = vec![(A, bounds(0, 999))];
        let expected = Expected::of(&between(A, 5, 5), &known, &[]);
        let wanted = RowSet::of([0..1_000, 2_000..2_010]);
        let pages = [(0..1_000, 100), (1_000..2_000, 100), (2_000..3_000, 100)];
        let spared = expected.spared(pages.iter().map(|(rows, bytes)| (rows, *bytes)), &wanted);
        near(
            spared,
            100.0 * (-1.0f64).exp() + 100.0 + 100.0 * (-0.01f64).exp(),
        );
    }
}
