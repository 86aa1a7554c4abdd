//! The files of a managed table's snapshot, from its Iceberg metadata.

use std::sync::Arc;

use apache_avro::Reader;
use apache_avro::types::Value;
use arrow_schema::DataType;
use futures::{StreamExt, TryStreamExt, stream};
use iceberg::spec::{TableMetadata, Transform};
use model::{Bound, ColumnBounds, Datum, FieldId, PartitionValue, SnapshotId, TableName};
use store::{Ledger, Stores};

use super::avro::{Record, bytes, integer};
use super::bytes::decode;
use crate::error::CatalogError;
use crate::table::Columns;

/// A file as a manifest describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ManagedFile {
    /// The full URL.
    pub(crate) path: String,
    /// Bytes.
    pub(crate) size: u64,
    /// Rows.
    pub(crate) record_count: u64,
    /// The value of each partition column.
    pub(crate) partitions: Vec<PartitionValue>,
    /// Bounds of the other columns, by field id.
    pub(crate) bounds: Vec<(FieldId, ColumnBounds)>,
}

/// Manifests under way at once.
const PARALLEL: usize = 8;

/// Reads the files of a snapshot, in path order: metadata, manifest list and manifests. Nothing when the
/// metadata has no such snapshot.
pub(crate) async fn read_snapshot(
    stores: &Stores,
    table: &TableName,
    metadata_location: &str,
    snapshot: SnapshotId,
    columns: &Columns,
) -> Result<Option<Vec<ManagedFile>>, CatalogError> {
    let text = read_whole(stores, metadata_location).await?;
    let metadata: TableMetadata =
        serde_json::from_slice(&text).map_err(CatalogError::metadata(table, metadata_location))?;
    let Some(found) = metadata.snapshot_by_id(snapshot.0) else {
        return Ok(None);
    };
    let list = found.manifest_list().to_owned();
    let manifests = manifests(&read_whole(stores, &list).await?)
        .map_err(CatalogError::metadata(table, &list))?;
    if manifests.iter().any(|manifest| manifest.deletes) {
        return Err(CatalogError::Unsupported(format!(
            "table {table}: delete files are not supported, and {list} has some"
        )));
    }
    let context = Arc::new((metadata, columns.clone()));
    let read = |manifest: Manifest| read_manifest(stores, table, manifest, Arc::clone(&context));
    let reads: Vec<_> = manifests.into_iter().map(read).collect();
    let read: Vec<Vec<ManagedFile>> = stream::iter(reads).buffered(PARALLEL).try_collect().await?;
    let mut files: Vec<ManagedFile> = read.into_iter().flatten().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Some(files))
}

/// Fetches a manifest and decodes it on a thread that may take its time.
async fn read_manifest(
    stores: &Stores,
    table: &TableName,
    manifest: Manifest,
    context: Arc<(TableMetadata, Columns)>,
) -> Result<Vec<ManagedFile>, CatalogError> {
    let bytes = read_whole(stores, &manifest.path).await?;
    let decode = move || entries(&bytes, &context.0, manifest.spec, &context.1);
    let decoded = tokio::task::spawn_blocking(decode).await;
    let decoded = decoded.map_err(|error| CatalogError::Interrupted(error.to_string()))?;
    decoded.map_err(CatalogError::metadata(table, &manifest.path))
}

async fn read_whole(stores: &Stores, url: &str) -> Result<bytes::Bytes, CatalogError> {
    let ledger = Ledger::new(stores.resolve(url)?);
    Ok(ledger.read_whole("table metadata").await?)
}

struct Manifest {
    path: String,
    spec: i32,
    /// Whether its files say which rows of others do not count.
    deletes: bool,
}

fn manifests(list: &[u8]) -> Result<Vec<Manifest>, String> {
    let records = Reader::new(list).map_err(|error| error.to_string())?;
    let mut manifests = Vec::new();
    for record in records {
        let record = record.map_err(|error| error.to_string())?;
        let record = Record::of(&record).ok_or("an entry is no record")?;
        let spec = record
            .integer("partition_spec_id")
            .and_then(|spec| i32::try_from(spec).ok());
        manifests.push(Manifest {
            path: record
                .text("manifest_path")
                .ok_or("a manifest has no path")?
                .to_owned(),
            spec: spec.ok_or("a manifest has no partition spec")?,
            // Lists of the first version of the format do not say.
            deletes: record.integer("content").unwrap_or(DATA) != DATA,
        });
    }
    Ok(manifests)
}

/// The content of manifests, and of files in them, that is rows of the table.
const DATA: i64 = 0;

/// An entry's status when its file is gone.
const DELETED: i64 = 2;

fn entries(
    manifest: &[u8],
    metadata: &TableMetadata,
    spec: i32,
    columns: &Columns,
) -> Result<Vec<ManagedFile>, String> {
    let spec = metadata
        .partition_spec_by_id(spec)
        .ok_or("its partition spec is unknown")?;
    // Identity partitions only: what a transform gives is no value of the column. A tuple has the
    // spec's fields in their order, under names that writers change where Avro allows them not.
    let fields = spec.fields().iter().enumerate();
    let identity = fields.filter(|(_, field)| field.transform == Transform::Identity);
    let partitions: Vec<(usize, FieldId)> = identity
        .map(|(position, field)| (position, FieldId(field.source_id)))
        .collect();
    let records = Reader::new(manifest).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for record in records {
        let record = record.map_err(|error| error.to_string())?;
        let entry = Record::of(&record).ok_or("an entry is no record")?;
        if entry.integer("status") == Some(DELETED) {
            continue;
        }
        let file = entry
            .get("data_file")
            .and_then(Record::of)
            .ok_or("an entry has no file")?;
        if file.integer("content").unwrap_or(DATA) != DATA {
            return Err("an entry is no data file".to_owned());
        }
        files.push(managed_file(file, &partitions, columns)?);
    }
    Ok(files)
}

fn managed_file(
    file: Record<'_>,
    partitions: &[(usize, FieldId)],
    columns: &Columns,
) -> Result<ManagedFile, String> {
    let path = file.text("file_path").ok_or("a file has no path")?;
    let count = |name: &str| {
        let count = file
            .integer(name)
            .and_then(|count| u64::try_from(count).ok());
        count.ok_or_else(|| format!("{path} has no {name}"))
    };
    let record_count = count("record_count")?;
    let tuple = file.get("partition").and_then(Record::of);
    let values = partitions.iter().filter_map(|(position, field)| {
        let (_, column) = columns.schema.field(*field)?;
        let value = tuple.and_then(|tuple| tuple.at(*position));
        let value = value.map(|value| {
            let typed = partition_value(value, column.data_type());
            typed.ok_or_else(|| format!("{path} has an odd value of partition {}", column.name()))
        });
        Some(value.transpose().map(|value| PartitionValue {
            field: *field,
            value,
        }))
    });
    Ok(ManagedFile {
        path: path.to_owned(),
        size: count("file_size_in_bytes")?,
        record_count,
        partitions: values.collect::<Result<_, _>>()?,
        bounds: bounds(file, record_count, columns),
    })
}

fn partition_value(value: &Value, data_type: &DataType) -> Option<Datum> {
    match value {
        Value::Boolean(value) => Some(Datum::Boolean(*value)),
        Value::Float(value) => Some(Datum::Float((*value).into())),
        Value::Double(value) => Some(Datum::Float(*value)),
        Value::String(text) => decode(text.as_bytes(), data_type),
        other => match integer(other) {
            Some(integer) => decode(&integer.to_le_bytes(), data_type),
            None => decode(bytes(other)?, data_type),
        },
    }
}

/// What the metrics say of each plain column; bounds may be cut, so none of them is exact.
fn bounds(file: Record<'_>, rows: u64, columns: &Columns) -> Vec<(FieldId, ColumnBounds)> {
    let mut bounds: Vec<(FieldId, ColumnBounds)> = columns
        .schema
        .ids()
        .iter()
        .map(|id| (*id, ColumnBounds::default()))
        .collect();
    let mut set = |name: &str, apply: &dyn Fn(&mut ColumnBounds, &Value, &DataType)| {
        for (id, value) in file.map(name) {
            let known = columns.schema.field(FieldId(id));
            if let Some((position, field)) = known
                && let Some((_, bounds)) = bounds.get_mut(position)
            {
                bounds.row_count = Some(rows);
                apply(bounds, value, field.data_type());
            }
        }
    };
    set("value_counts", &|_, _, _| {});
    set("null_value_counts", &|bounds, value, _| {
        bounds.null_count = count(value);
    });
    set("nan_value_counts", &|bounds, value, _| {
        bounds.nan_count = count(value);
    });
    set("lower_bounds", &|bounds, value, kind| {
        bounds.lower = outer(value, kind);
    });
    set("upper_bounds", &|bounds, value, kind| {
        bounds.upper = outer(value, kind);
    });
    let known = bounds.into_iter();
    let known = known.filter(|(_, bounds)| bounds.row_count.is_some());
    known.map(|(id, bounds)| (id, bounds.sound())).collect()
}

fn count(value: &Value) -> Option<u64> {
    u64::try_from(integer(value)?).ok()
}

fn outer(value: &Value, kind: &DataType) -> Option<Bound> {
    decode(bytes(value)?, kind).map(Bound::outer)
}
