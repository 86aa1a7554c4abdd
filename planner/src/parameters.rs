//! Parameters of statements: which ones a plan has, and putting values in their place. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::can_cast_types;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::logical_expr::{Expr, Limit, LogicalPlan};

use crate::error::PlannerError;

/// A field for each parameter in the order of their numbers. A type that the statement does not tell
/// is declared as a string.
///
/// # Errors
/// When a parameter has a name instead of a number, or a number is left out.
pub(crate) fn fields(plan: &LogicalPlan) -> Result<SchemaRef, PlannerError> {
    let types = types(plan)?;
    let fields = types.into_iter().map(|(number, field)| match field {
        Some(field) => Field::new(format!("${number}"), field.data_type().clone(), true),
        None => Field::new(format!("${number}"), DataType::Utf8, true),
    });
    Ok(Arc::new(Schema::new(fields.collect::<Fields>())))
}

/// The plan with the values of a row in place of its parameters.
///
/// # Errors
/// When values are missing, too many, or one does not fit its parameter.
pub(crate) fn bind(
    plan: LogicalPlan,
    row: Option<&RecordBatch>,
) -> Result<LogicalPlan, PlannerError> {
    let types = types(&plan)?;
    let given = row.map_or(0, RecordBatch::num_columns);
    if types.len() != given {
        return Err(PlannerError::Invalid(format!(
            "the statement has {} parameters, {given} values were given",
            types.len()
        )));
    }
    let Some(row) = row.filter(|_| given > 0) else {
        return Ok(plan);
    };
    if row.num_rows() != 1 {
        return Err(PlannerError::Invalid(format!(
            "one row of parameters is needed, not {}",
            row.num_rows()
        )));
    }
    let mut values = HashMap::new();
    for ((number, field), column) in types.iter().zip(row.columns()) {
        let value = ScalarValue::try_from_array(column, 0)?;
        let value = fit(*number, value, field.as_ref())?;
        values.insert(number.to_string(), value.into());
    }
    Ok(plan.with_param_values(ParamValues::Map(values))?)
}

/// Strings and nulls become the type that the statement wants; numbers keep theirs, because the
/// comparison coerces them without loss and a cast would not.
fn fit(
    number: usize,
    value: ScalarValue,
    field: Option<&FieldRef>,
) -> Result<ScalarValue, PlannerError> {
    let Some(wanted) = field.map(|field| field.data_type()) else {
        return Ok(value);
    };
    let given = value.data_type();
    if given == *wanted {
        return Ok(value);
    }
    let wrong = |reason: String| {
        PlannerError::Invalid(format!("parameter ${number} must be {wanted}, {reason}"))
    };
    let loose = given.is_string() || given.is_null();
    let one_is_boolean = (given == DataType::Boolean) != (*wanted == DataType::Boolean);
    if !can_cast_types(&given, wanted) || one_is_boolean && !loose {
        return Err(wrong(format!("not {given}")));
    }
    if loose {
        return value
            .cast_to(wanted)
            .map_err(|_| wrong(format!("not {value}")));
    }
    Ok(value)
}

fn types(plan: &LogicalPlan) -> Result<BTreeMap<usize, Option<FieldRef>>, PlannerError> {
    let mut types = BTreeMap::new();
    for (id, field) in plan.get_parameter_fields()? {
        let number = id.trim_start_matches('$').parse::<usize>().ok();
        let number = number.filter(|number| *number > 0).ok_or_else(|| {
            PlannerError::Invalid(format!("parameter {id} needs a number, such as $1"))
        })?;
        types.insert(number, field);
    }
    if let Some(missing) = (1..=types.len()).find(|number| !types.contains_key(number)) {
        return Err(PlannerError::Invalid(format!(
            "parameter ${missing} is missing between the others"
        )));
    }
    for number in limits(plan)? {
        types.entry(number).and_modify(|field| {
            field.get_or_insert_with(|| Arc::new(Field::new("limit", DataType::Int64, true)));
        });
    }
    Ok(types)
}

/// The parameters of LIMIT and OFFSET, whose type DataFusion does not infer.
fn limits(plan: &LogicalPlan) -> Result<Vec<usize>, PlannerError> {
    let mut found = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Limit(Limit { skip, fetch, .. }) = node {
            for expr in [skip, fetch].into_iter().flatten() {
                expr.apply(|expr| {
                    if let Expr::Placeholder(placeholder) = expr {
                        found.extend(placeholder.id.trim_start_matches('$').parse::<usize>());
                    }
                    Ok(TreeNodeRecursion::Continue)
                })?;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
