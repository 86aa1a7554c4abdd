//! Why something was skipped, as facts. Text is made only when a reason is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds::{Bound, ColumnBounds};
use crate::predicate::ColumnPredicate;

/// Where a decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Partition values of a file.
    Partition,
    /// Partition summaries of a manifest.
    Manifest,
    /// Column bounds of a file.
    Bounds,
    /// Statistics of a row group.
    RowGroup,
    /// The column index of a page.
    Page,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Partition => "partition",
            Self::Manifest => "manifest",
            Self::Bounds => "bounds",
            Self::RowGroup => "row-group",
            Self::Page => "page",
        })
    }
}

/// One refuted test: the conjunct, the column and the bounds that were seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The column's name.
    pub column: String,
    /// The test without the column, such as `>= 2024-03-01 AND < 2024-03-15`.
    pub test: String,
    /// The lower bound that was seen.
    pub lower: Option<String>,
    /// The upper bound that was seen.
    pub upper: Option<String>,
    /// The null count that was seen.
    pub null_count: Option<u64>,
    /// Whether every row is null.
    pub all_null: bool,
}

impl Condition {
    /// The facts of a refuted test.
    pub fn new(predicate: &ColumnPredicate, bounds: &ColumnBounds) -> Self {
        let shown = |bound: &Option<Bound>| bound.as_ref().map(|bound| bound.value.to_string());
        Self {
            column: predicate.name.clone(),
            test: test(predicate),
            lower: shown(&bounds.lower),
            upper: shown(&bounds.upper),
            null_count: bounds.null_count,
            all_null: bounds.all_null(),
        }
    }
}

fn test(predicate: &ColumnPredicate) -> String {
    let everything = predicate.values.is_everything();
    match (predicate.values.is_empty(), everything, predicate.nulls) {
        (true, _, true) => "IS NULL".to_owned(),
        (_, true, false) => "IS NOT NULL".to_owned(),
        (_, _, true) => format!("{} OR IS NULL", predicate.values),
        (_, _, false) => predicate.values.to_string(),
    }
}

/// Why a file, row group or page was skipped. No condition at all means that the filter itself can
/// match no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Where it was decided.
    pub level: Level,
    /// The refuted tests: one, or one for each alternative of an OR.
    pub conditions: Vec<Condition>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.conditions.is_empty() {
            return f.write_str("the filter can match no row");
        }
        for (position, condition) in self.conditions.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{condition}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, but ", self.column, self.test)?;
        if self.all_null {
            return f.write_str("every row is null");
        }
        match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) => write!(f, "values are {lower} to {upper}"),
            (Some(lower), None) => write!(f, "values are at least {lower}"),
            (None, Some(upper)) => write!(f, "values are at most {upper}"),
            (None, None) => match self.null_count {
                Some(nulls) => write!(f, "{nulls} rows are null"),
                None => f.write_str("nothing matches"),
            },
        }
    }
}
