use arrow::array::{Array, BooleanArray};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use datafusion::scalar::ScalarValue;
use model::{ColumnBounds, FieldId, Verdict};
use proptest::prelude::*;

use super::*;
use crate::tests::random_filters::{coerced, parsed, physical, shapes};

fn schema() -> TableSchema {
    let column = |name: &str, kind| Field::new(name, kind, true);
    let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    TableSchema::numbered(&Schema::new(vec![
        column("x", DataType::Int64),
        column("small", DataType::Int32),
        column("f", DataType::Float64),
        column("s", DataType::Utf8),
        column("colour", dictionary),
        column("flag", DataType::Boolean),
        column("day", DataType::Date32),
        column("at", DataType::Timestamp(TimeUnit::Microsecond, None)),
        column("money", DataType::Decimal128(12, 2)),
        column("list", DataType::new_list(DataType::Int64, true)),
    ]))
}

fn shown(predicate: &Predicate) -> String {
    let join = |parts: &[Predicate], word: &str| {
        let parts: Vec<_> = parts.iter().map(shown).collect();
        format!("({})", parts.join(word))
    };
    match predicate {
        Predicate::Always => "always".to_owned(),
        Predicate::Never => "never".to_owned(),
        Predicate::Unknown => "?".to_owned(),
        Predicate::And(parts) => join(parts, " & "),
        Predicate::Or(parts) => join(parts, " | "),
        Predicate::Column(column) => {
            let nulls = if column.nulls { " or null" } else { "" };
            format!("{} {}{nulls}", column.name, column.values)
        }
    }
}

#[test]
fn filters_become_what_the_pruner_understands_of_them() {
    let cases = [
        ("x > 5", "x >= 6"),
        ("5 > x", "x <= 4"),
        ("x = 5", "x = 5"),
        ("x <> 5", "x <= 4 OR >= 6"),
        ("NOT x < 5", "x >= 5"),
        ("NOT (x < 5 OR s = 'a')", "(x >= 5 & s < 'a' OR > 'a')"),
        ("NOT (x < 5 AND s = 'a')", "(x >= 5 | s < 'a' OR > 'a')"),
        ("x > 5 AND x < 6", "never"),
        ("x > 5 AND abs(x) = 7", "(x >= 6 & ?)"),
        ("x > 5 OR abs(x) = 7", "?"),
        ("NOT (x > 5 AND abs(x) = 7)", "?"),
        ("x = 1 OR x = 9", "x = 1 OR = 9"),
        ("x IN (1, 2, 3)", "x = 1 OR = 2 OR = 3"),
        (
            "x IN (1, 2, 3, 4, 5)",
            "x = 1 OR = 2 OR = 3 OR = 4 OR 1 more",
        ),
        ("x NOT IN (1, 2, 3, 4)", "x <= 0 OR >= 5"),
        (
            "x IN (1, 2, 3, 4, 5, NULL)",
            "x = 1 OR = 2 OR = 3 OR = 4 OR 1 more",
        ),
        ("x NOT IN (1, 2, 3, 4, 5, NULL)", "never"),
        ("x BETWEEN 3 AND 7", "x >= 3 AND <= 7"),
        ("x NOT BETWEEN 3 AND 7", "x <= 2 OR >= 8"),
        ("x BETWEEN 7 AND 3", "never"),
        ("x = NULL", "never"),
        ("x IS NULL", "x matches nothing or null"),
        ("x IS NOT NULL", "x is any value"),
        ("NOT x IS NULL", "x is any value"),
        ("x IS DISTINCT FROM 5", "x <= 4 OR >= 6 or null"),
        ("x IS NOT DISTINCT FROM 5", "x = 5"),
        ("x IS DISTINCT FROM NULL", "x is any value"),
        ("small > 5", "small >= 6"),
        ("small > 5.5", "small >= 6"),
        ("small = 5.5", "never"),
        ("small <= -5.5", "small <= -6"),
        ("small < 3000000000", "small <= 2999999999"),
        ("f > 1.5", "f > 1.5"),
        ("f > 'NaN'::double", "?"),
        ("flag", "flag = true"),
        ("NOT flag", "flag = false"),
        ("flag = true", "flag = true"),
        ("flag IS TRUE", "flag = true"),
        ("flag IS NOT TRUE", "flag = false or null"),
        ("flag IS NOT FALSE", "flag = true or null"),
        ("flag IS UNKNOWN", "flag matches nothing or null"),
        ("(x > 5) IS TRUE", "x >= 6"),
        ("(x > 5) IS NOT TRUE", "?"),
        ("s LIKE 'ab%'", "s >= 'ab' AND < 'ac'"),
        ("s NOT LIKE 'ab%'", "s < 'ab' OR >= 'ac'"),
        ("s LIKE 'ab'", "s = 'ab'"),
        ("s LIKE 'a_b%'", "(s >= 'a' AND < 'b' & ?)"),
        ("s NOT LIKE 'a_b%'", "?"),
        (r"s LIKE '50\%%'", "s >= '50%' AND < '50&'"),
        ("s ILIKE 'ab%'", "?"),
        ("s LIKE NULL", "never"),
        ("colour = 'blue'", "colour = 'blue'"),
        ("colour LIKE 'b%'", "colour >= 'b' AND < 'c'"),
        ("day >= '2024-03-01'", "day >= 2024-03-01"),
        ("day < DATE '2024-03-15'", "day <= 2024-03-14"),
        (
            "day >= TIMESTAMP '2024-03-01T12:00:00'",
            "day >= 2024-03-02",
        ),
        ("day < TIMESTAMP '2024-03-01T12:00:00'", "day <= 2024-03-01"),
        ("day = TIMESTAMP '2024-03-01T12:00:00'", "never"),
        ("at < '2024-03-01T12:00:00'", "at < 2024-03-01T12:00:00"),
        ("money >= 12.5", "money >= 12.50"),
        ("list IS NULL", "?"),
        ("true", "always"),
        ("1 = 2", "never"),
        ("x = small", "?"),
    ];
    check(&cases);
}

#[test]
fn what_is_done_to_a_column_is_undone() {
    check(&[
        (
            "CAST(at AS DATE) = DATE '2024-03-01'",
            "at >= 2024-03-01T00:00:00 AND < 2024-03-02T00:00:00",
        ),
        (
            "CAST(at AS DATE) > DATE '2024-03-01'",
            "at >= 2024-03-02T00:00:00",
        ),
        (
            "CAST(at AS DATE) <= DATE '1969-12-31'",
            "at < 1970-01-01T00:00:00",
        ),
        // The cast of a date to a time does not undo that of a time to a date.
        (
            "CAST(at AS DATE) <= TIMESTAMP '2024-01-31T00:00:00'",
            "at < 2024-02-01T00:00:00",
        ),
        (
            "CAST(at AS DATE) >= TIMESTAMP '2024-01-31T12:00:00'",
            "at >= 2024-02-01T00:00:00",
        ),
        (
            "CAST(CAST(at AS DATE) AS TIMESTAMP) = TIMESTAMP '2024-01-31T00:00:00'",
            "at >= 2024-01-31T00:00:00 AND < 2024-02-01T00:00:00",
        ),
        (
            "CAST(CAST(day AS TIMESTAMP) AS DATE) = DATE '2024-01-31'",
            "day = 2024-01-31",
        ),
        (
            "date_trunc('month', at) = TIMESTAMP '2024-02-01T00:00:00'",
            "at >= 2024-02-01T00:00:00 AND < 2024-03-01T00:00:00",
        ),
        (
            "date_trunc('month', at) = TIMESTAMP '2024-02-02T00:00:00'",
            "never",
        ),
        (
            "date_trunc('quarter', at) > TIMESTAMP '2024-02-02T00:00:00'",
            "at >= 2024-04-01T00:00:00",
        ),
        (
            "date_trunc('week', at) < TIMESTAMP '2024-03-07T00:00:00'",
            "at < 2024-03-11T00:00:00",
        ),
        (
            "date_trunc('year', CAST(at AS DATE)) <= TIMESTAMP '2023-06-01T00:00:00'",
            "at < 2024-01-01T00:00:00",
        ),
        (
            "date_trunc('hour', at) IN (TIMESTAMP '2024-03-01T12:00:00')",
            "at >= 2024-03-01T12:00:00 AND < 2024-03-01T13:00:00",
        ),
        (
            "date_trunc('microsecond', at) IS NULL",
            "at matches nothing or null",
        ),
        // Rewritten by DataFusion itself.
        (
            "extract(year FROM at) = 2024",
            "at >= 2024-01-01T00:00:00 AND < 2025-01-01T00:00:00",
        ),
        ("date_part('year', day) >= 2024", "day >= 2024-01-01"),
    ]);
}

fn check(cases: &[(&str, &str)]) {
    let schema = schema();
    for (sql, expected) in cases {
        let expr = parsed(sql, &schema.without_ids());
        assert_eq!(
            shown(&predicate(&expr, &schema)),
            *expected,
            "{sql}: {expr}"
        );
    }
}

/// A chain as parsers make it: each operator around all that was before it.
fn chain(terms: impl IntoIterator<Item = Expr>, join: fn(Expr, Expr) -> Expr) -> Expr {
    terms.into_iter().reduce(join).unwrap()
}

fn verdict(predicate: &Predicate, value: i64) -> Verdict {
    let bounds = ColumnBounds::constant(Some(Datum::Int(value)));
    predicate.verdict([(FieldId(1), bounds)].as_slice())
}

#[test]
fn very_long_filters_become_small_predicates_that_they_imply() {
    use datafusion::logical_expr::{col, lit};
    let schema = schema();
    let even = || (0..20_000_i64).map(|number| number * 2);
    let list = |negated| col("x").in_list(even().map(lit).collect(), negated);
    let any = chain(even().map(|even| col("x").eq(lit(even))), Expr::or);
    let none = chain(even().map(|even| col("x").not_eq(lit(even))), Expr::and);
    let pairs = even().map(|even| col("x").eq(lit(even)).and(col("small").eq(lit(even))));
    let pairs = chain(pairs, Expr::or);
    for filter in [list(false), any] {
        let predicate = predicate(&filter, &schema);
        assert!(even().all(|even| verdict(&predicate, even) == Verdict::Some));
        assert_eq!(verdict(&predicate, -1), Verdict::None);
        assert_eq!(verdict(&predicate, 40_000), Verdict::None);
        assert!(size(&predicate) <= 4_000, "{}", size(&predicate));
        // Dropping it would take a call for each of its terms.
        std::mem::forget(filter);
    }
    for filter in [list(true), none, pairs] {
        let predicate = predicate(&filter, &schema);
        assert_ne!(verdict(&predicate, 3), Verdict::None, "{predicate:?}");
        assert_ne!(verdict(&predicate, 3), Verdict::All);
        std::mem::forget(filter);
    }
}

#[test]
fn ranges_keep_the_values_at_their_ends() {
    let point = |value: f64, open: bool| {
        let value = Datum::Float(value);
        if open {
            let above = Datum::Float(value_of(&value) + 0.5);
            Interval::new(End::Exclusive(value), End::Exclusive(above)).unwrap()
        } else {
            Interval::point(value)
        }
    };
    let intervals = (0..3000).flat_map(|number| {
        let value = f64::from(number);
        [point(value, true), point(value, false)]
    });
    let set = ValueSet::of(intervals);
    let large = Predicate::column(FieldId(1), "f", set, false);
    let Predicate::And(parts) = coarse(large) else {
        panic!("it stayed as large as it was");
    };
    let Predicate::Column(column) = &parts[0] else {
        panic!("{parts:?}");
    };
    assert!(column.values.intervals().len() <= 1000);
    for number in 0..3000 {
        let value = f64::from(number);
        assert!(holds(&column.values, value), "{value}");
        assert!(holds(&column.values, value + 0.25));
    }
}

fn value_of(datum: &Datum) -> f64 {
    match datum {
        Datum::Float(value) => *value,
        other => panic!("{other} is no float"),
    }
}

/// Each row by itself as statistics.
fn row_bounds(
    batch: &RecordBatch,
    schema: &TableSchema,
    row: usize,
) -> Vec<(FieldId, ColumnBounds)> {
    let columns = batch.columns().iter().zip(schema.ids());
    let known = columns.filter_map(|(values, id)| {
        let value = ScalarValue::try_from_array(values, row).ok()?;
        if value.is_null() {
            return (!value.data_type().is_nested()).then(|| (*id, ColumnBounds::constant(None)));
        }
        Some((*id, ColumnBounds::constant(Some(literal::datum(&value)?))))
    });
    known.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_predicate_contradicts_the_filter_in_any_row(shape in shapes(), start in 0i64..2_900, simplify: bool) {
        let rows = fixtures::awkward::awkward_batch(start..start + 100).unwrap();
        let schema = TableSchema::numbered(&rows.schema());
        let columns: Vec<usize> = (0..rows.num_columns()).collect();
        let expr = coerced(shape.expr(&rows, &columns), &rows.schema(), simplify);
        let predicate = predicate(&expr, &schema);
        let passes = physical(&expr, &rows.schema()).evaluate(&rows).unwrap();
        let passes = passes.into_array(rows.num_rows()).unwrap();
        let passes = passes.as_any().downcast_ref::<BooleanArray>().unwrap();
        for row in 0..rows.num_rows() {
            let verdict = predicate.verdict(row_bounds(&rows, &schema, row).as_slice());
            let passes = passes.is_valid(row) && passes.value(row);
            let forbidden = if passes { Verdict::None } else { Verdict::All };
            prop_assert!(verdict != forbidden, "row {row} of {expr}: {}", shown(&predicate));
        }
    }
}

fn holds(values: &ValueSet, value: f64) -> bool {
    let value = Datum::Float(value);
    values.surely_covers(Some(&value), Some(&value))
}

/// How many intervals a predicate holds.
fn size(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::Column(column) => column.values.intervals().len(),
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().map(size).sum(),
        _ => 1,
    }
}
