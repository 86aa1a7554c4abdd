//! The tables that there are, as metadata shows them: name, kind, columns with what drivers want to
//! know of each.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use model::TableName;
use model::schema::CATALOG;
use wire::proto;

use crate::engine::Engine;
use crate::error::PlannerError;
use crate::schema::client_schema;
use crate::system;
use crate::tables::TableMeta;

/// What kind of table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableType {
    /// A table of the catalog.
    Table,
    /// A table that tells of Fulmar itself.
    System,
}

impl TableType {
    /// The name that drivers know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::System => "SYSTEM TABLE",
        }
    }
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: TableName,
    /// Its kind.
    pub(crate) table_type: TableType,
    /// Its columns as clients get them.
    pub(crate) schema: SchemaRef,
    /// How many rows it has, when that is known.
    pub(crate) rows: Option<u64>,
}

/// All tables: those of the catalog, then those that tell of Fulmar itself.
///
/// # Errors
/// When the catalog is out of reach or gives a table that cannot be read.
pub(crate) async fn tables(engine: &Engine) -> Result<Vec<Listed>, PlannerError> {
    let request = proto::ListTablesRequest { schema: None };
    let answer = engine.catalog().list_tables(request).await;
    let answer = answer.map_err(|status| engine.catalog_failed(&status))?;
    let tables = answer.into_inner().tables.into_iter().map(listed);
    let mut tables = tables.collect::<Result<Vec<_>, _>>()?;
    tables.extend(system::schemas().into_iter().map(|(table, schema)| Listed {
        name: TableName::new(system::SCHEMA, table),
        table_type: TableType::System,
        schema: client_schema(&schema),
        rows: None,
    }));
    Ok(tables)
}

fn listed(table: proto::Table) -> Result<Listed, PlannerError> {
    let table = TableMeta::try_from(table)?;
    Ok(Listed {
        table_type: TableType::Table,
        schema: client_schema(&table.plain),
        rows: Some(table.rows),
        name: table.name,
    })
}

/// The columns with the metadata of Flight SQL. Remarks are left out: drivers show them as the
/// column's label.
pub(crate) fn annotated(table: &Listed) -> Schema {
    let fields = table.schema.fields().iter().map(|field| {
        let metadata = column_metadata(&table.name, field);
        Arc::new(field.as_ref().clone().with_metadata(metadata))
    });
    Schema::new(fields.collect::<Vec<_>>())
}

fn column_metadata(table: &TableName, field: &Field) -> HashMap<String, String> {
    let flag = |value: bool| if value { "1" } else { "0" };
    let text = matches!(
        field.data_type(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    );
    let mut metadata = vec![
        ("CATALOG_NAME", CATALOG.to_owned()),
        ("SCHEMA_NAME", table.schema.clone()),
        ("TABLE_NAME", table.table.clone()),
        ("TYPE_NAME", type_name(field.data_type()).to_owned()),
        ("IS_AUTO_INCREMENT", flag(false).to_owned()),
        ("IS_CASE_SENSITIVE", flag(text).to_owned()),
        ("IS_READ_ONLY", flag(true).to_owned()),
        ("IS_SEARCHABLE", flag(true).to_owned()),
    ];
    if let DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)
    | DataType::Decimal256(precision, scale) = field.data_type()
    {
        metadata.push(("PRECISION", precision.to_string()));
        metadata.push(("SCALE", scale.to_string()));
    }
    metadata
        .into_iter()
        .map(|(key, value)| (format!("ARROW:FLIGHT:SQL:{key}"), value))
        .collect()
}

/// The SQL name of a type, as `GetXdbcTypeInfo` lists it.
fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::UInt8 => "TINYINT UNSIGNED",
        DataType::Int16 => "SMALLINT",
        DataType::UInt16 => "SMALLINT UNSIGNED",
        DataType::Int32 => "INTEGER",
        DataType::UInt32 => "INTEGER UNSIGNED",
        DataType::Int64 => "BIGINT",
        DataType::UInt64 => "BIGINT UNSIGNED",
        DataType::Float16 | DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "DECIMAL",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "VARBINARY",
        DataType::Date32 | DataType::Date64 => "DATE",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Timestamp(_, None) => "TIMESTAMP",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL",
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => "ARRAY",
        DataType::Struct(_) => "STRUCT",
        DataType::Map(..) => "MAP",
        DataType::Dictionary(_, values) => type_name(values),
        DataType::RunEndEncoded(_, values) => type_name(values.data_type()),
        DataType::Union(..) => "UNION",
        DataType::Null => "NULL",
    }
}
