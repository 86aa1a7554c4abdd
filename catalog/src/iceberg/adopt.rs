//! From a snapshot of a listing table to the Iceberg metadata of a managed one. Data files stay where
//! they are and as they are.

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use model::{SnapshotId, TableName};
use store::{Location, Stores};
use uuid::Uuid;

use super::files::read_layout;
use super::metadata::{self, NewMetadata, Totals};
use super::read::{ManagedFile, read_snapshot};
use super::schema::{IcebergSchema, iceberg_schema};
use super::write::{Encoded, Entry, encode_manifests};
use super::written::Written;
use crate::error::CatalogError;
use crate::index::{IndexedFile, TableIndex};
use crate::listing::Report;
use crate::table::Progress;

/// Footers under way at once.
const PARALLEL: usize = 32;

/// What is to be adopted, and where its metadata goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adoption<'a> {
    /// The stores.
    pub(crate) stores: &'a Stores,
    /// The folder of all managed tables.
    pub(crate) warehouse: &'a str,
    /// The snapshot that becomes the first of the managed table.
    pub(crate) index: &'a TableIndex,
    /// The identity that it gets in both catalogs.
    pub(crate) snapshot: SnapshotId,
    /// Now.
    pub(crate) now_unix_ms: i64,
}

/// What was written.
#[derive(Debug)]
pub(crate) struct Adopted {
    /// Where other engines open the table.
    pub(crate) metadata_location: String,
    /// The largest field id, those of nested fields included.
    pub(crate) last_field_id: i32,
    /// The files, to be kept once the table refers to them.
    pub(crate) written: Written,
}

/// Writes the metadata of a managed table with the files of a listing table, and reads it back. The
/// table's schema, its files' columns and their versions are checked first; nothing is written when
/// one does not fit, and nothing stays when the writing fails.
pub(crate) async fn adopt(
    adoption: Adoption<'_>,
    report: Report<'_>,
) -> Result<Adopted, CatalogError> {
    let table = &adoption.index.table;
    let columns = &table.snapshot.columns;
    let refuse = |reason: String| {
        CatalogError::Unsupported(format!(
            "table {} cannot be adopted: {reason}",
            table.name()
        ))
    };
    let schema = iceberg_schema(
        &columns.schema,
        &columns.partition_fields,
        table.last_field_id,
    )
    .map_err(refuse)?;
    let entries = entries(adoption, report).await?;
    let unique = Uuid::new_v4().to_string();
    let warehouse = adoption.stores.resolve(adoption.warehouse)?;
    let folder = folder(&warehouse, table.name(), &unique)?;
    let mut written = Written::new(folder.clone());
    let target = Target {
        warehouse,
        folder,
        unique,
    };
    match write(adoption, &schema, &entries, &target, &mut written).await {
        Ok(metadata_location) => Ok(Adopted {
            metadata_location,
            last_field_id: schema.last_column_id,
            written,
        }),
        Err(error) => {
            written.remove().await;
            Err(error)
        }
    }
}

/// Where an adoption writes.
struct Target {
    warehouse: Location,
    /// Its own folder.
    folder: Location,
    /// A part of names that nobody used before.
    unique: String,
}

async fn write(
    adoption: Adoption<'_>,
    schema: &IcebergSchema,
    entries: &[Entry<'_>],
    target: &Target,
    written: &mut Written,
) -> Result<String, CatalogError> {
    let metadata = target.folder.join("metadata")?;
    let unique = &target.unique;
    let location = metadata.join(&format!("00000-{unique}.metadata.json"))?;
    let table = adoption.index.table.name();
    let snapshot = adoption.snapshot.0;
    let encoded = encode_manifests(schema, entries, snapshot, &metadata.url, unique).await;
    let encoded = encoded.map_err(CatalogError::metadata(table, &location.url))?;
    let text = document(adoption, schema, &target.folder, &metadata, &encoded)
        .map_err(CatalogError::metadata(table, &location.url))?;
    for (name, bytes) in encoded.files {
        written.put(metadata.join(&name)?, bytes).await?;
    }
    // Last, so that whoever finds it finds all that it names.
    written.put(location.clone(), text.into()).await?;
    written.sync(&target.warehouse).await?;
    read_back(adoption, &location.url).await?;
    Ok(location.url)
}

/// Metadata that we could not read would make the table unreadable for good.
async fn read_back(adoption: Adoption<'_>, location: &str) -> Result<(), CatalogError> {
    let table = &adoption.index.table;
    let odd = CatalogError::metadata(table.name(), location);
    let (snapshot, columns) = (adoption.snapshot, &table.snapshot.columns);
    let read = read_snapshot(adoption.stores, table.name(), location, snapshot, columns).await?;
    let read = read.ok_or_else(|| odd("it lacks its own snapshot".to_owned()))?;
    let files = &adoption.index.files;
    let same = |(read, file): (&ManagedFile, &IndexedFile)| {
        read.path == file.file.path
            && Some(read.record_count) == file.file.record_count
            && read.partitions == file.partition_values()
    };
    match read.iter().zip(files).find(|pair| !same(*pair)) {
        Some((file, _)) => Err(odd(format!("it says otherwise of {}", file.path))),
        None if read.len() != files.len() => Err(odd("it lacks files".to_owned())),
        None => Ok(()),
    }
}

async fn entries<'a>(
    adoption: Adoption<'a>,
    report: Report<'_>,
) -> Result<Vec<Entry<'a>>, CatalogError> {
    let files = &adoption.index.files;
    let progress = |done: usize| Progress {
        files_done: done as u64,
        files_total: files.len() as u64,
        footers_read: done as u64,
    };
    report(progress(0));
    // Boxed one by one: the compiler cannot see through a closure over references here.
    let read = |file: &'a IndexedFile| entry(adoption, file).boxed();
    let mut reads = stream::iter(files.iter().map(read).collect::<Vec<_>>()).buffered(PARALLEL);
    let mut entries = Vec::with_capacity(files.len());
    while let Some(entry) = reads.try_next().await? {
        entries.push(entry);
        report(progress(entries.len()));
    }
    Ok(entries)
}

async fn entry<'a>(
    adoption: Adoption<'a>,
    file: &'a IndexedFile,
) -> Result<Entry<'a>, CatalogError> {
    let table = &adoption.index.table;
    let columns = &table.snapshot.columns;
    let partitions = file.partition_values();
    let layout = read_layout(
        adoption.stores,
        table.name(),
        columns,
        &file.file,
        partitions,
    );
    Ok(Entry {
        layout: layout.await?,
        file,
    })
}

fn document(
    adoption: Adoption<'_>,
    schema: &IcebergSchema,
    folder: &Location,
    metadata: &Location,
    encoded: &Encoded,
) -> Result<String, serde_json::Error> {
    let snapshot = &adoption.index.table.snapshot;
    metadata::encode(&NewMetadata {
        uuid: Uuid::new_v4().to_string(),
        location: &folder.url,
        schema,
        snapshot_id: adoption.snapshot.0,
        now_unix_ms: adoption.now_unix_ms,
        manifest_list: &format!("{}/{}", metadata.url, encoded.manifest_list),
        totals: Totals {
            files: snapshot.files,
            rows: snapshot.rows,
            bytes: snapshot.bytes,
        },
    })
}

/// `<warehouse>/<schema>/<table>/<unique>`, with names that could leave their folder encoded. Each
/// adoption has a folder of its own: a table of the same name may have been dropped before.
fn folder(warehouse: &Location, name: &TableName, unique: &str) -> Result<Location, CatalogError> {
    let schema = warehouse.join(&folder_name(&name.schema))?;
    let table = schema.join(&folder_name(&name.table))?;
    Ok(table.join(unique)?)
}

fn folder_name(name: &str) -> String {
    let encoded = name.replace('%', "%25").replace('/', "%2F");
    match encoded.as_str() {
        "." | ".." => encoded.replace('.', "%2E"),
        _ => encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for (name, folder) in [
            ("a b", "a b"),
            ("a/b", "a%2Fb"),
            ("..", "%2E%2E"),
            ("5%", "5%25"),
        ] {
            assert_eq!(folder_name(name), folder);
        }
    }
}
