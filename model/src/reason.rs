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
    /// The Bloom filter of a column chunk.
    Bloom,
    /// The dictionary of a column chunk, all of whose pages are encoded with it.
    Dictionary,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Partition => "partition",
            Self::Manifest => "manifest",
            Self::Bounds => "bounds",
            Self::RowGroup => "row-group",
            Self::Page => "page",
            Self::Bloom => "bloom",
            Self::Dictionary => "dictionary",
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
    /// The refuted tests: one, or one for each alternative of an OR, but not more than
    /// [`MOST_CONDITIONS`].
    pub conditions: Vec<Condition>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

/// Most conditions of one reason: an OR may have thousands of alternatives.
pub const MOST_CONDITIONS: usize = 8;

/// Whether a count need not be written; the signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Reason {
    /// A reason to which conditions are still to be added.
    pub fn at(level: Level) -> Self {
        Self {
            level,
            conditions: Vec::new(),
            more: 0,
        }
    }

    /// Adds the refuted test of a column, or only counts it.
    pub fn refuted(&mut self, predicate: &ColumnPredicate, bounds: &ColumnBounds) {
        if self.conditions.len() < MOST_CONDITIONS {
            self.conditions.push(Condition::new(predicate, bounds));
        } else {
            self.more += 1;
        }
    }
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
            match self.level {
                Level::Bloom => write!(f, "{condition:#}, but the Bloom filter holds none")?,
                Level::Dictionary => write!(f, "{condition:#}, but the dictionary holds none")?,
                _ => write!(f, "{condition}")?,
            }
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "; {more} more"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.column, self.test)?;
        // Where more than bounds decided, they are no reason.
        if f.alternate() {
            return Ok(());
        }
        f.write_str(", but ")?;
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

#[cfg(test)]
mod tests {
    use crate::bounds::Bound;
    use crate::datum::Datum;
    use crate::schema::FieldId;
    use crate::value_set::ValueSet;

    use super::*;

    #[test]
    fn a_reason_with_very_many_conditions_tells_some_and_counts_the_rest() {
        let bounds = ColumnBounds {
            lower: Some(Bound::exact(Datum::Int(1))),
            ..ColumnBounds::default()
        };
        let mut reason = Reason::at(Level::Page);
        for value in -10..0 {
            let test = ColumnPredicate {
                field: FieldId(1),
                name: "x".to_owned(),
                values: ValueSet::points([Datum::Int(value)]),
                nulls: false,
            };
            reason.refuted(&test, &bounds);
        }
        assert_eq!(reason.conditions.len(), MOST_CONDITIONS);
        let text = reason.to_string();
        assert!(
            text.starts_with("x = -10, but values are at least 1; "),
            "{text}"
        );
        assert!(text.ends_with("; 2 more"), "{text}");
    }
}
