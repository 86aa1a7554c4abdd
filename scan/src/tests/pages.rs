#![allow(clippy::single_range_in_vec_init)]

use std::ops::Range;

use model::interval::End;
use model::{Bound, ColumnBounds, Datum, FieldId, Interval, Predicate, ValueSet};

use crate::pages::{ColumnPages, Judge, Judged, Page};
use crate::rows::RowSet;

const A: FieldId = FieldId(1);
const B: FieldId = FieldId(2);

fn bounds(lower: i64, upper: i64, rows: u64) -> ColumnBounds {
    ColumnBounds {
        lower: Some(Bound::exact(Datum::Int(lower))),
        upper: Some(Bound::exact(Datum::Int(upper))),
        null_count: Some(0),
        row_count: Some(rows),
        ..ColumnBounds::default()
    }
}

fn column(field: FieldId, pages: &[(Range<u64>, i64, i64)]) -> ColumnPages {
    let page = |(rows, lower, upper): &(Range<u64>, i64, i64)| Page {
        bounds: bounds(*lower, *upper, rows.end - rows.start),
        rows: rows.clone(),
    };
    ColumnPages {
        field,
        pages: pages.iter().map(page).collect(),
    }
}

fn at_most(field: FieldId, value: i64) -> Predicate {
    let values = Interval::new(End::Unbounded, End::Inclusive(Datum::Int(value)));
    let name = if field == A { "a" } else { "b" };
    Predicate::column(field, name, ValueSet::of(values), false)
}

fn judge(predicate: &Predicate, columns: &[ColumnPages]) -> Judged {
    let judge = Judge {
        rows: 100,
        row_group: &[],
        columns,
    };
    judge.judge(predicate)
}

fn columns() -> [ColumnPages; 2] {
    [
        column(A, &[(0..40, 0, 9), (40..80, 10, 19), (80..100, 20, 29)]),
        column(B, &[(0..50, 5, 6), (50..100, 0, 1)]),
    ]
}

#[test]
fn and_keeps_the_rows_that_every_column_may_pass() {
    let judged = judge(&Predicate::and([at_most(A, 15), at_most(B, 1)]), &columns());
    assert_eq!(judged.may, RowSet::range(50..80));
    assert_eq!(judged.sure, RowSet::empty());
    assert_eq!((judged.considered, judged.skipped), (5, 2));
    let runs = judged
        .runs
        .iter()
        .map(|run| (run.column.as_str(), run.pages.clone()));
    assert_eq!(runs.collect::<Vec<_>>(), [("a", 2..3), ("b", 0..1)]);
}

#[test]
fn or_keeps_the_rows_that_some_column_may_pass() {
    let judged = judge(&Predicate::or([at_most(A, 15), at_most(B, 0)]), &columns());
    assert_eq!(judged.may, RowSet::range(0..100));
    assert_eq!(judged.sure, RowSet::range(0..40));
    assert_eq!(judged.skipped, 0);
    let judged = judge(&Predicate::or([at_most(A, 9), at_most(B, -1)]), &columns());
    assert_eq!(judged.may, RowSet::range(0..40));
    assert_eq!(judged.skipped, 3);
}

#[test]
fn a_column_without_pages_is_judged_by_its_row_group() {
    let known = [(B, bounds(0, 1, 100))];
    let judge = Judge {
        rows: 100,
        row_group: &known,
        columns: &columns()[..1],
    };
    assert_eq!(judge.judge(&at_most(B, 1)).sure, RowSet::range(0..100));
    assert_eq!(judge.judge(&at_most(B, -1)).may, RowSet::empty());
    let both = judge.judge(&Predicate::and([at_most(A, 9), at_most(B, 0)]));
    assert_eq!((both.may, both.skipped), (RowSet::range(0..40), 2));
}

#[test]
fn a_part_that_is_not_understood_keeps_rows_and_proves_none() {
    let judged = judge(
        &Predicate::and([at_most(A, 9), Predicate::Unknown]),
        &columns(),
    );
    assert_eq!(
        (judged.may, judged.sure),
        (RowSet::range(0..40), RowSet::empty())
    );
}

#[test]
fn a_run_ends_where_its_bounds_are_no_reason_any_more() {
    let pages = [
        (0..30, 0, 4),
        (30..60, 1, 3),
        (60..90, 6, 9),
        (90..100, 5, 5),
    ];
    let only_five = Predicate::column(A, "a", ValueSet::points([Datum::Int(5)]), false);
    let judged = judge(&only_five, &[column(A, &pages)]);
    assert_eq!(judged.may, RowSet::range(90..100));
    let runs: Vec<_> = judged
        .runs
        .iter()
        .map(|run| (run.pages.clone(), run.reason.to_string()))
        .collect();
    assert_eq!(
        runs,
        [
            (0..2, "a = 5, but values are 0 to 4".to_owned()),
            (2..3, "a = 5, but values are 6 to 9".to_owned()),
        ]
    );
}
