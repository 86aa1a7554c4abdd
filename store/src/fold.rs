//! Bounds over a whole from the bounds over its parts. Pure.

use std::cmp::Ordering;

use model::{Bound, ColumnBounds};

/// The bounds over all parts. One part without a bound leaves the whole without it, unless the part
/// has no value at all.
pub fn fold(parts: impl IntoIterator<Item = ColumnBounds>) -> ColumnBounds {
    let mut whole = Folded::default();
    for part in parts {
        whole.add(&part);
    }
    whole.bounds()
}

/// The bounds over the parts so far; of none, there is nothing known but that there are no rows.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    lower: Extreme,
    upper: Extreme,
    nulls: Sum,
    nans: Sum,
    rows: Sum,
}

/// An extreme so far: none seen yet, one, or lost.
#[derive(Clone, Debug, Default)]
enum Extreme {
    #[default]
    Unseen,
    Seen(Bound),
    Lost,
}

/// A sum so far, from zero; lost when a part is unknown.
#[derive(Clone, Debug)]
struct Sum(Option<u64>);

impl Default for Sum {
    fn default() -> Self {
        Self(Some(0))
    }
}

impl Folded {
    /// Adds one more part.
    pub fn add(&mut self, part: &ColumnBounds) {
        let no_value = part.row_count == Some(0) || part.all_null();
        self.nulls.add(part.null_count);
        self.nans.add(part.nan_count);
        self.rows.add(part.row_count);
        if !no_value {
            self.lower.add(part.lower.as_ref(), Ordering::Less);
            self.upper.add(part.upper.as_ref(), Ordering::Greater);
        }
    }

    /// The bounds over all parts that were added.
    pub fn bounds(&self) -> ColumnBounds {
        ColumnBounds {
            lower: self.lower.bound(),
            upper: self.upper.bound(),
            null_count: self.nulls.0,
            nan_count: self.nans.0,
            row_count: self.rows.0,
        }
    }
}

impl Extreme {
    fn add(&mut self, bound: Option<&Bound>, better: Ordering) {
        *self = match (std::mem::take(self), bound) {
            (Self::Lost, _) | (_, None) => Self::Lost,
            (Self::Unseen, Some(bound)) => Self::Seen(bound.clone()),
            (Self::Seen(known), Some(bound)) => match bound.value.compare(&known.value) {
                None => Self::Lost,
                Some(Ordering::Equal) => Self::Seen(Bound {
                    exact: known.exact || bound.exact,
                    ..known
                }),
                Some(order) if order == better => Self::Seen(bound.clone()),
                Some(_) => Self::Seen(known),
            },
        };
    }

    fn bound(&self) -> Option<Bound> {
        match self {
            Self::Seen(bound) => Some(bound.clone()),
            Self::Unseen | Self::Lost => None,
        }
    }
}

impl Sum {
    fn add(&mut self, part: Option<u64>) {
        self.0 = self
            .0
            .zip(part)
            .and_then(|(sum, part)| sum.checked_add(part));
    }
}
