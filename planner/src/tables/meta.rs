//! A table as the catalog describes it.

use arrow::datatypes::SchemaRef;
use model::{ColumnMapping, FieldId, SnapshotId, TableName, TableSchema};
use wire::proto;

use crate::error::PlannerError;

/// A table at one snapshot.
#[derive(Clone, Debug)]
pub(crate) struct TableMeta {
    pub(crate) name: TableName,
    pub(crate) kind: proto::TableKind,
    pub(crate) location: String,
    pub(crate) schema: TableSchema,
    /// The schema without field ids: what SQL sees.
    pub(crate) plain: SchemaRef,
    pub(crate) partition_fields: Vec<FieldId>,
    pub(crate) mapping: ColumnMapping,
    pub(crate) snapshot: SnapshotId,
    pub(crate) files: u64,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) metadata_location: Option<String>,
}

impl TryFrom<proto::Table> for TableMeta {
    type Error = PlannerError;

    fn try_from(table: proto::Table) -> Result<Self, PlannerError> {
        let kind = table.kind();
        let name: TableName = wire::convert::required(table.name, "table name")?.into();
        let arrow = wire::schema::decode_schema(&table.schema)?;
        let schema = TableSchema::try_new(arrow)
            .map_err(|error| PlannerError::Internal(format!("table {name}: {error}")))?;
        let fields = table.partition_field_ids.into_iter().map(FieldId);
        Ok(Self {
            plain: schema.without_ids(),
            schema,
            kind,
            location: table.location,
            partition_fields: fields.collect(),
            mapping: wire::convert::decode_mapping(table.mapping)?,
            snapshot: SnapshotId(table.snapshot_id),
            files: table.files,
            rows: table.rows,
            bytes: table.bytes,
            metadata_location: table.metadata_location,
            name,
        })
    }
}
