//! The Arrow schema of a Parquet file, and of a table of several files. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, parquet_to_arrow_schema};
use parquet::basic::Type as Physical;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::Type;

use crate::error::StoreError;
use crate::guard::guarded;
use crate::widen::common_type;

/// The Arrow schema of a file as clients see it: no views, no dictionaries (values only) and no field
/// metadata.
///
/// # Errors
/// When a column has a type that Arrow lacks. `path` is only named.
pub fn arrow_schema(path: &str, metadata: &ParquetMetaData) -> Result<SchemaRef, StoreError> {
    let file = metadata.file_metadata();
    let hints = file.key_value_metadata();
    let convert = || -> Result<Schema, ParquetError> {
        // A broken Arrow schema beside the Parquet schema is only a hint lost.
        parquet_to_arrow_schema(file.schema_descr(), hints)
            .or_else(|_| parquet_to_arrow_schema(file.schema_descr(), None))
    };
    let schema = guarded(path, || Ok::<_, ParquetError>(convert()))?.map_err(|error| {
        StoreError::Unsupported {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    })?;
    let fields = plain_fields(schema.fields());
    let root = file.schema_descr().root_schema().get_fields().iter();
    let mut by_name: HashMap<&str, &Type> = HashMap::new();
    // Of several the first counts.
    for column in root.rev() {
        by_name.insert(column.name(), column);
    }
    let fields = fields.iter().map(|field| {
        match by_name.get(field.name().as_str()) {
            Some(column) if is_int96(column) => Arc::new(Field::new(
                field.name(),
                // Years far beyond the 584 that 64 bits of nanoseconds hold are common in such columns.
                DataType::Timestamp(TimeUnit::Microsecond, None),
                field.is_nullable(),
            )),
            _ => Arc::clone(field),
        }
    });
    Ok(Arc::new(Schema::new(fields.collect::<Fields>())))
}

/// The Arrow schema that a writer left beside the Parquet schema, where it says more of the values than
/// that does.
///
/// # Errors
/// When it says more and cannot be read by itself.
pub(crate) fn telling_hints(metadata: &ParquetMetaData) -> Result<Option<SchemaRef>, String> {
    let file = metadata.file_metadata();
    let Some(hints) = file.key_value_metadata() else {
        return Ok(None);
    };
    // Of several the last counts, as for the Parquet crate.
    let mut arrow = hints
        .iter()
        .filter(|pair| pair.key == ARROW_SCHEMA_META_KEY);
    let Some(hint) = arrow.next_back().and_then(|pair| pair.value.as_ref()) else {
        return Ok(None);
    };
    let convert = |hints| {
        let schema = parquet_to_arrow_schema(file.schema_descr(), hints).ok();
        schema.map(|schema| plain_fields(schema.fields()))
    };
    let told = convert(Some(hints));
    if told.is_none() || told == convert(None) {
        return Ok(None);
    }
    let message = BASE64_STANDARD
        .decode(hint)
        .map_err(|error| error.to_string())?;
    let schema = wire::schema::decode_schema(&message).map_err(|error| error.to_string())?;
    Ok(Some(schema))
}

fn is_int96(column: &Type) -> bool {
    column.is_primitive() && column.get_physical_type() == Physical::INT96
}

fn plain_fields(fields: &Fields) -> Fields {
    fields
        .iter()
        .map(|field| Arc::new(plain_field(field)))
        .collect()
}

fn plain_field(field: &Field) -> Field {
    Field::new(
        field.name(),
        plain_type(field.data_type()),
        field.is_nullable(),
    )
}

/// The type without views, dictionaries and field metadata, at any depth.
pub fn plain_type(data_type: &DataType) -> DataType {
    let inner = |field: &FieldRef| Arc::new(plain_field(field));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::List(field) | DataType::ListView(field) => DataType::List(inner(field)),
        DataType::LargeList(field) | DataType::LargeListView(field) => {
            DataType::LargeList(inner(field))
        }
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(inner(field), *size),
        DataType::Struct(fields) => DataType::Struct(plain_fields(fields)),
        DataType::Map(field, sorted) => DataType::Map(inner(field), *sorted),
        other => other.clone(),
    }
}

/// Merges the schemas of a table's files, in the order in which they are given.
#[derive(Debug, Default)]
pub struct Merger {
    columns: Vec<Column>,
    positions: HashMap<String, usize>,
    files: usize,
}

#[derive(Debug)]
struct Column {
    field: Field,
    /// The file that gave the type.
    file: String,
    /// Files that hold the column.
    files: usize,
}

impl Merger {
    /// Adds a file's schema. A type may differ from the one before when one of the two can hold every
    /// value of the other; a column that a file lacks becomes nullable.
    ///
    /// # Errors
    /// When a column's types do not fit together: names the column and both files.
    pub fn add(&mut self, path: &str, schema: &Schema) -> Result<(), StoreError> {
        self.files += 1;
        for field in schema.fields() {
            match self
                .positions
                .get(field.name())
                .and_then(|at| self.columns.get_mut(*at))
            {
                Some(known) => known.widen(path, field)?,
                None => self.push(path, field),
            }
        }
        Ok(())
    }

    fn push(&mut self, path: &str, field: &Field) {
        self.positions
            .insert(field.name().clone(), self.columns.len());
        self.columns.push(Column {
            field: field.clone(),
            file: path.to_owned(),
            files: 1,
        });
    }

    /// The schema that fits all files.
    pub fn finish(self) -> SchemaRef {
        let files = self.files;
        let field = |column: Column| {
            let nullable = column.field.is_nullable() || column.files < files;
            column.field.with_nullable(nullable)
        };
        Arc::new(Schema::new(
            self.columns.into_iter().map(field).collect::<Vec<_>>(),
        ))
    }
}

impl Column {
    fn widen(&mut self, path: &str, other: &Field) -> Result<(), StoreError> {
        let common = common_type(self.field.data_type(), other.data_type());
        let common = common.ok_or_else(|| StoreError::Clash {
            column: other.name().clone(),
            first: self.file.clone(),
            first_type: self.field.data_type().to_string(),
            second: path.to_owned(),
            second_type: other.data_type().to_string(),
        })?;
        if &common != self.field.data_type() {
            path.clone_into(&mut self.file);
        }
        self.files += 1;
        let nullable = self.field.is_nullable() || other.is_nullable();
        self.field = Field::new(other.name(), common, nullable);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: &[(&str, DataType, bool)]) -> Schema {
        let fields = fields
            .iter()
            .map(|(name, data_type, nullable)| Field::new(*name, data_type.clone(), *nullable));
        Schema::new(fields.collect::<Vec<_>>())
    }

    #[test]
    fn types_widen_and_absent_columns_become_nullable() {
        let mut merger = Merger::default();
        let first = schema(&[("a", DataType::Int32, false), ("b", DataType::Utf8, false)]);
        let second = schema(&[("c", DataType::Null, true), ("a", DataType::Int64, false)]);
        let third = schema(&[("a", DataType::Int8, false), ("c", DataType::Date32, false)]);
        merger.add("1", &first).unwrap();
        merger.add("2", &second).unwrap();
        merger.add("3", &third).unwrap();
        let expected = schema(&[
            ("a", DataType::Int64, false),
            ("b", DataType::Utf8, true),
            ("c", DataType::Date32, true),
        ]);
        assert_eq!(*merger.finish(), expected);
    }

    #[test]
    fn clashing_types_name_the_column_and_both_files() {
        let mut merger = Merger::default();
        merger
            .add("file:///1", &schema(&[("a", DataType::Int32, false)]))
            .unwrap();
        let error = merger
            .add("file:///2", &schema(&[("a", DataType::Utf8, false)]))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "files of clashing schemas: column \"a\" is Int32 in file:///1 but Utf8 in file:///2"
        );
    }

    #[test]
    fn views_dictionaries_and_metadata_go_at_any_depth() {
        let inner = Field::new("x", DataType::Utf8View, true)
            .with_metadata([("PARQUET:field_id".to_owned(), "3".to_owned())].into());
        let nested = DataType::List(Arc::new(Field::new(
            "item",
            DataType::Struct(vec![inner].into()),
            true,
        )));
        let plain = plain_type(&nested);
        let expected = Field::new("x", DataType::Utf8, true);
        let expected = DataType::Struct(vec![expected].into());
        assert_eq!(
            plain,
            DataType::List(Arc::new(Field::new("item", expected, true)))
        );
        let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8View.into());
        assert_eq!(plain_type(&dictionary), DataType::Utf8);
    }
}
