//! Reading tables, snapshots and files. Each function reads from one consistent state.

use std::collections::HashMap;

use arrow_schema::SchemaRef;
use futures::TryStreamExt;
use model::{ByteSpan, ColumnBounds, DataFile, FieldId, SnapshotId, TableName};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::records::{
    decode_columns, decode_file_bounds, decode_partitions, decode_schema, kind_of, mapping_of,
};
use super::{Connection, Database, count_from};
use crate::error::CatalogError;
use crate::table::{Declaration, Definition, RawPartition, Snapshot, Table, TableId};

const READ_TABLE: &str = "read a table";
const READ_FILES: &str = "read the files of a table";

/// The identity of a file's row: a file that changes gets another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId(pub(crate) i64);

/// A file of a snapshot with the schema of its footer, shared among files.
#[derive(Clone, Debug)]
pub(crate) struct FileRow {
    /// Its identity.
    pub(crate) id: FileId,
    /// The file.
    pub(crate) file: DataFile,
    /// Which of the table's file schemas it has.
    pub(crate) schema: i64,
    /// The `key=value` folders of its path.
    pub(crate) partitions: Vec<RawPartition>,
    /// Bounds by the position of a column in the file's schema, counted from 1.
    pub(crate) bounds: Vec<(FieldId, ColumnBounds)>,
}

/// The files of a snapshot and the schemas that they have.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFiles {
    /// The files in path order.
    pub(crate) files: Vec<FileRow>,
    /// The schemas that [`FileRow::schema`] refers to.
    pub(crate) schemas: HashMap<i64, SchemaRef>,
}

impl Database {
    /// The tables at their current snapshots, by name; of one schema when given.
    pub(crate) async fn tables(&self, schema: Option<&str>) -> Result<Vec<Table>, CatalogError> {
        let rows = sqlx::query(
            "SELECT * FROM tables JOIN snapshots
               ON snapshots.table_id = tables.table_id AND snapshot_id = current_snapshot
             WHERE ?1 IS NULL OR schema_name = ?1
             ORDER BY schema_name, table_name",
        )
        .bind(schema)
        .fetch_all(self.readers())
        .await
        .map_err(CatalogError::database("list the tables"))?;
        rows.iter().map(table_of).collect()
    }

    /// A table at a snapshot, or at its current one.
    pub(crate) async fn table(
        &self,
        name: &TableName,
        snapshot: Option<SnapshotId>,
    ) -> Result<Table, CatalogError> {
        let mut connection = self.readers().acquire().await;
        let connection = connection
            .as_mut()
            .map_err(|error| CatalogError::Database {
                doing: READ_TABLE,
                source: std::mem::replace(error, sqlx::Error::PoolClosed),
            })?;
        if let Some(table) = find_table(connection, name, snapshot).await? {
            return Ok(table);
        }
        match (snapshot, find_table(connection, name, None).await?) {
            (Some(snapshot), Some(_)) => Err(CatalogError::SnapshotNotFound {
                table: name.clone(),
                snapshot,
            }),
            _ => Err(CatalogError::TableNotFound(name.clone())),
        }
    }

    /// The snapshots of a table, the newest first.
    pub(crate) async fn snapshots(&self, table: TableId) -> Result<Vec<Snapshot>, CatalogError> {
        let rows =
            sqlx::query("SELECT * FROM snapshots WHERE table_id = ? ORDER BY sequence_number DESC")
                .bind(table.0)
                .fetch_all(self.readers())
                .await
                .map_err(CatalogError::database("read the snapshots of a table"))?;
        rows.iter().map(snapshot_of).collect()
    }

    /// The files of a table's snapshot.
    pub(crate) async fn snapshot_files(
        &self,
        table: &Table,
    ) -> Result<SnapshotFiles, CatalogError> {
        let failed = CatalogError::database(READ_FILES);
        let mut read = self.readers().begin().await.map_err(&failed)?;
        let schemas = read_schemas(&mut read, table.id).await?;
        let mut rows = sqlx::query(
            "SELECT * FROM files
             WHERE table_id = ?1 AND added_sequence <= ?2
               AND (removed_sequence IS NULL OR removed_sequence > ?2)
             ORDER BY path",
        )
        .bind(table.id.0)
        .bind(table.snapshot.sequence_number)
        .fetch(&mut *read);
        let mut files = Vec::new();
        while let Some(row) = rows.try_next().await.map_err(&failed)? {
            files.push(file_of(&row)?);
        }
        drop(rows);
        read.commit().await.map_err(&failed)?;
        // A table that was dropped since its name was looked up has no rows left at all.
        if files.len() as u64 != table.snapshot.files {
            return Err(CatalogError::TableNotFound(table.name().clone()));
        }
        Ok(SnapshotFiles { files, schemas })
    }
}

/// The table of this name at a snapshot or at its current one.
pub(super) async fn find_table(
    connection: &mut Connection,
    name: &TableName,
    snapshot: Option<SnapshotId>,
) -> Result<Option<Table>, CatalogError> {
    let row = sqlx::query(
        "SELECT * FROM tables JOIN snapshots
           ON snapshots.table_id = tables.table_id
          AND snapshot_id = coalesce(?3, current_snapshot)
         WHERE schema_name = ?1 AND table_name = ?2",
    )
    .bind(&name.schema)
    .bind(&name.table)
    .bind(snapshot.map(|snapshot| snapshot.0))
    .fetch_optional(connection)
    .await
    .map_err(CatalogError::database(READ_TABLE))?;
    row.as_ref().map(table_of).transpose()
}

async fn read_schemas(
    connection: &mut Connection,
    table: TableId,
) -> Result<HashMap<i64, SchemaRef>, CatalogError> {
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT schema_id, schema FROM file_schemas WHERE table_id = ?")
            .bind(table.0)
            .fetch_all(connection)
            .await
            .map_err(CatalogError::database(READ_FILES))?;
    let schemas = rows.into_iter();
    schemas
        .map(|(id, bytes)| Ok((id, decode_schema(&bytes)?)))
        .collect()
}

fn table_of(row: &SqliteRow) -> Result<Table, CatalogError> {
    let partition_columns: String = get(row, "partition_columns")?;
    let declared: Option<Vec<u8>> = get(row, "declared_schema")?;
    let declaration = Declaration {
        partition_columns: serde_json::from_str(&partition_columns)
            .map_err(CatalogError::stored("partition columns"))?,
        schema: declared.as_deref().map(decode_schema).transpose()?,
    };
    let definition = Definition {
        name: TableName {
            schema: get(row, "schema_name")?,
            table: get(row, "table_name")?,
        },
        kind: kind_of(&get::<String>(row, "kind")?)?,
        location: get(row, "location")?,
        mapping: mapping_of(&get::<String>(row, "mapping")?)?,
        declaration,
        metadata_location: get(row, "metadata_location")?,
    };
    Ok(Table {
        id: TableId(get(row, "table_id")?),
        definition,
        last_field_id: get(row, "last_field_id")?,
        snapshot: snapshot_of(row)?,
    })
}

fn snapshot_of(row: &SqliteRow) -> Result<Snapshot, CatalogError> {
    let count = |column| get::<i64>(row, column).map(count_from);
    let schema: Vec<u8> = get(row, "schema")?;
    let ids: String = get(row, "partition_field_ids")?;
    Ok(Snapshot {
        id: SnapshotId(get(row, "snapshot_id")?),
        sequence_number: get(row, "sequence_number")?,
        committed_unix_ms: get(row, "committed_unix_ms")?,
        operation: get(row, "operation")?,
        columns: decode_columns(&schema, &ids)?,
        files_added: count("files_added")?,
        files_removed: count("files_removed")?,
        files: count("files")?,
        rows: count("rows")?,
        bytes: count("bytes")?,
    })
}

fn file_of(row: &SqliteRow) -> Result<FileRow, CatalogError> {
    let count = |column| get::<Option<i64>>(row, column).map(|stored| stored.map(count_from));
    let page_index = count("page_index_start")?
        .zip(count("page_index_length")?)
        .map(|(start, length)| ByteSpan { start, length });
    let partitions: Vec<u8> = get(row, "partition_values")?;
    let bounds: Vec<u8> = get(row, "bounds")?;
    Ok(FileRow {
        id: FileId(get(row, "file_id")?),
        file: DataFile {
            path: get(row, "path")?,
            size: count_from(get(row, "size")?),
            version: get(row, "version")?,
            record_count: count("record_count")?,
            footer_length: count("footer_length")?,
            page_index,
        },
        schema: get(row, "schema_id")?,
        partitions: decode_partitions(&partitions)?,
        bounds: decode_file_bounds(&bounds)?,
    })
}

/// A column of a row.
pub(crate) fn get<'r, T>(row: &'r SqliteRow, column: &'static str) -> Result<T, CatalogError>
where
    T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    row.try_get(column).map_err(CatalogError::stored(column))
}

impl SnapshotFiles {
    /// The schema that a file has.
    pub(crate) fn schema_of(&self, file: &FileRow) -> Result<&SchemaRef, CatalogError> {
        let known = self.schemas.get(&file.schema);
        known.ok_or_else(|| CatalogError::stored("schema of a file")(&file.file.path))
    }
}
