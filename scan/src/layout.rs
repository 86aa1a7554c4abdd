//! How the columns of a table come out of one file: decoded and cast, or constant. Does no I/O.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::scalar::ScalarValue;
use model::{FieldId, PartitionValue, ScanTask};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use store::columns::FileColumns;

use crate::constant;
use crate::error::ScanError;
use crate::opened::OpenedFile;
use crate::stages::Stage;

/// Where the columns of a [`Stage`] come from in one file.
#[derive(Debug)]
pub(crate) struct Layout {
    path: String,
    /// What to decode; nothing when no column is in the file.
    pub(crate) levels: Option<FieldLevels>,
    /// The leaf columns to fetch, ascending.
    pub(crate) leaves: Vec<usize>,
    sources: Vec<Source>,
    schema: SchemaRef,
}

#[derive(Debug)]
enum Source {
    /// A position in the decoded batch.
    Decoded(usize),
    Constant(ScalarValue),
}

/// The columns that are the same in every row of a task's file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants<'a>(pub(crate) &'a [PartitionValue]);

impl<'a> Constants<'a> {
    pub(crate) fn of(task: &'a ScanTask) -> Self {
        Self(&task.partition_values)
    }

    pub(crate) fn get(&self, field: FieldId) -> Option<&'a PartitionValue> {
        self.0.iter().find(|value| value.field == field)
    }
}

impl Layout {
    /// Where the columns of `stage` are in `file`. A partition value wins over a column of the file; a
    /// column that the file lacks is null.
    ///
    /// # Errors
    /// When a partition value is none of its column's type, or the file's columns cannot be decoded.
    pub(crate) fn new(
        stage: &Stage,
        file: &OpenedFile,
        columns: &FileColumns,
        constants: Constants<'_>,
    ) -> Result<Self, ScanError> {
        let mut roots: Vec<usize> = Vec::new();
        let mut leaves: Vec<usize> = Vec::new();
        let mut found: Vec<Result<usize, ScalarValue>> = Vec::with_capacity(stage.columns.len());
        for (position, field) in stage.columns.iter().zip(stage.schema.fields()) {
            let constant = stage.ids.get(found.len()).and_then(|id| constants.get(*id));
            let column = columns.columns.get(*position).and_then(Option::as_ref);
            found.push(match (constant, column) {
                (Some(value), _) => {
                    Err(constant::scalar(value.value.as_ref(), field, file.path())?)
                }
                (None, Some(column)) => {
                    roots.push(column.root);
                    leaves.extend(column.leaves.clone());
                    Ok(column.root)
                }
                (None, None) => Err(constant::scalar(None, field, file.path())?),
            });
        }
        roots.sort_unstable();
        roots.dedup();
        leaves.sort_unstable();
        leaves.dedup();
        let source = |found: Result<usize, ScalarValue>| match found {
            Ok(root) => Source::Decoded(roots.binary_search(&root).unwrap_or_default()),
            Err(constant) => Source::Constant(constant),
        };
        Ok(Self {
            path: file.path().to_owned(),
            levels: levels(file, columns, &roots)?,
            leaves,
            sources: found.into_iter().map(source).collect(),
            schema: Arc::clone(&stage.schema),
        })
    }

    /// The columns of the stage, as the table's types, from decoded columns of the file.
    ///
    /// # Errors
    /// When a value does not fit in the table's type.
    pub(crate) fn arrange(&self, decoded: &RecordBatch) -> Result<RecordBatch, ScanError> {
        let rows = decoded.num_rows();
        let fields = self.schema.fields().iter();
        let columns = self
            .sources
            .iter()
            .zip(fields)
            .map(|(source, field)| match source {
                Source::Decoded(place) => self.adapted(decoded.columns().get(*place), field),
                Source::Constant(value) => value
                    .to_array_of_size(rows)
                    .map_err(|error| self.misfit(field, error.strip_backtrace())),
            });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(
            |error| ScanError::Rows {
                path: self.path.clone(),
                reason: error.to_string(),
            },
        )
    }

    fn adapted(&self, column: Option<&ArrayRef>, field: &Field) -> Result<ArrayRef, ScanError> {
        let column = column.ok_or_else(|| self.misfit(field, "it was not decoded".to_owned()))?;
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        cast_with_options(column, field.data_type(), &options)
            .map_err(|error| self.misfit(field, error.to_string()))
    }

    fn misfit(&self, field: &Field, reason: String) -> ScanError {
        misfit(&self.path, field.name(), field.data_type(), reason)
    }
}

/// A column of a file that is not what the table says.
pub(crate) fn misfit(path: &str, column: &str, kind: &DataType, reason: String) -> ScanError {
    ScanError::Column {
        path: path.to_owned(),
        column: column.to_owned(),
        kind: kind.to_string(),
        reason,
    }
}

fn levels(
    file: &OpenedFile,
    columns: &FileColumns,
    roots: &[usize],
) -> Result<Option<FieldLevels>, ScanError> {
    if roots.is_empty() {
        return Ok(None);
    }
    let descriptor = file.metadata().file_metadata().schema_descr();
    let mask = ProjectionMask::roots(descriptor, roots.iter().copied());
    let levels = parquet_to_arrow_field_levels(descriptor, mask, Some(columns.schema.fields()));
    let levels = levels.map_err(|error| ScanError::Rows {
        path: file.path().to_owned(),
        reason: error.to_string(),
    })?;
    Ok(Some(levels))
}
