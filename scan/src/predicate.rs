//! What the pruner understands of a filter: from DataFusion's logical expressions to
//! [`model::Predicate`]. Decides nothing about data.
//!
//! The question asked of each expression is in which rows it is TRUE, or in which it is FALSE; a row
//! where it is NULL is in neither. So NOT only swaps the question, and null semantics stay those of SQL.
//! Each answer is exact, or it carries [`Predicate::Unknown`] as a conjunct or stands for it: a verdict
//! `All` may then stand for the filter itself.

mod chains;
mod coarse;
mod like;
mod literal;
mod operand;
mod step;

use datafusion::logical_expr::expr::{InList, Like};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use model::interval::End;
use model::{ColumnPredicate, Datum, Interval, Predicate, TableSchema, ValueSet};

use chains::{joined, operands};
use coarse::{MAX_VALUES, coarse, coarse_to};
use operand::Operand;

/// Conjuncts beyond which each of them is understood less exactly.
const MANY: usize = 100;

/// What the pruner understands of a filter over the columns of `schema`. Types must be coerced, as
/// DataFusion's analyzer does. It stays small however long the filter is.
pub fn predicate(expr: &Expr, schema: &TableSchema) -> Predicate {
    coarse(rows_where(expr, true, schema))
}

/// The rows in which `expr` is `wanted`.
fn rows_where(expr: &Expr, wanted: bool, schema: &TableSchema) -> Predicate {
    match expr {
        Expr::Alias(alias) => rows_where(&alias.expr, wanted, schema),
        Expr::Literal(value, _) => constant(value, wanted),
        Expr::Not(inner) => rows_where(inner, !wanted, schema),
        Expr::BinaryExpr(binary) => rows_where_binary(binary, wanted, schema),
        Expr::Between(between) => rows_where_between(between, wanted, schema),
        Expr::InList(list) => rows_where_in(list, wanted, schema),
        Expr::Like(like) => rows_where_like(like, wanted, schema),
        Expr::IsNull(inner) | Expr::IsUnknown(inner) => rows_where_null(inner, wanted, schema),
        Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => {
            rows_where_null(inner, !wanted, schema)
        }
        Expr::IsTrue(inner) => rows_where_is(inner, true, wanted, schema),
        Expr::IsFalse(inner) => rows_where_is(inner, false, wanted, schema),
        Expr::IsNotTrue(inner) => rows_where_is(inner, true, !wanted, schema),
        Expr::IsNotFalse(inner) => rows_where_is(inner, false, !wanted, schema),
        Expr::Column(_) | Expr::Cast(_) => match Operand::of(expr, schema) {
            Some(column) if column.is_boolean() => {
                column.passes(ValueSet::points([Datum::Boolean(wanted)]), false)
            }
            _ => Predicate::Unknown,
        },
        _ => Predicate::Unknown,
    }
}

fn constant(value: &ScalarValue, wanted: bool) -> Predicate {
    match value {
        ScalarValue::Boolean(Some(value)) if *value == wanted => Predicate::Always,
        value if value.is_null() || matches!(value, ScalarValue::Boolean(_)) => Predicate::Never,
        _ => Predicate::Unknown,
    }
}

fn rows_where_binary(binary: &BinaryExpr, wanted: bool, schema: &TableSchema) -> Predicate {
    let BinaryExpr { left, op, right } = binary;
    let all = || -> Vec<Predicate> {
        let operands = operands(binary).into_iter();
        operands
            .map(|side| rows_where(side, wanted, schema))
            .collect()
    };
    match (op, wanted) {
        (Operator::And, true) | (Operator::Or, false) => all_of(all()),
        (Operator::Or, true) | (Operator::And, false) => joined(all(), any_of),
        _ => match (right.as_ref(), left.as_ref()) {
            (Expr::Literal(value, _), _) => compare(left, *op, value, wanted, schema),
            (_, Expr::Literal(value, _)) => match op.swap() {
                Some(op) => compare(right, op, value, wanted, schema),
                None => Predicate::Unknown,
            },
            _ => Predicate::Unknown,
        },
    }
}

/// The rows in which `column op value` is `wanted`.
fn compare(
    column: &Expr,
    op: Operator,
    value: &ScalarValue,
    wanted: bool,
    schema: &TableSchema,
) -> Predicate {
    let distinct = match op {
        Operator::IsDistinctFrom => Some(wanted),
        Operator::IsNotDistinctFrom => Some(!wanted),
        _ => None,
    };
    if value.is_null() {
        // Nothing compares to NULL, but everything is distinct from it or not.
        return match distinct {
            Some(distinct) => rows_where_null(column, !distinct, schema),
            None if compares(op) => Predicate::Never,
            None => Predicate::Unknown,
        };
    }
    let op = if wanted { Some(op) } else { op.negate() };
    let (Some(column), Some(value), Some(op)) =
        (Operand::of(column, schema), literal::datum(value), op)
    else {
        return Predicate::Unknown;
    };
    match distinct {
        Some(true) => column.passes(ValueSet::all_but(value), true),
        Some(false) => column.passes(ValueSet::points([value]), false),
        None => match values_that(op, value) {
            Some(values) => column.passes(values, false),
            None => Predicate::Unknown,
        },
    }
}

fn compares(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn values_that(op: Operator, value: Datum) -> Option<ValueSet> {
    let (lower, upper) = match op {
        Operator::Eq => return Some(ValueSet::points([value])),
        Operator::NotEq => return Some(ValueSet::all_but(value)),
        Operator::Lt => (End::Unbounded, End::Exclusive(value)),
        Operator::LtEq => (End::Unbounded, End::Inclusive(value)),
        Operator::Gt => (End::Exclusive(value), End::Unbounded),
        Operator::GtEq => (End::Inclusive(value), End::Unbounded),
        _ => return None,
    };
    Some(ValueSet::of(Interval::new(lower, upper)))
}

fn rows_where_between(between: &Between, wanted: bool, schema: &TableSchema) -> Predicate {
    let (Expr::Literal(low, _), Expr::Literal(high, _)) =
        (between.low.as_ref(), between.high.as_ref())
    else {
        return Predicate::Unknown;
    };
    let inside = wanted != between.negated;
    let ends = [(Operator::GtEq, low), (Operator::LtEq, high)]
        .map(|(op, value)| compare(&between.expr, op, value, inside, schema));
    if inside {
        Predicate::and(ends)
    } else {
        any_of(ends)
    }
}

fn rows_where_in(list: &InList, wanted: bool, schema: &TableSchema) -> Predicate {
    let Some(column) = Operand::of(&list.expr, schema) else {
        return Predicate::Unknown;
    };
    let mut values = Vec::with_capacity(list.list.len());
    let mut null_listed = false;
    for item in &list.list {
        match item {
            Expr::Literal(value, _) if value.is_null() => null_listed = true,
            Expr::Literal(value, _) => match literal::datum(value) {
                Some(value) => values.push(value),
                None => return Predicate::Unknown,
            },
            _ => return Predicate::Unknown,
        }
    }
    // Long lists are looked up by their bits, so that the two zeros differ there.
    if values
        .iter()
        .any(|value| matches!(value, Datum::Float(0.0)))
    {
        return Predicate::Unknown;
    }
    match wanted != list.negated {
        true => column.passes(ValueSet::points(values), false),
        // With a NULL in the list, no value is surely not in it.
        false if null_listed => Predicate::Never,
        // So many holes rule nothing out.
        false if values.len() > MAX_VALUES => Predicate::Unknown,
        false => match ValueSet::except(values) {
            Some(values) => column.passes(values, false),
            None => Predicate::Unknown,
        },
    }
}

fn rows_where_like(like: &Like, wanted: bool, schema: &TableSchema) -> Predicate {
    let (Some(column), Expr::Literal(pattern, _)) =
        (Operand::of(&like.expr, schema), like.pattern.as_ref())
    else {
        return Predicate::Unknown;
    };
    if pattern.is_null() {
        return Predicate::Never;
    }
    let plain = !like.case_insensitive && matches!(like.escape_char, None | Some('\\'));
    match (column.is_text() && plain, literal::text(pattern)) {
        (true, Some(pattern)) => like::rows(&column, pattern, wanted != like.negated),
        _ => Predicate::Unknown,
    }
}

fn rows_where_null(expr: &Expr, wanted: bool, schema: &TableSchema) -> Predicate {
    match Operand::of(expr, schema) {
        Some(column) if wanted => column.passes(ValueSet::empty(), true),
        Some(column) => column.passes(ValueSet::everything(), false),
        None => Predicate::Unknown,
    }
}

/// The rows in which `expr IS value` is `wanted`; NULL is neither TRUE nor FALSE.
fn rows_where_is(expr: &Expr, value: bool, wanted: bool, schema: &TableSchema) -> Predicate {
    if wanted {
        return rows_where(expr, value, schema);
    }
    match Operand::of(expr, schema) {
        Some(column) if column.is_boolean() => {
            column.passes(ValueSet::points([Datum::Boolean(!value)]), true)
        }
        _ => Predicate::Unknown,
    }
}

/// The conjunction. Intersecting sets takes the product of their sizes, so those of many parts are kept
/// small on the way.
fn all_of(parts: Vec<Predicate>) -> Predicate {
    let max = if parts.len() > MANY { MANY } else { MAX_VALUES };
    joined(parts, |pair| coarse_to(Predicate::and(pair), max))
}

/// The disjunction, with alternatives on one column merged into one test.
fn any_of(parts: [Predicate; 2]) -> Predicate {
    let mut merged: Vec<Predicate> = Vec::new();
    for part in parts.into_iter().flat_map(alternatives) {
        if let Predicate::Column(column) = &part
            && let Some(earlier) = merged.iter_mut().find_map(|candidate| match candidate {
                Predicate::Column(earlier) if earlier.field == column.field => Some(earlier),
                _ => None,
            })
        {
            earlier.values = earlier.values.union(&column.values);
            earlier.nulls |= column.nulls;
        } else {
            merged.push(part);
        }
    }
    Predicate::or(merged.into_iter().map(|part| match part {
        Predicate::Column(ColumnPredicate {
            field,
            name,
            values,
            nulls,
        }) => Predicate::column(field, &name, values, nulls),
        part => part,
    }))
}

fn alternatives(part: Predicate) -> Vec<Predicate> {
    match part {
        Predicate::Or(parts) => parts,
        part => vec![part],
    }
}

#[cfg(test)]
mod tests;
