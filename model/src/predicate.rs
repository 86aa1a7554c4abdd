//! The part of a filter that the pruner understands, and the one evaluator of it.
//!
//! A [`Predicate`] is implied by the real filter: a row that passes the filter passes the predicate.
//! It is in negation normal form, bound to field ids, and its leaves are sets of values, so that all
//! comparisons on one column of a conjunction are one [`ColumnPredicate`].
//!
//! # Nulls
//!
//! A leaf says for a null row only whether it passes ([`ColumnPredicate::nulls`]); SQL's "unknown" is
//! "does not pass". That is enough because NOT is pushed down to the leaves when the predicate is made
//! (`NOT x < 5` is `x >= 5`, which a null does not pass either).

use crate::bounds::{ColumnBounds, StatsSource};
use crate::datum::Datum;
use crate::reason::{Level, Reason};
use crate::schema::FieldId;
use crate::value_set::ValueSet;

/// Most intervals of the values of one test: the lists that people and tools write are shorter, and a
/// predicate must travel.
const MOST_INTERVALS: usize = 10_000;

/// What bounds say of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// No row can match.
    None,
    /// Unknown: some rows may match.
    Some,
    /// Every row matches.
    All,
}

/// Which rows of one column pass.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnPredicate {
    /// The column.
    pub field: FieldId,
    /// Its name when the predicate was bound; only shown, never looked up.
    pub name: String,
    /// The non-null values that pass.
    pub values: ValueSet,
    /// Whether a null passes.
    pub nulls: bool,
}

/// A filter as far as the pruner understands it.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Every row passes.
    Always,
    /// No row passes.
    Never,
    /// A part that the pruner does not understand: any row may pass.
    Unknown,
    /// A test of one column.
    Column(ColumnPredicate),
    /// All parts pass.
    And(Vec<Predicate>),
    /// Some part passes.
    Or(Vec<Predicate>),
}

impl Predicate {
    /// A test of one column, reduced to [`Predicate::Never`] when nothing can pass. Of a set of very
    /// many intervals only the outermost ends are kept, and that there is more to it.
    pub fn column(field: FieldId, name: &str, values: ValueSet, nulls: bool) -> Self {
        if values.is_empty() && !nulls {
            return Self::Never;
        }
        let test = |values| {
            Self::Column(ColumnPredicate {
                field,
                name: name.to_owned(),
                values,
                nulls,
            })
        };
        if values.intervals().len() > MOST_INTERVALS {
            return Self::And(vec![test(values.hull()), Self::Unknown]);
        }
        test(values)
    }

    /// The conjunction. Tests of one column are intersected first, where their values compare.
    pub fn and(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::Always => {}
                Self::Never => return Self::Never,
                Self::And(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        let merged = merge_columns(flat);
        if merged.contains(&Self::Never) {
            return Self::Never;
        }
        match <[Self; 1]>::try_from(merged) {
            Ok([only]) => only,
            Err(parts) if parts.is_empty() => Self::Always,
            Err(parts) => Self::And(parts),
        }
    }

    /// The disjunction. A part that is [`Predicate::Unknown`] makes all of it unknown.
    pub fn or(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::Never => {}
                Self::Always => return Self::Always,
                Self::Or(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        if flat.contains(&Self::Unknown) {
            return Self::Unknown;
        }
        match <[Self; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(parts) if parts.is_empty() => Self::Never,
            Err(parts) => Self::Or(parts),
        }
    }

    /// The parts that must all pass: those of a conjunction, or the predicate itself.
    pub fn conjuncts(&self) -> &[Self] {
        match self {
            Self::And(parts) => parts,
            only => std::slice::from_ref(only),
        }
    }

    /// Whether bounds could ever rule anything out.
    pub fn can_prune(&self) -> bool {
        match self {
            Self::Always | Self::Unknown => false,
            Self::Never | Self::Column(_) => true,
            Self::And(parts) => parts.iter().any(Self::can_prune),
            Self::Or(parts) => parts.iter().all(Self::can_prune),
        }
    }

    /// The columns that the predicate tests, each once, in first-use order.
    pub fn fields(&self) -> Vec<FieldId> {
        let mut fields = Vec::new();
        self.collect_fields(&mut fields);
        fields
    }

    fn collect_fields(&self, fields: &mut Vec<FieldId>) {
        match self {
            Self::Always | Self::Never | Self::Unknown => {}
            Self::Column(column) => {
                if !fields.contains(&column.field) {
                    fields.push(column.field);
                }
            }
            Self::And(parts) | Self::Or(parts) => {
                for part in parts {
                    part.collect_fields(fields);
                }
            }
        }
    }

    /// What `stats` say of the predicate.
    ///
    /// The verdict is sound whatever the statistics lack: missing or odd ones give
    /// [`Verdict::Some`].
    pub fn verdict<S: StatsSource + ?Sized>(&self, stats: &S) -> Verdict {
        match self {
            Self::Always => Verdict::All,
            Self::Never => Verdict::None,
            Self::Unknown => Verdict::Some,
            Self::Column(column) => match stats.bounds(column.field) {
                Some(bounds) => column.verdict(&bounds),
                None => Verdict::Some,
            },
            Self::And(parts) => conjunction(parts.iter().map(|part| part.verdict(stats))),
            Self::Or(parts) => disjunction(parts.iter().map(|part| part.verdict(stats))),
        }
    }

    /// Why the verdict is [`Verdict::None`], or `None` when it is not: the first refuted conjunct, or
    /// every alternative of a disjunction.
    pub fn refutation<S: StatsSource + ?Sized>(&self, stats: &S, level: Level) -> Option<Reason> {
        if self.verdict(stats) != Verdict::None {
            return None;
        }
        let mut reason = Reason::at(level);
        self.collect_refuted(stats, &mut reason);
        Some(reason)
    }

    fn collect_refuted<S: StatsSource + ?Sized>(&self, stats: &S, found: &mut Reason) {
        match self {
            Self::Column(column) => {
                if let Some(bounds) = stats.bounds(column.field) {
                    found.refuted(column, &bounds);
                }
            }
            Self::And(parts) => {
                if let Some(part) = parts
                    .iter()
                    .find(|part| part.verdict(stats) == Verdict::None)
                {
                    part.collect_refuted(stats, found);
                }
            }
            Self::Or(parts) => parts
                .iter()
                .for_each(|part| part.collect_refuted(stats, found)),
            Self::Always | Self::Never | Self::Unknown => {}
        }
    }
}

/// Three-valued AND over verdicts.
pub fn conjunction(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let mut all = Verdict::All;
    for verdict in verdicts {
        match verdict {
            Verdict::None => return Verdict::None,
            Verdict::Some => all = Verdict::Some,
            Verdict::All => {}
        }
    }
    all
}

/// Three-valued OR over verdicts.
pub fn disjunction(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let mut any = Verdict::None;
    for verdict in verdicts {
        match verdict {
            Verdict::All => return Verdict::All,
            Verdict::Some => any = Verdict::Some,
            Verdict::None => {}
        }
    }
    any
}

fn merge_columns(parts: Vec<Predicate>) -> Vec<Predicate> {
    let mut merged: Vec<Predicate> = Vec::with_capacity(parts.len());
    for part in parts {
        let Predicate::Column(column) = &part else {
            merged.push(part);
            continue;
        };
        let earlier = merged.iter_mut().find_map(|candidate| match candidate {
            Predicate::Column(earlier) if earlier.field == column.field => Some(earlier),
            _ => None,
        });
        let both =
            earlier.and_then(|earlier| Some((earlier.values.intersect(&column.values)?, earlier)));
        match both {
            Some((values, earlier)) if values.intervals().len() <= MOST_INTERVALS => {
                earlier.values = values;
                earlier.nulls &= column.nulls;
            }
            // Two tests that both must pass are as good as one.
            _ => merged.push(part),
        }
    }
    for part in &mut merged {
        if matches!(part, Predicate::Column(column) if column.values.is_empty() && !column.nulls) {
            *part = Predicate::Never;
        }
    }
    merged
}

impl ColumnPredicate {
    /// What the bounds of the column say of this test.
    pub fn verdict(&self, bounds: &ColumnBounds) -> Verdict {
        if bounds.all_null() {
            return if self.nulls {
                Verdict::All
            } else {
                Verdict::None
            };
        }
        let null_may_pass = self.nulls && !bounds.no_null();
        if !null_may_pass && !self.value_may_pass(bounds) {
            return Verdict::None;
        }
        let nulls_settled = self.nulls || bounds.no_null();
        if nulls_settled && self.values_surely_pass(bounds) {
            return Verdict::All;
        }
        Verdict::Some
    }

    fn value_may_pass(&self, bounds: &ColumnBounds) -> bool {
        let (lower, upper) = (bounds.lower_limit(), bounds.upper_limit());
        self.values.may_overlap(lower.as_deref(), upper.as_deref())
            || nan_possible(bounds) && self.nan_may_pass()
    }

    fn values_surely_pass(&self, bounds: &ColumnBounds) -> bool {
        let (lower, upper) = (bounds.lower_limit(), bounds.upper_limit());
        let covered = self
            .values
            .surely_covers(lower.as_deref(), upper.as_deref());
        covered && (!nan_possible(bounds) || self.nan_surely_passes())
    }

    /// NaN of the positive sign is above every value and of the negative sign below, so an interval
    /// that is open on either side holds one (datafusion#15812: `NaN > 5` is true in the row filter).
    fn nan_may_pass(&self) -> bool {
        let positive = Datum::Float(f64::NAN);
        let negative = Datum::Float(-f64::NAN);
        self.values.may_overlap(Some(&positive), None)
            || self.values.may_overlap(None, Some(&negative))
    }

    fn nan_surely_passes(&self) -> bool {
        self.values.surely_covers(None, None)
    }
}

/// Whether the rows could hold a NaN: the column is a float, as far as its bounds tell, and its NaN
/// count is not known to be zero. A column without any bound is unknown anyway.
fn nan_possible(bounds: &ColumnBounds) -> bool {
    let float = |bound: &Option<crate::bounds::Bound>| {
        bound
            .as_ref()
            .is_some_and(|bound| matches!(bound.value, Datum::Float(_)))
    };
    bounds.nan_count != Some(0) && (float(&bounds.lower) || float(&bounds.upper))
}
