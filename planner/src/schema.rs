//! The types in which results leave. Pure: what clients cannot read is replaced by its nearest
//! type without loss.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

/// The schema in which clients get rows of `schema`: without metadata, each type as
/// [`client_type`] says.
pub(crate) fn client_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(client_field);
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// The type in which clients get values of `data_type`: views, dictionaries and run-end encoding
/// become plain, half floats become floats (older drivers fail on all of them).
pub(crate) fn client_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Float16 => DataType::Float32,
        DataType::Dictionary(_, values) => client_type(values),
        DataType::RunEndEncoded(_, values) => client_type(values.data_type()),
        DataType::List(item) | DataType::ListView(item) => DataType::List(client_field(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::LargeList(client_field(item))
        }
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(client_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(client_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(client_field(entries), *sorted),
        other => other.clone(),
    }
}

fn client_field(field: &FieldRef) -> FieldRef {
    let data_type = client_type(field.data_type());
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}

/// The first column in which two schemas differ by name or type, as text; nullability may differ.
pub(crate) fn difference(promised: &Schema, actual: &Schema) -> Option<String> {
    let (promised, actual) = (promised.fields(), actual.fields());
    if promised.len() != actual.len() {
        return Some(format!("{} columns, not {}", actual.len(), promised.len()));
    }
    let differs = |(promised, actual): &(&FieldRef, &FieldRef)| {
        promised.name() != actual.name() || promised.data_type() != actual.data_type()
    };
    let (promised, actual) = promised.iter().zip(actual).find(differs)?;
    Some(format!(
        "column {:?} of type {}, not {:?} of type {}",
        actual.name(),
        actual.data_type(),
        promised.name(),
        promised.data_type()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dictionary(values: DataType) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(values))
    }

    #[test]
    fn types_that_clients_cannot_read_are_replaced() {
        let list = |item| DataType::new_list(item, true);
        for (given, expected) in [
            (DataType::Utf8View, DataType::Utf8),
            (DataType::BinaryView, DataType::Binary),
            (DataType::Float16, DataType::Float32),
            (dictionary(DataType::Utf8View), DataType::Utf8),
            (list(DataType::Utf8View), list(DataType::Utf8)),
            (DataType::LargeUtf8, DataType::LargeUtf8),
            (DataType::Null, DataType::Null),
            (DataType::Decimal256(50, 3), DataType::Decimal256(50, 3)),
        ] {
            assert_eq!(client_type(&given), expected, "{given}");
        }
    }

    #[test]
    fn metadata_stays_behind_and_nullability_stays() {
        let field = Field::new("a", DataType::Utf8View, false)
            .with_metadata([("PARQUET:field_id".to_owned(), "1".to_owned())].into());
        let schema = client_schema(&Schema::new(vec![field]));
        assert_eq!(
            *schema,
            Schema::new(vec![Field::new("a", DataType::Utf8, false)])
        );
    }

    #[test]
    fn a_difference_names_the_column() {
        let schema = |name: &str| Schema::new(vec![Field::new(name, DataType::Int64, true)]);
        assert_eq!(difference(&schema("a"), &schema("a")), None);
        assert!(
            difference(&schema("a"), &schema("b"))
                .unwrap()
                .contains("\"b\"")
        );
        assert!(difference(&schema("a"), &Schema::empty()).is_some());
    }
}
