//! Long chains of AND and OR, without a call for each of their terms: a filter of twenty thousand terms
//! must not exhaust the stack.

use datafusion::logical_expr::{BinaryExpr, Expr};
use model::Predicate;

/// The operands of a chain of one operator, in their order, however the chain is nested.
pub(super) fn operands(chain: &BinaryExpr) -> Vec<&Expr> {
    let mut found = Vec::new();
    let mut left_over = vec![chain.right.as_ref(), chain.left.as_ref()];
    while let Some(expr) = left_over.pop() {
        match expr {
            Expr::BinaryExpr(inner) if inner.op == chain.op => {
                left_over.extend([inner.right.as_ref(), inner.left.as_ref()]);
            }
            other => found.push(other),
        }
    }
    found
}

/// The parts joined in pairs, pairs in pairs, and so on: each part is copied only as often as the
/// number of parts can be halved.
pub(super) fn joined(
    mut parts: Vec<Predicate>,
    join: impl Fn([Predicate; 2]) -> Predicate,
) -> Predicate {
    while parts.len() > 1 {
        let mut rest = parts.into_iter();
        let pair = || {
            let first = rest.next()?;
            Some(match rest.next() {
                Some(second) => join([first, second]),
                None => first,
            })
        };
        parts = std::iter::from_fn(pair).collect();
    }
    parts.pop().unwrap_or(Predicate::Unknown)
}
