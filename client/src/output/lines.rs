//! CSV and JSON lines.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::error::ClientError;

/// CSV with a header, which an empty result has too.
#[derive(Debug)]
pub(crate) struct CsvLines {
    header: Option<SchemaRef>,
}

impl CsvLines {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        Self {
            header: Some(Arc::clone(schema)),
        }
    }

    pub(crate) fn add(
        &mut self,
        batch: &RecordBatch,
        writer: &mut impl Write,
    ) -> Result<(), ClientError> {
        let header = self.header.take().is_some();
        // Not into the writer itself: the encoder hides what is wrong with that.
        let mut text = Vec::new();
        arrow::csv::WriterBuilder::new()
            .with_header(header)
            .build(&mut text)
            .write(&flattened(batch)?)?;
        Ok(writer.write_all(&text)?)
    }

    pub(crate) fn finish(&mut self, writer: &mut impl Write) -> Result<(), ClientError> {
        match self.header.clone() {
            Some(schema) if !schema.fields().is_empty() => {
                self.add(&RecordBatch::new_empty(schema), writer)
            }
            _ => Ok(()),
        }
    }
}

/// One JSON object a row; nulls are written, so that every row has every column.
#[derive(Debug)]
pub(crate) struct JsonLines;

impl JsonLines {
    #[expect(clippy::unused_self, reason = "the formats are called alike")]
    pub(crate) fn add(
        &self,
        batch: &RecordBatch,
        writer: &mut impl Write,
    ) -> Result<(), ClientError> {
        let mut text = Vec::new();
        let mut json = arrow::json::WriterBuilder::new()
            .with_explicit_nulls(true)
            .build::<_, arrow::json::writer::LineDelimited>(&mut text);
        json.write(batch)?;
        json.finish()?;
        Ok(writer.write_all(&text)?)
    }
}

/// CSV has no nested values: they are written as text.
fn flattened(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, array)| {
        if !array.data_type().is_nested() {
            return Ok((Arc::clone(field), Arc::clone(array)));
        }
        let text = Field::new(field.name(), DataType::Utf8, true);
        Ok((Arc::new(text), as_text(array)?))
    });
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .collect::<Result<Vec<_>, ArrowError>>()?
        .into_iter()
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn as_text(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    let values = (0..array.len()).map(|row| {
        if array.is_null(row) {
            return Ok(None);
        }
        formatter.value(row).try_to_string().map(Some)
    });
    Ok(Arc::new(values.collect::<Result<StringArray, _>>()?))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, ListArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    fn batch() -> RecordBatch {
        let list =
            ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None]);
        RecordBatch::try_from_iter_with_nullable([
            (
                "id",
                Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef,
                false,
            ),
            (
                "name",
                Arc::new(StringArray::from(vec![Some("a,\"b"), None])),
                true,
            ),
            (
                "share",
                Arc::new(Float64Array::from(vec![Some(0.5), None])),
                true,
            ),
            ("parts", Arc::new(list), true),
        ])
        .unwrap()
    }

    #[test]
    fn csv_has_one_header_and_shows_nested_values_as_text() {
        let mut lines = CsvLines::new(&batch().schema());
        let mut text = Vec::new();
        lines.add(&batch(), &mut text).unwrap();
        lines.add(&batch().slice(1, 1), &mut text).unwrap();
        lines.finish(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "id,name,share,parts\n1,\"a,\"\"b\",0.5,\"[1, ]\"\n2,,,\n2,,,\n"
        );
    }

    #[test]
    fn csv_of_no_rows_still_has_its_header() {
        let mut lines = CsvLines::new(&batch().schema());
        let mut text = Vec::new();
        lines.finish(&mut text).unwrap();
        assert_eq!(text, b"id,name,share,parts\n");
    }

    #[test]
    fn json_lines_hold_every_column_of_every_row() {
        let mut text = Vec::new();
        JsonLines.add(&batch(), &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "{\"id\":1,\"name\":\"a,\\\"b\",\"share\":0.5,\"parts\":[1,null]}\n\
             {\"id\":2,\"name\":null,\"share\":null,\"parts\":null}\n"
        );
    }

    /// What `head` leaves behind.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_told_from_every_other_failure() {
        let csv = CsvLines::new(&batch().schema()).add(&batch(), &mut Closed);
        let header = CsvLines::new(&batch().schema()).finish(&mut Closed);
        let json = JsonLines.add(&batch(), &mut Closed);
        for result in [csv, header, json] {
            let error = result.unwrap_err();
            assert!(error.is_broken_pipe(), "{error}");
        }
    }
}
