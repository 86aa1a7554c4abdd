//! Predicates of bounded size: a list of a hundred thousand values prunes hardly better than the
//! thousand ranges that they fall into, but travels with every ticket and is compared with every page.

use std::cmp::Ordering;

use model::interval::End;
use model::{Datum, Interval, Predicate, ValueSet};

/// Ranges of one column's values that are kept apart.
pub(super) const MAX_VALUES: usize = 1000;

/// The predicate with at most [`MAX_VALUES`] ranges for each column, see [`coarse_to`].
pub(super) fn coarse(predicate: Predicate) -> Predicate {
    coarse_to(predicate, MAX_VALUES)
}

/// The predicate, or when it is large one that is implied by it and, like it, holds for sure only
/// where the filter does: values of a column fall into ranges, and an [`Predicate::Unknown`] beside
/// them says that the ranges are too wide.
pub(super) fn coarse_to(predicate: Predicate, max: usize) -> Predicate {
    match predicate {
        Predicate::Column(column) if column.values.intervals().len() > max => {
            match ranges(column.values.intervals(), max) {
                Some(values) => Predicate::and([
                    Predicate::column(column.field, &column.name, values, column.nulls),
                    Predicate::Unknown,
                ]),
                None => Predicate::Unknown,
            }
        }
        Predicate::And(parts) => Predicate::and(parts.into_iter().map(|part| coarse_to(part, max))),
        Predicate::Or(parts) => {
            let coarser = Predicate::or(parts.into_iter().map(|part| coarse_to(part, max)));
            if size(&coarser) > 4 * max {
                return Predicate::Unknown;
            }
            coarser
        }
        small => small,
    }
}

fn size(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::Column(column) => column.values.intervals().len() + 1,
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().map(size).sum(),
        Predicate::Always | Predicate::Never | Predicate::Unknown => 1,
    }
}

/// Neighbouring intervals joined with what is between them; nothing when they have no order.
fn ranges(intervals: &[Interval], max: usize) -> Option<ValueSet> {
    let mut ordered: Vec<&Interval> = intervals.iter().collect();
    let mut comparable = true;
    ordered.sort_by(|a, b| {
        let order = compare(a.lower(), b.lower(), Ordering::Less);
        comparable &= order.is_some();
        order.unwrap_or(Ordering::Equal)
    });
    if !comparable {
        return None;
    }
    let groups = ordered.chunks(ordered.len().div_ceil(max));
    let ranges = groups.map(|group| {
        let (first, rest) = group.split_first()?;
        let mut upper = first.upper();
        for interval in rest {
            if compare(upper, interval.upper(), Ordering::Greater)? == Ordering::Less {
                upper = interval.upper();
            }
        }
        Interval::new(closed(first.lower()), closed(upper))
    });
    ranges.collect::<Option<Vec<_>>>().map(ValueSet::of)
}

/// The end with its value: of two ends at one value, either may have come first.
fn closed(end: &End) -> End {
    match end {
        End::Exclusive(value) => End::Inclusive(value.clone()),
        other => other.clone(),
    }
}

/// The order of two ends by their values, where an open one is `open` to every other.
fn compare(a: &End, b: &End, open: Ordering) -> Option<Ordering> {
    match (value(a), value(b)) {
        (None, None) => Some(Ordering::Equal),
        (None, Some(_)) => Some(open),
        (Some(_), None) => Some(open.reverse()),
        (Some(a), Some(b)) => a.compare(b),
    }
}

fn value(end: &End) -> Option<&Datum> {
    match end {
        End::Unbounded => None,
        End::Inclusive(value) | End::Exclusive(value) => Some(value),
    }
}
