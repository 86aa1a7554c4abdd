//! The text of an Iceberg table's `metadata.json`. Pure.

use iceberg::spec::TableMetadata;
use serde_json::{Value, json};

use super::schema::IcebergSchema;

/// What a new table's metadata says beyond its schema.
#[derive(Clone, Debug)]
pub(super) struct NewMetadata<'a> {
    /// The table's identity.
    pub(super) uuid: String,
    /// The table's folder.
    pub(super) location: &'a str,
    /// The schema and partitions.
    pub(super) schema: &'a IcebergSchema,
    /// The one snapshot.
    pub(super) snapshot_id: i64,
    /// When it was made.
    pub(super) now_unix_ms: i64,
    /// Where its manifest list is.
    pub(super) manifest_list: &'a str,
    /// Files, rows and bytes that it adds.
    pub(super) totals: Totals,
}

/// What a snapshot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) files: u64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// The sequence number of a table's first snapshot.
pub(super) const FIRST_SEQUENCE: i64 = 1;

/// Encodes the metadata of a table with one snapshot, proved to be readable.
///
/// # Errors
/// When the result is not Iceberg metadata.
pub(super) fn encode(new: &NewMetadata<'_>) -> Result<String, serde_json::Error> {
    let schema = &new.schema;
    let document = json!({
        "format-version": 2,
        "table-uuid": new.uuid,
        "location": new.location,
        "last-sequence-number": FIRST_SEQUENCE,
        "last-updated-ms": new.now_unix_ms,
        "last-column-id": schema.last_column_id,
        "current-schema-id": 0,
        "schemas": [serde_json::to_value(schema.schema.as_ref())?],
        "default-spec-id": 0,
        "partition-specs": [serde_json::to_value(&schema.spec)?],
        "last-partition-id": schema.last_partition_id(),
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {
            "schema.name-mapping.default": schema.name_mapping().to_string(),
            "write.format.default": "parquet",
        },
        "current-snapshot-id": new.snapshot_id,
        "snapshots": [snapshot(new)],
        "snapshot-log": [{"snapshot-id": new.snapshot_id, "timestamp-ms": new.now_unix_ms}],
        "metadata-log": [],
        "refs": {"main": {"snapshot-id": new.snapshot_id, "type": "branch"}},
    });
    let text = document.to_string();
    serde_json::from_str::<TableMetadata>(&text)?;
    Ok(text)
}

fn snapshot(new: &NewMetadata<'_>) -> Value {
    let Totals { files, rows, bytes } = new.totals;
    json!({
        "snapshot-id": new.snapshot_id,
        "sequence-number": FIRST_SEQUENCE,
        "timestamp-ms": new.now_unix_ms,
        "manifest-list": new.manifest_list,
        "schema-id": 0,
        "summary": {
            "operation": "append",
            "added-data-files": files.to_string(),
            "added-records": rows.to_string(),
            "added-files-size": bytes.to_string(),
            "total-data-files": files.to_string(),
            "total-records": rows.to_string(),
            "total-files-size": bytes.to_string(),
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
        },
    })
}
