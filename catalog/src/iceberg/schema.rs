//! Table schemas as Iceberg schemas. Pure.
//!
//! A type is mapped when every value survives and every reader of Iceberg gives the same rows; any other
//! is refused by the column's name.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use iceberg::spec::{
    ListType, MapType, NestedField, NestedFieldRef, PartitionSpec, PrimitiveType, Schema,
    StructType, Transform, Type,
};
use model::{FieldId, TableSchema};
use serde_json::{Value, json};

use super::names::partition_name;
use super::types::primitive;

/// The id of the first partition field, by the spec.
const FIRST_PARTITION_ID: i32 = 1000;

/// A table's schema in Iceberg's terms.
#[derive(Clone, Debug)]
pub(super) struct IcebergSchema {
    /// The schema; top-level columns keep their field ids.
    pub(super) schema: Arc<Schema>,
    /// Identity partitions of the columns that come from the paths.
    pub(super) spec: PartitionSpec,
    /// The largest field id, those of nested fields included.
    pub(super) last_column_id: i32,
}

/// Maps a schema. `last_id` is the largest field id that the table ever used: nested fields get ids
/// after it.
///
/// # Errors
/// A sentence that names the column which Iceberg cannot hold.
pub(super) fn iceberg_schema(
    table: &TableSchema,
    partition_fields: &[FieldId],
    last_id: i32,
) -> Result<IcebergSchema, String> {
    let mut ids = Ids(last_id);
    let mut fields: Vec<NestedFieldRef> = Vec::with_capacity(table.ids().len());
    for (id, field) in table.ids().iter().zip(table.arrow().fields()) {
        let kind = ids.convert(field.data_type()).ok_or_else(|| {
            format!(
                "column {:?} is {}, which Iceberg lacks",
                field.name(),
                field.data_type()
            )
        })?;
        fields.push(nested(id.0, field, kind));
    }
    let schema = Schema::builder().with_fields(fields).with_schema_id(0);
    let schema = Arc::new(schema.build().map_err(|error| error.to_string())?);
    let mut spec = PartitionSpec::builder(Arc::clone(&schema)).with_spec_id(0);
    let mut targets = Vec::with_capacity(partition_fields.len());
    for field in partition_fields {
        let name = table.field(*field).map(|(_, field)| field.name().clone());
        let name = name.ok_or_else(|| format!("partition column {} is unknown", field.0))?;
        let target = partition_name(&name, table, &targets);
        spec = spec
            .add_partition_field(&name, &target, Transform::Identity)
            .map_err(|error| error.to_string())?;
        targets.push(target);
    }
    Ok(IcebergSchema {
        spec: spec.build().map_err(|error| error.to_string())?,
        schema,
        last_column_id: ids.0,
    })
}

impl IcebergSchema {
    /// The largest partition field id.
    pub(super) fn last_partition_id(&self) -> i32 {
        self.spec
            .highest_field_id()
            .unwrap_or(FIRST_PARTITION_ID - 1)
    }

    /// The primitive type of a top-level column.
    pub(super) fn primitive(&self, id: FieldId) -> Option<&PrimitiveType> {
        self.schema
            .field_by_id(id.0)?
            .field_type
            .as_primitive_type()
    }

    /// How columns are found in files that carry no ids: by their names.
    pub(super) fn name_mapping(&self) -> Value {
        mapping(self.schema.as_struct().fields())
    }
}

fn mapping(fields: &[NestedFieldRef]) -> Value {
    fields
        .iter()
        .map(|field| mapped(field, &[field.name.as_str()]))
        .collect()
}

fn mapped(field: &NestedField, names: &[&str]) -> Value {
    let below = match field.field_type.as_ref() {
        Type::Primitive(_) => return json!({"field-id": field.id, "names": names}),
        Type::Struct(inner) => mapping(inner.fields()),
        // Arrow writers call the element "item" where the spec says "element".
        Type::List(list) => json!([mapped(&list.element_field, &["element", "item"])]),
        Type::Map(map) => json!([
            mapped(&map.key_field, &["key"]),
            mapped(&map.value_field, &["value"])
        ]),
    };
    json!({"field-id": field.id, "names": names, "fields": below})
}

fn nested(id: i32, field: &Field, kind: Type) -> NestedFieldRef {
    Arc::new(NestedField::new(
        id,
        field.name(),
        kind,
        !field.is_nullable(),
    ))
}

/// The largest id that was given.
struct Ids(i32);

impl Ids {
    fn next(&mut self) -> i32 {
        self.0 += 1;
        self.0
    }

    fn convert(&mut self, data_type: &DataType) -> Option<Type> {
        match data_type {
            DataType::List(element) | DataType::LargeList(element) => {
                let id = self.next();
                let kind = self.convert(element.data_type())?;
                let element = NestedField::list_element(id, kind, !element.is_nullable());
                Some(Type::List(ListType::new(Arc::new(element))))
            }
            DataType::Struct(fields) if !fields.is_empty() => {
                let fields = fields.iter().map(|field| {
                    let id = self.next();
                    Some(nested(id, field, self.convert(field.data_type())?))
                });
                let fields = fields.collect::<Option<Vec<_>>>()?;
                Some(Type::Struct(StructType::new(fields)))
            }
            DataType::Map(entries, _) => self.convert_map(entries.data_type()),
            other => primitive(other).map(Type::Primitive),
        }
    }

    fn convert_map(&mut self, entries: &DataType) -> Option<Type> {
        let DataType::Struct(fields) = entries else {
            return None;
        };
        let [key, value] = fields.as_ref() else {
            return None;
        };
        // DuckDB finds keys and values by these names only.
        if key.name() != "key" || value.name() != "value" {
            return None;
        }
        let (key_id, value_id) = (self.next(), self.next());
        let key = NestedField::map_key_element(key_id, self.convert(key.data_type())?);
        let kind = self.convert(value.data_type())?;
        let value = NestedField::map_value_element(value_id, kind, !value.is_nullable());
        Some(Type::Map(MapType::new(Arc::new(key), Arc::new(value))))
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    fn table(fields: &[(&str, DataType)]) -> TableSchema {
        let fields = fields.iter();
        let fields = fields.map(|(name, kind)| Field::new(*name, kind.clone(), true));
        TableSchema::numbered(&arrow_schema::Schema::new(fields.collect::<Vec<_>>()))
    }

    #[test]
    fn nested_fields_get_ids_after_those_of_the_columns() {
        let element = DataType::Struct(vec![Field::new("x", DataType::Utf8, true)].into());
        let table = table(&[
            ("l", DataType::new_list(element, true)),
            ("p", DataType::Int64),
        ]);
        let mapped = iceberg_schema(&table, &[FieldId(2)], 7).unwrap();
        assert_eq!(mapped.last_column_id, 9);
        assert_eq!(mapped.last_partition_id(), 1000);
        let expected = json!([
            {"field-id": 1, "names": ["l"], "fields": [
                {"field-id": 8, "names": ["element", "item"], "fields": [
                    {"field-id": 9, "names": ["x"]}
                ]}
            ]},
            {"field-id": 2, "names": ["p"]},
        ]);
        assert_eq!(mapped.name_mapping(), expected);
    }

    #[test]
    fn partitions_have_names_that_avro_allows_and_nobody_else_has() {
        let columns = ["event-date", "event_x2Ddate", "année", "2x", "plain"];
        let table = table(&columns.map(|name| (name, DataType::Utf8)));
        let ids: Vec<FieldId> = (1..=5).map(FieldId).collect();
        let mapped = iceberg_schema(&table, &ids, 5).unwrap();
        let names: Vec<_> = mapped.spec.fields().iter().map(|f| &f.name).collect();
        assert_eq!(
            names,
            [
                "event_x2Ddate_",
                "event_x2Ddate",
                "ann_xE9e",
                "_2x",
                "plain"
            ]
        );
    }

    #[test]
    fn a_type_that_iceberg_lacks_is_refused_by_its_column() {
        let lacking = [
            DataType::Null,
            DataType::UInt64,
            DataType::Float16,
            DataType::Date64,
            DataType::Time32(TimeUnit::Millisecond),
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Paris".into())),
            DataType::Decimal32(9, 2),
            DataType::Decimal256(50, 2),
            DataType::Decimal128(9, -2),
            DataType::new_list(DataType::UInt64, true),
        ];
        for kind in lacking {
            let error = iceberg_schema(&table(&[("odd", kind.clone())]), &[], 1).unwrap_err();
            assert_eq!(
                error,
                format!("column \"odd\" is {kind}, which Iceberg lacks")
            );
        }
    }
}
