//! The evaluator against the rows themselves: whatever statistics are given or withheld, `None` means
//! that no row passes and `All` that every row does.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::struct_excessive_bools
)]

use std::borrow::Cow;
use std::cmp::Ordering;

use fulmar_model::interval::End;
use fulmar_model::{
    Bound, ColumnBounds, ColumnPredicate, Datum, FieldId, Interval, Level, Predicate, StatsSource,
    ValueSet, Verdict,
};
use proptest::prelude::*;

/// A row of two nullable columns, `x` an integer and `f` a float.
type Row = (Option<i64>, Option<f64>);

const X: FieldId = FieldId(1);
const F: FieldId = FieldId(2);

/// Which statistics the source withholds, and whether bounds are loosened as by truncation.
#[derive(Clone, Copy, Debug)]
struct Gaps {
    lower: bool,
    upper: bool,
    nulls: bool,
    nans: bool,
    rows: bool,
    loose: bool,
}

struct Stats {
    columns: Vec<(FieldId, ColumnBounds)>,
}

impl StatsSource for Stats {
    fn bounds(&self, field: FieldId) -> Option<Cow<'_, ColumnBounds>> {
        self.columns.as_slice().bounds(field)
    }
}

fn stats(rows: &[Row], gaps: Gaps) -> Stats {
    let ints = rows
        .iter()
        .map(|row| row.0.map(Datum::Int))
        .collect::<Vec<_>>();
    let floats = rows
        .iter()
        .map(|row| row.1.map(Datum::Float))
        .collect::<Vec<_>>();
    Stats {
        columns: vec![
            (X, column_stats(&ints, gaps)),
            (F, column_stats(&floats, gaps)),
        ],
    }
}

fn column_stats(values: &[Option<Datum>], gaps: Gaps) -> ColumnBounds {
    let present: Vec<&Datum> = values.iter().flatten().collect();
    let ordinary = || present.iter().filter(|datum| !datum.is_nan()).copied();
    let order = |a: &&Datum, b: &&Datum| a.compare(b).unwrap_or(Ordering::Equal);
    let bound = |datum: &Datum, step: f64| match (datum, gaps.loose) {
        (datum, false) => Bound::exact(datum.clone()),
        (Datum::Float(value), true) => Bound::outer(Datum::Float(value + step)),
        (Datum::Int(value), true) => Bound::outer(Datum::Int(value + step.signum() as i64)),
        (datum, true) => Bound::outer(datum.clone()),
    };
    let count = |n: usize| u64::try_from(n).unwrap();
    ColumnBounds {
        lower: ordinary()
            .min_by(order)
            .filter(|_| !gaps.lower)
            .map(|low| bound(low, -0.5)),
        upper: ordinary()
            .max_by(order)
            .filter(|_| !gaps.upper)
            .map(|high| bound(high, 0.5)),
        null_count: (!gaps.nulls).then(|| count(values.len() - present.len())),
        nan_count: (!gaps.nans).then(|| count(present.iter().filter(|d| d.is_nan()).count())),
        row_count: (!gaps.rows).then(|| count(values.len())),
    }
}

/// Whether the row passes, decided value by value.
fn passes(predicate: &Predicate, row: Row) -> bool {
    match predicate {
        Predicate::Always => true,
        Predicate::Never => false,
        Predicate::Unknown => unreachable!("not generated"),
        Predicate::Column(column) => {
            let value = if column.field == X {
                row.0.map(Datum::Int)
            } else {
                row.1.map(Datum::Float)
            };
            value.map_or(column.nulls, |value| contains(&column.values, &value))
        }
        Predicate::And(parts) => parts.iter().all(|part| passes(part, row)),
        Predicate::Or(parts) => parts.iter().any(|part| passes(part, row)),
    }
}

fn contains(set: &ValueSet, value: &Datum) -> bool {
    let inside = |end: &End, outward: Ordering| match end {
        End::Unbounded => true,
        End::Inclusive(limit) => value.compare(limit) != Some(outward),
        End::Exclusive(limit) => value.compare(limit) == Some(outward.reverse()),
    };
    set.intervals().iter().any(|interval| {
        inside(interval.lower(), Ordering::Less) && inside(interval.upper(), Ordering::Greater)
    })
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-3_i8..4).prop_map(f64::from),
        1 => Just(f64::NAN),
        1 => Just(-f64::NAN),
        1 => Just(-0.0),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
    ]
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (prop::option::of(-3_i64..4), prop::option::of(float()));
    prop::collection::vec(row, 1..6)
}

fn end(literal: impl Strategy<Value = Datum> + Clone) -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Unbounded),
        literal.clone().prop_map(End::Inclusive),
        literal.prop_map(End::Exclusive),
    ]
}

fn leaf() -> impl Strategy<Value = Predicate> {
    let test = |field: FieldId, literal: BoxedStrategy<Datum>| {
        let range = (end(literal.clone()), end(literal.clone()))
            .prop_map(|(lower, upper)| ValueSet::of(Interval::new(lower, upper)));
        let listed = prop::collection::vec(literal, 1..4);
        let set = prop_oneof![
            range,
            listed.clone().prop_map(ValueSet::points),
            listed.prop_map(|values| ValueSet::except(values).unwrap()),
            Just(ValueSet::empty()),
        ];
        (set, any::<bool>()).prop_map(move |(set, nulls)| Predicate::column(field, "c", set, nulls))
    };
    prop_oneof![
        test(X, (-4_i64..5).prop_map(Datum::Int).boxed()),
        test(F, float().prop_map(Datum::Float).boxed()),
    ]
}

fn predicate() -> impl Strategy<Value = Predicate> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        let parts = prop::collection::vec(inner, 1..4);
        prop_oneof![
            parts.clone().prop_map(Predicate::and),
            parts.prop_map(Predicate::or)
        ]
    })
}

fn gaps() -> impl Strategy<Value = Gaps> {
    any::<[bool; 6]>().prop_map(|[lower, upper, nulls, nans, rows, loose]| Gaps {
        lower,
        upper,
        nulls,
        nans,
        rows,
        loose,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_verdict_never_contradicts_the_rows(
        rows in rows(),
        predicate in predicate(),
        gaps in gaps(),
    ) {
        let passing = rows.iter().filter(|row| passes(&predicate, **row)).count();
        match predicate.verdict(&stats(&rows, gaps)) {
            Verdict::None => prop_assert_eq!(passing, 0),
            Verdict::All => prop_assert_eq!(passing, rows.len()),
            Verdict::Some => {}
        }
    }

    #[test]
    fn a_refutation_is_given_exactly_when_nothing_can_match(
        rows in rows(),
        predicate in predicate(),
        gaps in gaps(),
    ) {
        let stats = stats(&rows, gaps);
        let refuted = predicate.refutation(&stats, Level::Bounds).is_some();
        prop_assert_eq!(refuted, predicate.verdict(&stats) == Verdict::None);
    }
}

fn int_test(set: ValueSet, nulls: bool) -> ColumnPredicate {
    ColumnPredicate {
        field: X,
        name: "x".to_owned(),
        values: set,
        nulls,
    }
}

fn bounds(lower: i64, upper: i64, nulls: Option<u64>) -> ColumnBounds {
    ColumnBounds {
        lower: Some(Bound::exact(Datum::Int(lower))),
        upper: Some(Bound::exact(Datum::Int(upper))),
        null_count: nulls,
        nan_count: None,
        row_count: Some(10),
    }
}

#[test]
fn complete_statistics_decide_what_they_can() {
    let above = |value| {
        ValueSet::of(Interval::new(
            End::Exclusive(Datum::Int(value)),
            End::Unbounded,
        ))
    };
    let cases = [
        (
            int_test(above(20), false),
            bounds(1, 20, Some(0)),
            Verdict::None,
        ),
        (
            int_test(above(19), false),
            bounds(1, 20, Some(0)),
            Verdict::Some,
        ),
        (
            int_test(above(0), false),
            bounds(1, 20, Some(0)),
            Verdict::All,
        ),
        (
            int_test(above(0), false),
            bounds(1, 20, Some(3)),
            Verdict::Some,
        ),
        (
            int_test(above(0), false),
            bounds(1, 20, None),
            Verdict::Some,
        ),
        (
            int_test(ValueSet::empty(), true),
            bounds(1, 20, Some(0)),
            Verdict::None,
        ),
        (
            int_test(ValueSet::empty(), true),
            bounds(1, 20, None),
            Verdict::Some,
        ),
        (
            int_test(ValueSet::empty(), true),
            bounds(1, 20, Some(10)),
            Verdict::All,
        ),
        (
            int_test(ValueSet::everything(), false),
            bounds(1, 20, Some(0)),
            Verdict::All,
        ),
        (
            int_test(ValueSet::everything(), false),
            bounds(1, 20, Some(10)),
            Verdict::None,
        ),
    ];
    for (test, bounds, verdict) in cases {
        assert_eq!(test.verdict(&bounds), verdict, "{test:?} over {bounds:?}");
    }
}

#[test]
fn comparisons_on_one_column_are_intersected_before_they_are_judged() {
    let test =
        |lower, upper| Predicate::column(X, "x", ValueSet::of(Interval::new(lower, upper)), false);
    let above = test(End::Exclusive(Datum::Int(5)), End::Unbounded);
    let below = test(End::Unbounded, End::Exclusive(Datum::Int(6)));
    assert_eq!(Predicate::and([above, below]), Predicate::Never);
}

#[test]
fn values_that_do_not_compare_are_tested_one_by_one() {
    let at_least = |limit: Datum| {
        let values = ValueSet::of(Interval::new(End::Inclusive(limit), End::Unbounded));
        Predicate::column(X, "x", values, false)
    };
    let both = Predicate::and([at_least(Datum::Int(5)), at_least(Datum::Date(5))]);
    let over = |lower, upper| [(X, bounds(lower, upper, Some(0)))];
    assert_eq!(both.verdict(&over(1, 4)[..]), Verdict::None);
    assert_eq!(both.verdict(&over(6, 9)[..]), Verdict::Some);
}

#[test]
fn ranges_that_overlap_do_not_multiply() {
    let decades = |shift: i64| {
        let range = |n: i64| {
            Interval::new(
                End::Inclusive(Datum::Int(10 * n + shift)),
                End::Exclusive(Datum::Int(10 * n + shift + 6)),
            )
        };
        Predicate::column(X, "x", ValueSet::of((0..1_000).filter_map(range)), false)
    };
    let all = Predicate::and((0..6).map(decades));
    let Predicate::Column(test) = all else {
        unreachable!("tests of one column are one");
    };
    assert_eq!(test.values.intervals().len(), 1_000);
    assert_eq!(test.values.intervals()[3].to_string(), "= 35");
}

#[test]
fn very_long_lists_are_judged_by_their_ends() {
    let list = ValueSet::points((0..20_000).map(|n| Datum::Int(2 * n)));
    let listed = Predicate::column(X, "x", list, false);
    let over = |value| [(X, bounds(value, value, Some(0)))];
    assert_eq!(listed.verdict(&over(-1)[..]), Verdict::None);
    assert_eq!(listed.verdict(&over(2)[..]), Verdict::Some);
    assert_eq!(listed.verdict(&over(40_000)[..]), Verdict::None);
}

#[test]
fn an_unknown_part_keeps_its_neighbours_under_and_but_not_under_or() {
    let five = Predicate::column(X, "x", ValueSet::points([Datum::Int(5)]), false);
    let stats = [(X, bounds(1, 2, Some(0)))];
    let with = Predicate::and([five.clone(), Predicate::Unknown]);
    assert_eq!(with.verdict(&stats[..]), Verdict::None);
    let either = Predicate::or([five, Predicate::Unknown]);
    assert_eq!(either.verdict(&stats[..]), Verdict::Some);
}
