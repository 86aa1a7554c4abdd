//! From a snapshot of a listing table to the Iceberg metadata of a managed one. Data files stay where
//! they are and as they are.

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use model::{SnapshotId, TableName};
use object_store::{PutMode, PutOptions};
use store::{Location, StoreError, Stores};
use uuid::Uuid;

use super::files::read_layout;
use super::metadata::{self, NewMetadata, Totals};
use super::schema::{IcebergSchema, iceberg_schema};
use super::write::{Encoded, Entry, encode_manifests};
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
#[derive(Clone, Debug)]
pub(crate) struct Adopted {
    /// Where other engines open the table.
    pub(crate) metadata_location: String,
    /// The largest field id, those of nested fields included.
    pub(crate) last_field_id: i32,
}

/// Writes the metadata of a managed table with the files of a listing table. The table's schema, its
/// files' columns and their versions are checked first; nothing is written when one does not fit.
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
    let folder = folder(adoption.stores, adoption.warehouse, table.name())?;
    let metadata = folder.join("metadata")?;
    let unique = Uuid::new_v4().to_string();
    let failed = CatalogError::stored("Iceberg metadata");
    let snapshot = adoption.snapshot.0;
    let encoded = encode_manifests(&schema, &entries, snapshot, &metadata.url, &unique).await;
    let encoded = encoded.map_err(&failed)?;
    let text = document(adoption, &schema, &folder, &metadata, &encoded)
        .map_err(CatalogError::stored("Iceberg metadata"))?;
    for (name, bytes) in encoded.files {
        put_new(&metadata.join(&name)?, bytes).await?;
    }
    // Last, so that whoever finds it finds all that it names.
    let location = metadata.join(&format!("00000-{unique}.metadata.json"))?;
    put_new(&location, text.into()).await?;
    Ok(Adopted {
        metadata_location: location.url,
        last_field_id: schema.last_column_id,
    })
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

/// `<warehouse>/<schema>/<table>`, with names that could leave their folder encoded.
fn folder(stores: &Stores, warehouse: &str, name: &TableName) -> Result<Location, CatalogError> {
    let warehouse = stores.resolve(warehouse)?;
    let schema = warehouse.join(&folder_name(&name.schema))?;
    Ok(schema.join(&folder_name(&name.table))?)
}

fn folder_name(name: &str) -> String {
    let encoded = name.replace('%', "%25").replace('/', "%2F");
    match encoded.as_str() {
        "." | ".." => encoded.replace('.', "%2E"),
        _ => encoded,
    }
}

/// Writes a file that must not exist.
async fn put_new(location: &Location, bytes: bytes::Bytes) -> Result<(), CatalogError> {
    let options = PutOptions::from(PutMode::Create);
    let put = location
        .store
        .put_opts(&location.path, bytes.into(), options);
    match put.await {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreError::of(&location.url, &error).into()),
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
