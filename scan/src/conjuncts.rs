//! The parts of a filter that can be evaluated one after the other, and in which order. Knows no file.

use std::sync::Arc;

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::utils::{collect_columns, split_conjunction};

type Exprs = Vec<Arc<dyn PhysicalExpr>>;

/// Conjuncts that test the same columns.
#[derive(Clone, Debug)]
pub(crate) struct Conjuncts {
    pub(crate) filter: Arc<dyn PhysicalExpr>,
    /// Positions in the table's schema, ascending.
    pub(crate) columns: Vec<usize>,
}

/// The filter in parts: first those that may be evaluated in any order, then, as one, the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) movable: Vec<Conjuncts>,
    pub(crate) last: Option<Conjuncts>,
}

impl Filter {
    /// Takes a filter apart. A conjunct moves only when it cannot fail on any row: `x <> 0` may guard
    /// `1 / x > y`, and must then stay before it.
    pub(crate) fn of(filter: Option<&Arc<dyn PhysicalExpr>>) -> Self {
        let mut parts = Self::default();
        let conjuncts = filter.map(split_conjunction).unwrap_or_default();
        let (movable, last): (Vec<_>, Vec<_>) = conjuncts
            .into_iter()
            .partition(|conjunct| cannot_fail(conjunct));
        let mut groups: Vec<(Vec<usize>, Exprs)> = Vec::new();
        for conjunct in movable {
            let columns = columns(conjunct);
            match groups.iter_mut().find(|(known, _)| *known == columns) {
                Some((_, group)) => group.push(Arc::clone(conjunct)),
                None => groups.push((columns, vec![Arc::clone(conjunct)])),
            }
        }
        let group = |(columns, group)| {
            let filter = all_of(group)?;
            Some(Conjuncts { filter, columns })
        };
        parts.movable = groups.into_iter().filter_map(group).collect();
        parts.last = all_of(last.into_iter().cloned().collect()).map(|filter| Conjuncts {
            columns: columns(&filter),
            filter,
        });
        parts
    }

    /// All parts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Conjuncts> {
        self.movable.iter().chain(&self.last)
    }

    /// The parts in the order in which they should be evaluated: first what rules out most rows for
    /// the fewest bytes.
    pub(crate) fn ordered(
        self,
        estimate: impl Fn(&Conjuncts) -> Estimate,
    ) -> Vec<(Conjuncts, f64)> {
        let mut parts: Vec<(Conjuncts, Estimate)> = self
            .movable
            .into_iter()
            .map(|part| {
                let estimate = estimate(&part);
                (part, estimate)
            })
            .collect();
        parts.sort_by(|(_, a), (_, b)| a.rank().total_cmp(&b.rank()));
        let last = self.last.map(|last| {
            let estimate = estimate(&last);
            (last, estimate)
        });
        let parts = parts.into_iter().chain(last);
        parts
            .map(|(part, estimate)| (part, estimate.passing))
            .collect()
    }
}

/// What evaluating a part costs, and leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// The fraction of rows that is expected to pass.
    pub(crate) passing: f64,
    /// Bytes to read for it.
    pub(crate) bytes: f64,
}

impl Estimate {
    /// Bytes for each row that is ruled out: less is better.
    fn rank(&self) -> f64 {
        self.bytes / (1.0 - self.passing).max(1e-9)
    }
}

fn columns(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
    columns.sort_unstable();
    columns
}

/// All of the conjuncts, as a tree that is as flat as it can be: it is evaluated with a call for each
/// level. `None` when there are none.
pub(crate) fn all_of(mut parts: Exprs) -> Option<Arc<dyn PhysicalExpr>> {
    while parts.len() > 1 {
        let pairs = parts.chunks(2).filter_map(|pair| match pair {
            [a, b] => Some(and(a, b)),
            rest => rest.first().cloned(),
        });
        parts = pairs.collect();
    }
    parts.pop()
}

fn and(a: &Arc<dyn PhysicalExpr>, b: &Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(Arc::clone(a), Operator::And, Arc::clone(b)))
}

/// Whether evaluation succeeds whatever the values are: comparisons of columns and literals, and what
/// is made of them. Without a call for each level: filters may be long.
fn cannot_fail(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut left_over = vec![expr];
    while let Some(expr) = left_over.pop() {
        if !cannot_fail_by_itself(expr) {
            return false;
        }
        left_over.extend(expr.children());
    }
    true
}

fn cannot_fail_by_itself(expr: &Arc<dyn PhysicalExpr>) -> bool {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
        return matches!(
            binary.op(),
            And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
        );
    }
    expr.is::<Column>()
        || expr.is::<Literal>()
        || expr.is::<NotExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<LikeExpr>()
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;
    use crate::tests::random_filters::{parsed, physical};

    fn filter(sql: &str) -> Filter {
        let columns = ["a", "b", "c"].map(|name| Field::new(name, DataType::Int64, true));
        let schema = Arc::new(Schema::new(columns.to_vec()));
        Filter::of(Some(&physical(&parsed(sql, &schema), &schema)))
    }

    #[test]
    fn tests_of_the_same_columns_stay_together_and_what_may_fail_stays_last() {
        let parts = filter("a > 1 AND b = 2 AND 1 / c > 0 AND a < 9 AND (a < b OR b IS NULL)");
        let columns: Vec<_> = parts
            .movable
            .iter()
            .map(|part| part.columns.clone())
            .collect();
        assert_eq!(columns, [vec![0], vec![1], vec![0, 1]]);
        assert_eq!(parts.last.unwrap().columns, [2]);
        assert!(filter("a + b > 1").movable.is_empty());
    }

    #[test]
    fn the_cheapest_way_to_rule_out_rows_comes_first() {
        let parts = filter("a > 1 AND b = 2 AND c < 3 AND 1 / b > 0");
        let estimate = |part: &Conjuncts| match part.columns.as_slice() {
            [0] => Estimate {
                passing: 0.9,
                bytes: 10.0,
            },
            [1] => Estimate {
                passing: 0.1,
                bytes: 80.0,
            },
            _ => Estimate {
                passing: 0.5,
                bytes: 10.0,
            },
        };
        let ordered = parts.ordered(estimate);
        let columns: Vec<_> = ordered
            .iter()
            .map(|(part, _)| part.columns.clone())
            .collect();
        assert_eq!(columns, [vec![2], vec![1], vec![0], vec![1]]);
    }
}
