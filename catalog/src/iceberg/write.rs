//! Manifests and manifest lists of a new table, encoded in memory. No store is touched here.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use iceberg::io::FileIO;
use iceberg::spec::{
    DataContentType, DataFile as IcebergFile, DataFileBuilder, DataFileFormat, Datum, Literal,
    ManifestFile, ManifestListWriter, ManifestWriterBuilder, PrimitiveType, Struct,
};
use iceberg::{Error, ErrorKind};
use model::{Bound, FieldId};

use super::bytes::{Side, encode};
use super::files::Layout;
use super::metadata::FIRST_SEQUENCE;
use super::schema::IcebergSchema;
use crate::index::IndexedFile;

/// Entries of one manifest; about eight megabytes with a few dozen columns.
const ENTRIES: usize = 4096;

/// A file in a manifest.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    /// What the catalog knows of it.
    pub(super) file: &'a IndexedFile,
    /// What its footer says beyond that.
    pub(super) layout: Layout,
}

/// Encoded files by their names within the metadata folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoded {
    /// Manifests first, the manifest list last.
    pub(super) files: Vec<(String, Bytes)>,
    /// The manifest list's name.
    pub(super) manifest_list: String,
}

/// Encodes the manifests and the manifest list of a first snapshot. `folder` is the URL under which the
/// files will lie, `unique` a part of their names that nobody used before.
pub(super) async fn encode_manifests(
    schema: &IcebergSchema,
    entries: &[Entry<'_>],
    snapshot: i64,
    folder: &str,
    unique: &str,
) -> Result<Encoded, Error> {
    let memory = FileIO::new_with_memory();
    let mut encoded = Encoded::default();
    let mut manifests: Vec<ManifestFile> = Vec::new();
    for (number, chunk) in entries.chunks(ENTRIES).enumerate() {
        let name = format!("{unique}-m{number}.avro");
        let scratch = format!("memory:///{name}");
        let output = memory.new_output(&scratch)?;
        let (types, spec) = (Arc::clone(&schema.schema), schema.spec.clone());
        let builder = ManifestWriterBuilder::new(output, Some(snapshot), types, spec);
        let mut writer = builder.build_v2_data();
        for entry in chunk {
            writer.add_file(data_file(schema, entry)?, FIRST_SEQUENCE)?;
        }
        let mut manifest = writer.write_manifest_file().await?;
        manifest.manifest_path = format!("{folder}/{name}");
        manifests.push(manifest);
        encoded
            .files
            .push((name, memory.new_input(&scratch)?.read().await?));
    }
    let name = format!("snap-{snapshot}-1-{unique}.avro");
    let scratch = format!("memory:///{name}");
    let output = memory.new_output(&scratch)?.writer().await?;
    let mut list = ManifestListWriter::v2(output, snapshot, None, FIRST_SEQUENCE);
    list.add_manifests(manifests.into_iter())?;
    list.close().await?;
    encoded
        .files
        .push((name.clone(), memory.new_input(&scratch)?.read().await?));
    encoded.manifest_list = name;
    Ok(encoded)
}

fn data_file(schema: &IcebergSchema, entry: &Entry<'_>) -> Result<IcebergFile, Error> {
    let file = entry.file;
    let rows = file.file.record_count.unwrap_or_default();
    let mut statistics = Statistics::default();
    for (id, bounds) in file.column_bounds() {
        // Only plain values have counts and bounds that mean the same to every reader.
        let Some(kind) = schema.primitive(*id) else {
            continue;
        };
        statistics.value_counts.insert(id.0, rows);
        if let Some(nulls) = bounds.null_count {
            statistics.null_counts.insert(id.0, nulls);
        }
        let sides = [
            (&bounds.lower, Side::Lower, &mut statistics.lower),
            (&bounds.upper, Side::Upper, &mut statistics.upper),
        ];
        for (bound, side, into) in sides {
            if let Some(bound) = bound.as_ref().and_then(|bound| datum(bound, kind, side)) {
                into.insert(id.0, bound);
            }
        }
    }
    let sizes = entry.layout.column_sizes.iter();
    DataFileBuilder::default()
        .content(DataContentType::Data)
        .file_path(file.file.path.clone())
        .file_format(DataFileFormat::Parquet)
        .partition(partition(schema, file)?)
        .record_count(rows)
        .file_size_in_bytes(file.file.size)
        .column_sizes(sizes.map(|(id, size)| (id.0, *size)).collect())
        .value_counts(statistics.value_counts)
        .null_value_counts(statistics.null_counts)
        .lower_bounds(statistics.lower)
        .upper_bounds(statistics.upper)
        .split_offsets(Some(entry.layout.split_offsets.clone()))
        .partition_spec_id(schema.spec.spec_id())
        .build()
        .map_err(|error| Error::new(ErrorKind::DataInvalid, error.to_string()))
}

#[derive(Default)]
struct Statistics {
    value_counts: HashMap<i32, u64>,
    null_counts: HashMap<i32, u64>,
    lower: HashMap<i32, Datum>,
    upper: HashMap<i32, Datum>,
}

fn datum(bound: &Bound, kind: &PrimitiveType, side: Side) -> Option<Datum> {
    let bytes = encode(&bound.value, kind, side)?;
    Datum::try_from_bytes(&bytes, kind.clone()).ok()
}

fn partition(schema: &IcebergSchema, file: &IndexedFile) -> Result<Struct, Error> {
    let fields = schema.spec.fields().iter().map(|field| {
        let id = FieldId(field.source_id);
        let value = file
            .partition_values()
            .iter()
            .find(|value| value.field == id);
        let Some(value) = value.and_then(|value| value.value.as_ref()) else {
            return Ok(None);
        };
        let odd = || {
            let message = format!("partition value {value} of {} does not fit", field.name);
            Error::new(ErrorKind::DataInvalid, message)
        };
        let kind = schema.primitive(id).ok_or_else(odd)?;
        let bytes = encode(value, kind, Side::Upper).ok_or_else(odd)?;
        Ok(Some(Literal::from(Datum::try_from_bytes(
            &bytes,
            kind.clone(),
        )?)))
    });
    fields.collect()
}
