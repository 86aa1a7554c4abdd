//! Names and schemas. Arrow's own schema types carry the field ids in the metadata key that Parquet
//! readers and writers use.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

/// The metadata key under which the Parquet crates keep a field id.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// The identity of a column within its table: it survives renames and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldId(pub i32);

/// A table's name within the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableName {
    /// The schema (Iceberg: namespace).
    pub schema: String,
    /// The table.
    pub table: String,
}

/// The name of the one catalog that a planner serves.
pub const CATALOG: &str = "fulmar";

/// The schema of names that give none.
pub const DEFAULT_SCHEMA: &str = "main";

impl TableName {
    /// A name in a schema.
    pub fn new(schema: impl Into<String>, table: impl Into<String>) -> Self {
        Self {
            schema: schema.into(),
            table: table.into(),
        }
    }

    /// A name in the default schema.
    pub fn main(table: impl Into<String>) -> Self {
        Self::new(DEFAULT_SCHEMA, table)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CATALOG}.{}.{}", self.schema, self.table)
    }
}

/// A table's columns in order, each with its field id. Partition columns are columns like others;
/// files need not hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    arrow: SchemaRef,
    ids: Vec<FieldId>,
}

/// A schema whose fields cannot be identified.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("column {column:?} has no valid field id")]
pub struct MissingFieldId {
    /// The column.
    pub column: String,
}

impl TableSchema {
    /// Numbers the top-level columns from 1 in their order, replacing ids that are there already.
    pub fn numbered(schema: &Schema) -> Self {
        let ids: Vec<FieldId> = (1..).take(schema.fields().len()).map(FieldId).collect();
        let fields: Vec<Field> = schema
            .fields()
            .iter()
            .zip(&ids)
            .map(|(field, id)| with_id(field.as_ref().clone(), *id))
            .collect();
        Self {
            arrow: Arc::new(Schema::new(fields)),
            ids,
        }
    }

    /// A schema whose fields carry their ids in the metadata key [`FIELD_ID_KEY`].
    ///
    /// # Errors
    /// When a top-level field has none.
    pub fn try_new(schema: SchemaRef) -> Result<Self, MissingFieldId> {
        let ids = schema.fields().iter().map(|field| {
            field_id(field).ok_or_else(|| MissingFieldId {
                column: field.name().clone(),
            })
        });
        Ok(Self {
            ids: ids.collect::<Result<_, _>>()?,
            arrow: schema,
        })
    }

    /// The Arrow schema, with field ids in the fields' metadata.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// The field ids in column order.
    pub fn ids(&self) -> &[FieldId] {
        &self.ids
    }

    /// The column's position and field.
    pub fn field(&self, id: FieldId) -> Option<(usize, &Field)> {
        let position = self.ids.iter().position(|candidate| *candidate == id)?;
        self.arrow
            .fields()
            .get(position)
            .map(|field| (position, field.as_ref()))
    }

    /// The id of the column with exactly this name.
    pub fn id_of(&self, name: &str) -> Option<FieldId> {
        let position = self.arrow.index_of(name).ok()?;
        self.ids.get(position).copied()
    }

    /// The columns at these positions, with their ids.
    #[must_use]
    pub fn project(&self, positions: &[usize]) -> Self {
        let fields = self.arrow.fields();
        let chosen = positions.iter().filter_map(|position| {
            let field = fields.get(*position)?;
            Some((Arc::clone(field), *self.ids.get(*position)?))
        });
        let (fields, ids): (Vec<_>, Vec<_>) = chosen.unzip();
        Self {
            arrow: Arc::new(Schema::new(fields)),
            ids,
        }
    }

    /// The schema as clients see it: without field ids.
    pub fn without_ids(&self) -> SchemaRef {
        let plain = |field: &Arc<Field>| field.as_ref().clone().with_metadata(HashMap::new());
        Arc::new(Schema::new(
            self.arrow.fields().iter().map(plain).collect::<Vec<_>>(),
        ))
    }
}

/// The id in a field's metadata, if there is a valid one.
pub fn field_id(field: &Field) -> Option<FieldId> {
    field
        .metadata()
        .get(FIELD_ID_KEY)?
        .parse()
        .ok()
        .map(FieldId)
}

fn with_id(field: Field, id: FieldId) -> Field {
    field.with_metadata(HashMap::from([(FIELD_ID_KEY.to_owned(), id.0.to_string())]))
}
