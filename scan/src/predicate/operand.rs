//! The column side of a comparison: a column, or order-keeping functions of one.

use arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;
use model::{FieldId, Predicate, TableSchema, ValueSet};

use super::step::{Step, is_text};

/// A column whose values are compared, as the type that the comparison sees.
#[derive(Debug)]
pub(super) struct Operand<'a> {
    field: FieldId,
    name: &'a str,
    /// Of the column, without a dictionary.
    stored: &'a DataType,
    /// Of the comparison.
    seen: &'a DataType,
    /// What is done to the column's values before they are compared, in order.
    steps: Vec<Step>,
}

impl<'a> Operand<'a> {
    /// The column in `expr`, or `None` when there is none, it is nested, or something is done to its
    /// values that cannot be undone.
    pub(super) fn of(expr: &'a Expr, schema: &'a TableSchema) -> Option<Self> {
        match expr {
            Expr::Alias(alias) => Self::of(&alias.expr, schema),
            Expr::Column(column) => {
                let field = schema.id_of(&column.name)?;
                let (_, column) = schema.field(field)?;
                let stored = values_of(column.data_type());
                (!stored.is_nested()).then_some(Self {
                    field,
                    name: column.name(),
                    stored,
                    seen: stored,
                    steps: Vec::new(),
                })
            }
            Expr::Cast(cast) => {
                let inner = Self::of(&cast.expr, schema)?;
                let seen = values_of(cast.field.data_type());
                let step = Step::cast(inner.seen, seen)?;
                Some(inner.then(step, seen))
            }
            Expr::ScalarFunction(call) if call.name() == "date_trunc" => {
                let [period, of] = call.args.as_slice() else {
                    return None;
                };
                let inner = Self::of(of, schema)?;
                let seen = inner.seen;
                let step = Step::truncate(period, seen)?;
                Some(inner.then(step, seen))
            }
            _ => None,
        }
    }

    fn then(mut self, step: Step, seen: &'a DataType) -> Self {
        self.steps.push(step);
        Self { seen, ..self }
    }

    pub(super) fn is_boolean(&self) -> bool {
        *self.stored == DataType::Boolean && *self.seen == DataType::Boolean
    }

    pub(super) fn is_text(&self) -> bool {
        is_text(self.stored) && is_text(self.seen)
    }

    /// The rows whose values, as the comparison sees them, are in `values`.
    pub(super) fn passes(&self, values: ValueSet, nulls: bool) -> Predicate {
        let undo = |values: ValueSet, step: &Step| step.inputs(&values);
        match self.steps.iter().rev().try_fold(values, undo) {
            Some(values) => Predicate::column(self.field, self.name, values, nulls),
            None => Predicate::Unknown,
        }
    }
}

fn values_of(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}
