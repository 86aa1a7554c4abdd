//! Building columns from rows, by name: the schema and the values of a system table in one place.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
    UInt64Array,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::error::PlannerError;

/// The type of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Count,
    Id,
    Flag,
    Time,
}

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Count => DataType::UInt64,
            Self::Id => DataType::Int64,
            Self::Flag => DataType::Boolean,
            Self::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        }
    }
}

/// One value.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Text(Option<String>),
    Count(Option<u64>),
    Id(Option<i64>),
    Flag(Option<bool>),
    /// Milliseconds since 1970.
    Time(Option<i64>),
}

impl Cell {
    /// A text, null when empty.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Some(text.into()).filter(|text| !text.is_empty()))
    }

    /// A count.
    pub(super) fn count(count: u64) -> Self {
        Self::Count(Some(count))
    }
}

/// The schema of these columns; every column may be null.
pub(super) fn schema(columns: &[(&str, Kind)]) -> SchemaRef {
    let field = |(name, kind): &(&str, Kind)| Field::new(*name, kind.data_type(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// A batch of these rows, each with a cell for every column.
pub(super) fn batch(schema: &SchemaRef, rows: &[Vec<Cell>]) -> Result<RecordBatch, PlannerError> {
    let column = |(position, field): (usize, &Arc<Field>)| {
        let cells = rows.iter().map(|row| row.get(position));
        column(field.data_type(), cells)
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    RecordBatch::try_new(Arc::clone(schema), columns)
        .map_err(|error| PlannerError::Internal(format!("system table: {error}")))
}

fn column<'a>(data_type: &DataType, cells: impl Iterator<Item = Option<&'a Cell>>) -> ArrayRef {
    match data_type {
        DataType::UInt64 => Arc::new(cells.map(count).collect::<UInt64Array>()),
        DataType::Int64 => Arc::new(cells.map(id).collect::<Int64Array>()),
        DataType::Boolean => Arc::new(cells.map(flag).collect::<BooleanArray>()),
        DataType::Timestamp(..) => {
            let times = cells.map(time).collect::<TimestampMillisecondArray>();
            Arc::new(times.with_timezone("UTC"))
        }
        _ => Arc::new(cells.map(text).collect::<StringArray>()),
    }
}

fn count(cell: Option<&Cell>) -> Option<u64> {
    match cell {
        Some(Cell::Count(count)) => *count,
        _ => None,
    }
}

fn id(cell: Option<&Cell>) -> Option<i64> {
    match cell {
        Some(Cell::Id(id)) => *id,
        _ => None,
    }
}

fn flag(cell: Option<&Cell>) -> Option<bool> {
    match cell {
        Some(Cell::Flag(flag)) => *flag,
        _ => None,
    }
}

fn time(cell: Option<&Cell>) -> Option<i64> {
    match cell {
        Some(Cell::Time(time)) => *time,
        _ => None,
    }
}

fn text(cell: Option<&Cell>) -> Option<&str> {
    match cell {
        Some(Cell::Text(text)) => text.as_deref(),
        _ => None,
    }
}
