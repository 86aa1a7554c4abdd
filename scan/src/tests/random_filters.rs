//! Random filters over the columns of a batch, for property tests: literals are values that the rows
//! hold, so that bounds are hit exactly.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use datafusion::common::{Column, DFSchema};
use datafusion::functions::expr_fn::date_trunc;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast, lit};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::create_physical_expr;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use proptest::prelude::*;

/// A filter whose columns and literals are still only numbers.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Test {
        column: usize,
        test: usize,
        rows: [usize; 2],
    },
    Not(Box<Shape>),
    And(Vec<Shape>),
    Or(Vec<Shape>),
}

/// Filters of up to a few tests.
pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let test = (any::<usize>(), any::<usize>(), any::<[usize; 2]>())
        .prop_map(|(column, test, rows)| Shape::Test { column, test, rows });
    test.prop_recursive(3, 8, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            2 => several.clone().prop_map(Shape::And),
            2 => several.prop_map(Shape::Or),
            1 => inner.prop_map(|inner| Shape::Not(Box::new(inner))),
        ]
    })
}

impl Shape {
    /// The filter over some of the columns of `rows`, as positions.
    pub(crate) fn expr(&self, rows: &RecordBatch, columns: &[usize]) -> Expr {
        let all = |parts: &[Self], join: fn(Expr, Expr) -> Expr| {
            let parts = parts.iter().map(|part| part.expr(rows, columns));
            parts.reduce(join).unwrap()
        };
        match self {
            Self::And(parts) => all(parts, Expr::and),
            Self::Or(parts) => all(parts, Expr::or),
            Self::Not(inner) => !inner.expr(rows, columns),
            Self::Test {
                column,
                test,
                rows: literals,
            } => {
                let position = columns[column % columns.len()];
                let values = rows.column(position);
                let literal = literals
                    .map(|row| ScalarValue::try_from_array(values, row % values.len()).unwrap());
                test_of(rows.schema().field(position).name(), *test, literal)
            }
        }
    }
}

fn test_of(name: &str, test: usize, [one, two]: [ScalarValue; 2]) -> Expr {
    let column = Expr::Column(Column::from_name(name));
    let kind = one.data_type();
    if kind.is_nested() || kind.is_null() {
        return if test.is_multiple_of(2) {
            column.is_null()
        } else {
            column.is_not_null()
        };
    }
    let operators = [
        Operator::Eq,
        Operator::NotEq,
        Operator::Lt,
        Operator::LtEq,
        Operator::Gt,
        Operator::GtEq,
        Operator::IsDistinctFrom,
        Operator::IsNotDistinctFrom,
    ];
    let is_text = matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    );
    if matches!(kind, DataType::Timestamp(_, None)) && test % 24 == 23 {
        return truncated_test(name, test, one);
    }
    if let Some(kind) = wider(&kind, test)
        && test % 24 >= 20
    {
        return cast_test(name, test, &one, &kind);
    }
    match test % 20 {
        0..8 => binary_expr(column, operators[test % 20], lit(one)),
        8 => binary_expr(lit(one), Operator::Lt, column),
        9 => binary_expr(lit(one), Operator::GtEq, column),
        10 => column.in_list(vec![lit(one), lit(two)], false),
        11 => column.in_list(vec![lit(one), lit(two)], true),
        12 => column.between(lit(one), lit(two)),
        13 => column.not_between(lit(one), lit(two)),
        14 => column.is_null(),
        15 => column.is_not_null(),
        test if kind == DataType::Boolean => match test {
            16 => column,
            17 => column.is_true(),
            18 => column.is_not_true(),
            _ => column.is_false(),
        },
        test if is_text => {
            let pattern = pattern(one.try_as_str().flatten().unwrap_or("row"), test);
            if test == 19 {
                column.not_like(lit(pattern))
            } else {
                column.like(lit(pattern))
            }
        }
        _ => column.gt(lit(one)),
    }
}

/// A type to which a cast keeps values and their order, or dates of instants.
fn wider(kind: &DataType, test: usize) -> Option<DataType> {
    use DataType::*;
    Some(match kind {
        Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32 if test.is_multiple_of(2) => Float64,
        Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32 => Int64,
        Float32 => Float64,
        Date32 => Timestamp(TimeUnit::Millisecond, None),
        Timestamp(TimeUnit::Second, zone) if zone.is_some() || test.is_multiple_of(3) => {
            Timestamp(TimeUnit::Millisecond, zone.clone())
        }
        Timestamp(_, None) => Date32,
        Decimal32(..) | Decimal64(..) => Decimal128(38, 6),
        Utf8 => LargeUtf8,
        _ => return None,
    })
}

/// A test of a column that is cast once or twice, with a literal that may lie between two values of the
/// column.
fn cast_test(name: &str, test: usize, value: &ScalarValue, kind: &DataType) -> Expr {
    let mut column = cast(Expr::Column(Column::from_name(name)), kind.clone());
    let mut value = value.cast_to(kind).unwrap();
    if let Some(kind) = wider(kind, test / 2)
        && test.is_multiple_of(5)
    {
        column = cast(column, kind.clone());
        value = value.cast_to(&kind).unwrap();
    }
    let literal = match value {
        ScalarValue::Float64(Some(value)) if test.is_multiple_of(3) => (value - 0.5).into(),
        ScalarValue::TimestampMillisecond(Some(value), zone) if test.is_multiple_of(3) => {
            ScalarValue::TimestampMillisecond(Some(value - 1), zone)
        }
        literal => literal,
    };
    binary_expr(column, operator(test), lit(literal))
}

/// A test of the start of the period in which a time lies.
fn truncated_test(name: &str, test: usize, value: ScalarValue) -> Expr {
    let periods = [
        "second", "minute", "hour", "day", "week", "month", "quarter", "year",
    ];
    let period = || lit(periods[test / 144 % periods.len()]);
    let literal = if (test / 1_152).is_multiple_of(2) {
        lit(value)
    } else {
        date_trunc(period(), lit(value))
    };
    let column = date_trunc(period(), Expr::Column(Column::from_name(name)));
    binary_expr(column, operator(test), literal)
}

fn operator(test: usize) -> Operator {
    [
        Operator::Eq,
        Operator::NotEq,
        Operator::Lt,
        Operator::GtEq,
        Operator::Gt,
        Operator::LtEq,
    ][test / 24 % 6]
}

fn pattern(value: &str, test: usize) -> String {
    let keep = value.chars().count() * (test - 15) / 4;
    let kept: String = value.chars().take(keep).collect();
    let escaped = kept
        .replace('\\', "\\\\")
        .replace('%', "\\%")
        .replace('_', "\\_");
    if test == 16 {
        escaped
    } else {
        format!("{escaped}%")
    }
}

/// The filter as a planner hands it to the scan: coerced, and simplified when asked.
pub(crate) fn coerced(expr: Expr, schema: &SchemaRef, simplify: bool) -> Expr {
    let frame = Arc::new(DFSchema::try_from(Arc::clone(schema)).unwrap());
    let context = SimplifyContext::builder()
        .with_schema(Arc::clone(&frame))
        .build();
    let simplifier = ExprSimplifier::new(context);
    let expr = simplifier.coerce(expr, &frame).unwrap();
    if simplify {
        simplifier.simplify(expr).unwrap()
    } else {
        expr
    }
}

/// SQL as a coerced filter.
pub(crate) fn parsed(sql: &str, schema: &SchemaRef) -> Expr {
    let frame = DFSchema::try_from(Arc::clone(schema)).unwrap();
    let expr = SessionContext::new().parse_sql_expr(sql, &frame).unwrap();
    coerced(expr, schema, true)
}

/// The filter as the scan evaluates it.
pub(crate) fn physical(expr: &Expr, schema: &SchemaRef) -> Arc<dyn PhysicalExpr> {
    let frame = DFSchema::try_from(Arc::clone(schema)).unwrap();
    create_physical_expr(
        expr,
        &frame,
        &ExecutionProps::new(),
        &PhysicalPlanningContext::default(),
    )
    .unwrap()
}
