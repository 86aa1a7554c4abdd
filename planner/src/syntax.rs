//! From tokens to a syntax tree of bounded depth. Whoever walks, copies or drops a tree does so with a
//! call for each level, and a stack that is exhausted ends the process: so long chains of AND and OR
//! are turned into trees that are no deeper than they must be, and what is too deep all the same is
//! refused.

use std::mem;
use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::PlannerError;

/// Deeper nesting by parentheses and subqueries than this is refused by the parser.
const RECURSION_LIMIT: usize = 64;

/// Levels that an expression or a chain of UNIONs may have.
const MAX_DEPTH: usize = 250;

/// Chains as short as this stay as they were written.
const SHORT: usize = 16;

/// Tokens that a statement may have.
const MAX_TOKENS: usize = 500_000;

/// What the parser may need of the stack for each token: each may be a level of its own.
const STACK_PER_TOKEN: usize = 2048;

/// Tokens for which any stack is large enough.
const FEW_TOKENS: usize = 256;

/// The one statement that the tokens are.
///
/// # Errors
/// When they are none, several, or one that is nested too deeply.
pub(crate) fn statement(tokens: Vec<TokenWithSpan>) -> Result<Statement, PlannerError> {
    let spaces = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let count = tokens.len() - tokens.iter().filter(spaces).count();
    if count > MAX_TOKENS {
        let message = format!("the statement has {count} tokens, at most {MAX_TOKENS} are allowed");
        return Err(PlannerError::Invalid(message));
    }
    if count <= FEW_TOKENS {
        return bounded(tokens);
    }
    // Until its depth is known to be bounded, the tree is dropped on this stack too.
    stacker::grow(count * STACK_PER_TOKEN, || bounded(tokens))
}

fn bounded(tokens: Vec<TokenWithSpan>) -> Result<Statement, PlannerError> {
    let mut parser = DFParserBuilder::new(tokens)
        .with_dialect(&GenericDialect {})
        .with_recursion_limit(RECURSION_LIMIT)
        .build()?;
    let mut statements = parser.parse_statements()?;
    let invalid = |message: String| Err(PlannerError::Invalid(message));
    let mut statement = match (statements.pop_front(), statements.len()) {
        (Some(statement), 0) => statement,
        (None, _) => return invalid("there is no statement".to_owned()),
        (Some(_), more) => {
            return invalid(format!("one statement at a time, not {}", more + 1));
        }
    };
    match flatten(&mut statement) {
        ControlFlow::Continue(()) => Ok(statement),
        ControlFlow::Break(()) => invalid(format!(
            "the statement is nested too deeply: at most {MAX_DEPTH} levels are allowed"
        )),
    }
}

fn flatten(statement: &mut Statement) -> ControlFlow<()> {
    match statement {
        Statement::Statement(inner) => inner.visit(&mut Flatten { depth: 0 }),
        Statement::Explain(explain) => flatten(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => {
            ControlFlow::Continue(())
        }
    }
}

/// Flattens the chains of a statement and measures its depth.
struct Flatten {
    depth: usize,
}

impl VisitorMut for Flatten {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut unions = 0;
        let mut body = query.body.as_ref();
        while let SetExpr::SetOperation { left, .. } = body {
            unions += 1;
            body = left;
        }
        if unions > MAX_DEPTH {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        balance(expr);
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _expr: &mut Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// Turns a long chain of AND or OR, which the parser nests to the left, into a tree of the same operands
/// in the same order that is as flat as it can be.
fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op, .. } = &*expr else {
        return;
    };
    let op = op.clone();
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) || links(expr, &op) < SHORT {
        return;
    }
    let mut operands = Vec::new();
    let mut left_over = vec![mem::replace(expr, Expr::value(Value::Null))];
    while let Some(next) = left_over.pop() {
        match next {
            Expr::BinaryOp {
                left,
                op: inner,
                right,
            } if inner == op => left_over.extend([*right, *left]),
            operand => operands.push(operand),
        }
    }
    while operands.len() > 1 {
        let mut rest = operands.into_iter();
        let pair = || {
            let left = rest.next()?;
            Some(match rest.next() {
                Some(right) => Expr::BinaryOp {
                    left: Box::new(left),
                    op: op.clone(),
                    right: Box::new(right),
                },
                None => left,
            })
        };
        operands = std::iter::from_fn(pair).collect();
    }
    if let Some(balanced) = operands.pop() {
        *expr = balanced;
    }
}

/// How far a chain of one operator goes to the left.
fn links(chain: &Expr, op: &BinaryOperator) -> usize {
    let mut links = 0;
    let mut next = chain;
    while let Expr::BinaryOp {
        left, op: inner, ..
    } = next
        && inner == op
    {
        links += 1;
        next = left;
    }
    links
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn parsed(sql: &str) -> Result<Statement, PlannerError> {
        let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location();
        statement(tokens.unwrap())
    }

    fn long(term: &str, operator: &str, terms: usize) -> String {
        vec![term; terms].join(operator)
    }

    #[test]
    fn long_chains_keep_their_operands_in_order() {
        let terms: Vec<String> = (0..20_000).map(|term| format!("x = {term}")).collect();
        for operator in [" AND ", " OR "] {
            let sql = format!("SELECT 1 WHERE {}", terms.join(operator));
            let shown = parsed(&sql).unwrap().to_string();
            assert_eq!(shown.replace(['(', ')'], ""), sql);
        }
        let mixed = format!("SELECT 1 WHERE ({}) OR y", long("a", " AND ", 5000));
        parsed(&mixed).unwrap();
        let explained = format!("EXPLAIN SELECT 1 WHERE {}", long("a", " OR ", 5000));
        parsed(&explained).unwrap();
    }

    #[test]
    fn what_is_too_deep_is_refused_without_exhausting_the_stack() {
        for deep in [
            format!("SELECT {}", long("1", " + ", 50_000)),
            format!("SELECT a{}", " IS NULL".repeat(50_000)),
            format!("SELECT a{}", "::int".repeat(50_000)),
            long("SELECT 1", " UNION ALL ", 5000),
        ] {
            let error = parsed(&deep).unwrap_err().to_string();
            assert!(error.contains("nested too deeply"), "{error}");
        }
        let broken = format!("SELECT {} +", long("1", " + ", 50_000));
        parsed(&broken).unwrap_err();
        let endless = format!("SELECT {}", long("1", ", ", 300_000));
        let error = parsed(&endless).unwrap_err().to_string();
        assert!(error.contains("tokens"), "{error}");
        for fine in [long("1", " + ", 200), long("1", ", ", 5000)] {
            parsed(&format!("SELECT {fine}")).unwrap();
        }
    }
}
