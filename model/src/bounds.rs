//! What is known of a column over some rows, and the one interface through which the evaluator asks.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::datum::Datum;
use crate::schema::FieldId;

/// A lower or upper bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// A value that no value of the rows is beyond.
    pub value: Datum,
    /// Whether the value occurs in the rows. Truncated bounds do not; they are good for pruning but
    /// never answer `min` or `max`.
    pub exact: bool,
}

impl Bound {
    /// A bound that is itself one of the values.
    pub fn exact(value: Datum) -> Self {
        Self { value, exact: true }
    }

    /// An outer bound that need not occur.
    pub fn outer(value: Datum) -> Self {
        Self {
            value,
            exact: false,
        }
    }
}

/// What is known of one column over some rows (a file, a row group, a page). A missing part is
/// unknown, never zero.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ColumnBounds {
    /// No non-null, non-NaN value is below this.
    pub lower: Option<Bound>,
    /// No non-null, non-NaN value is above this.
    pub upper: Option<Bound>,
    /// Number of nulls.
    pub null_count: Option<u64>,
    /// Number of NaNs of either sign; bounds leave NaN out.
    pub nan_count: Option<u64>,
    /// Number of rows, nulls included.
    pub row_count: Option<u64>,
}

impl ColumnBounds {
    /// The bounds of a column that holds one value in all of its rows, such as a partition value.
    /// `None` is null.
    pub fn constant(value: Option<Datum>) -> Self {
        let null = value.is_none();
        let bound = value.map(Bound::exact);
        let nan = bound.as_ref().is_some_and(|bound| bound.value.is_nan());
        Self {
            lower: bound.clone(),
            upper: bound,
            null_count: Some(u64::from(null)),
            nan_count: Some(u64::from(nan)),
            row_count: Some(1),
        }
    }

    /// Whether every row is surely null.
    pub fn all_null(&self) -> bool {
        self.row_count.is_some() && self.null_count == self.row_count
    }

    /// Whether surely no row is null.
    pub fn no_null(&self) -> bool {
        self.null_count == Some(0)
    }

    /// Without bounds that cannot be: NaN on either side, or a lower one above the upper one, as in files
    /// of writers that do not order text by its bytes.
    #[must_use]
    pub fn sound(mut self) -> Self {
        let is_nan = |bound: &Option<Bound>| bound.as_ref().is_some_and(|b| b.value.is_nan());
        let nan = is_nan(&self.lower) || is_nan(&self.upper);
        let crossed = match (self.lower_limit(), self.upper_limit()) {
            (Some(lower), Some(upper)) => !matches!(
                lower.compare(&upper),
                Some(Ordering::Less | Ordering::Equal)
            ),
            _ => false,
        };
        if nan || crossed {
            self.lower = None;
            self.upper = None;
        }
        self
    }

    /// The lower limit as the evaluator uses it: a NaN bound means unknown, and a zero covers both
    /// zeros (parquet-format#348).
    pub(crate) fn lower_limit(&self) -> Option<Cow<'_, Datum>> {
        limit(self.lower.as_ref(), -0.0)
    }

    /// The upper limit as the evaluator uses it; see [`ColumnBounds::lower_limit`].
    pub(crate) fn upper_limit(&self) -> Option<Cow<'_, Datum>> {
        limit(self.upper.as_ref(), 0.0)
    }
}

fn limit(bound: Option<&Bound>, zero: f64) -> Option<Cow<'_, Datum>> {
    let value = &bound?.value;
    match value {
        Datum::Float(float) if float.is_nan() => None,
        Datum::Float(float) if *float == 0.0 => Some(Cow::Owned(Datum::Float(zero))),
        _ => Some(Cow::Borrowed(value)),
    }
}

/// Something that knows bounds: a file in the catalog, a row group, a page, partition values.
///
/// A new source only answers this one question; deciding is the evaluator's.
pub trait StatsSource {
    /// What is known of a column, or `None` when nothing is.
    fn bounds(&self, field: FieldId) -> Option<Cow<'_, ColumnBounds>>;
}

impl StatsSource for [(FieldId, ColumnBounds)] {
    fn bounds(&self, field: FieldId) -> Option<Cow<'_, ColumnBounds>> {
        self.iter()
            .find(|(id, _)| *id == field)
            .map(|(_, bounds)| Cow::Borrowed(bounds))
    }
}
