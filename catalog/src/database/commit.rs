//! Changing tables: each change is one transaction, on disk before it is acknowledged, and is made only
//! when the table is still in the state that it was thought out for.

use std::collections::HashMap;

use arrow_schema::Schema;
use model::{ColumnMapping, SnapshotId, TableName};
use sqlx::{QueryBuilder, Sqlite};
use uuid::Uuid;
use wire::schema::encode_schema;

use super::footers::insert_footers;
use super::read::{FileId, find_table};
use super::records::{encode_file_bounds, encode_ids, encode_partitions, kind_text, mapping_text};
use super::{Connection, Database, begin_write, now_unix_ms, stored_count};
use crate::error::CatalogError;
use crate::iceberg::Adopted;
use crate::table::{Change, Definition, FileFacts, Table, TableId, TableKind};

const COMMIT: &str = "commit a table";

/// Files in one statement: SQLite takes 32,766 values, and each file has twelve.
const FILES_AT_ONCE: usize = 500;

impl Database {
    /// Makes a table with its first snapshot, in place of the one of its name when `replace`.
    pub(crate) async fn create_table(
        &self,
        definition: &Definition,
        change: &Change,
        replace: bool,
    ) -> Result<Table, CatalogError> {
        let mut write = begin_write(&self.writer).await?;
        if replace {
            delete_table(&mut write, &definition.name).await?;
        } else if find_table(&mut write, &definition.name, None)
            .await?
            .is_some()
        {
            return Err(CatalogError::TableExists(definition.name.clone()));
        }
        let id = insert_table(&mut write, definition, change).await?;
        add_snapshot(&mut write, id, 1, change).await?;
        self.finish(write, &definition.name).await
    }

    /// Adds a snapshot to a table that is still at the snapshot that `base` has.
    pub(crate) async fn commit(
        &self,
        base: &Table,
        change: &Change,
    ) -> Result<Table, CatalogError> {
        let mut write = begin_write(&self.writer).await?;
        check_base(&mut write, base).await?;
        let sequence = base.snapshot.sequence_number + 1;
        add_snapshot(&mut write, base.id, sequence, change).await?;
        self.finish(write, base.name()).await
    }

    /// Makes the listing table that is still at the snapshot of `base` a managed one: the same files
    /// under a new snapshot, which its metadata has too.
    pub(crate) async fn adopt_table(
        &self,
        base: &Table,
        snapshot: SnapshotId,
        adopted: &Adopted,
    ) -> Result<Table, CatalogError> {
        let mut write = begin_write(&self.writer).await?;
        check_base(&mut write, base).await?;
        let change = Change {
            operation: "adopt",
            columns: base.snapshot.columns.clone(),
            added: Vec::new(),
            removed: Vec::new(),
        };
        let sequence = base.snapshot.sequence_number + 1;
        insert_snapshot(&mut write, base.id, sequence, snapshot, &change).await?;
        let updated = sqlx::query(
            "UPDATE tables SET kind = ?, mapping = ?, metadata_location = ?, current_snapshot = ?,
                               last_field_id = max(last_field_id, ?)
             WHERE table_id = ?",
        )
        .bind(kind_text(TableKind::Managed))
        .bind(mapping_text(ColumnMapping::ByFieldId))
        .bind(&adopted.metadata_location)
        .bind(snapshot.0)
        .bind(adopted.last_field_id)
        .bind(base.id.0);
        let updated = updated.execute(&mut *write).await;
        updated.map_err(CatalogError::database(COMMIT))?;
        self.finish(write, base.name()).await
    }

    /// Forgets a table with its snapshots. Its files are not touched. Answers whether there was one.
    pub(crate) async fn drop_table(&self, name: &TableName) -> Result<bool, CatalogError> {
        let mut write = begin_write(&self.writer).await?;
        let dropped = delete_table(&mut write, name).await?;
        write
            .commit()
            .await
            .map_err(CatalogError::database("drop a table"))?;
        Ok(dropped)
    }

    async fn finish(
        &self,
        mut write: sqlx::Transaction<'static, Sqlite>,
        name: &TableName,
    ) -> Result<Table, CatalogError> {
        let table = find_table(&mut write, name, None).await?;
        write
            .commit()
            .await
            .map_err(CatalogError::database(COMMIT))?;
        table.ok_or_else(|| CatalogError::TableNotFound(name.clone()))
    }
}

/// Whether a table is still the one, at the snapshot, that a change was thought out for.
async fn check_base(write: &mut Connection, base: &Table) -> Result<(), CatalogError> {
    let current = find_table(write, base.name(), None).await?;
    let current = current.ok_or_else(|| CatalogError::TableNotFound(base.name().clone()))?;
    if current.id != base.id || current.snapshot.id != base.snapshot.id {
        return Err(CatalogError::Conflict(base.name().clone()));
    }
    Ok(())
}

async fn delete_table(write: &mut Connection, name: &TableName) -> Result<bool, CatalogError> {
    let deleted = sqlx::query("DELETE FROM tables WHERE schema_name = ? AND table_name = ?")
        .bind(&name.schema)
        .bind(&name.table)
        .execute(write)
        .await
        .map_err(CatalogError::database("drop a table"))?;
    Ok(deleted.rows_affected() > 0)
}

async fn insert_table(
    write: &mut Connection,
    definition: &Definition,
    change: &Change,
) -> Result<TableId, CatalogError> {
    let declaration = &definition.declaration;
    let partition_columns = serde_json::Value::from(declaration.partition_columns.clone());
    let inserted = sqlx::query(
        "INSERT INTO tables (schema_name, table_name, kind, location, mapping, partition_columns,
                             declared_schema, last_field_id, current_snapshot, metadata_location)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
    )
    .bind(&definition.name.schema)
    .bind(&definition.name.table)
    .bind(kind_text(definition.kind))
    .bind(&definition.location)
    .bind(mapping_text(definition.mapping))
    .bind(partition_columns.to_string())
    .bind(declaration.schema.as_deref().map(encode_schema))
    .bind(change.largest_field_id())
    .bind(&definition.metadata_location)
    .execute(write)
    .await
    .map_err(CatalogError::database(COMMIT))?;
    Ok(TableId(inserted.last_insert_rowid()))
}

async fn add_snapshot(
    write: &mut Connection,
    table: TableId,
    sequence: i64,
    change: &Change,
) -> Result<(), CatalogError> {
    for path in &change.removed {
        remove_file(write, table, sequence, path).await?;
    }
    let mut schemas = HashMap::new();
    let mut added = Vec::with_capacity(change.added.len());
    for facts in &change.added {
        let schema = if let Some(known) = schemas.get(facts.schema.as_ref()) {
            *known
        } else {
            let id = schema_id(write, table, &facts.schema).await?;
            schemas.insert(facts.schema.as_ref(), id);
            id
        };
        added.push((schema, facts));
    }
    for files in added.chunks(FILES_AT_ONCE) {
        insert_files(write, table, sequence, files).await?;
    }
    let snapshot = new_snapshot_id();
    insert_snapshot(write, table, sequence, snapshot, change).await?;
    let updated = sqlx::query(
        "UPDATE tables SET current_snapshot = ?, last_field_id = max(last_field_id, ?)
         WHERE table_id = ?",
    )
    .bind(snapshot.0)
    .bind(change.largest_field_id())
    .bind(table.0);
    let updated = updated.execute(write).await;
    updated.map(|_| ()).map_err(CatalogError::database(COMMIT))
}

async fn insert_snapshot(
    write: &mut Connection,
    table: TableId,
    sequence: i64,
    snapshot: SnapshotId,
    change: &Change,
) -> Result<(), CatalogError> {
    let inserted = sqlx::query(
        "INSERT INTO snapshots (table_id, sequence_number, snapshot_id, committed_unix_ms, operation,
                                schema, partition_field_ids, files_added, files_removed,
                                files, rows, bytes)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
                count(*), coalesce(sum(record_count), 0), coalesce(sum(size), 0)
         FROM files WHERE table_id = ?1 AND removed_sequence IS NULL",
    )
    .bind(table.0)
    .bind(sequence)
    .bind(snapshot.0)
    .bind(now_unix_ms())
    .bind(change.operation)
    .bind(encode_schema(change.columns.schema.arrow()))
    .bind(encode_ids(&change.columns.partition_fields))
    .bind(stored_count(change.added.len() as u64))
    .bind(stored_count(change.removed.len() as u64));
    let inserted = inserted.execute(write).await;
    inserted.map(|_| ()).map_err(CatalogError::database(COMMIT))
}

async fn remove_file(
    write: &mut Connection,
    table: TableId,
    sequence: i64,
    path: &str,
) -> Result<(), CatalogError> {
    let removed = sqlx::query(
        "UPDATE files SET removed_sequence = ?
         WHERE table_id = ? AND path = ? AND removed_sequence IS NULL",
    )
    .bind(sequence)
    .bind(table.0)
    .bind(path);
    let removed = removed.execute(&mut *write).await;
    removed.map_err(CatalogError::database(COMMIT))?;
    // Older snapshots can do without.
    let footer = sqlx::query(
        "DELETE FROM footers WHERE file_id IN (
            SELECT file_id FROM files WHERE table_id = ? AND path = ? AND removed_sequence = ?)",
    )
    .bind(table.0)
    .bind(path)
    .bind(sequence);
    let forgotten = footer.execute(write).await;
    forgotten
        .map(|_| ())
        .map_err(CatalogError::database(COMMIT))
}

async fn schema_id(
    write: &mut Connection,
    table: TableId,
    schema: &Schema,
) -> Result<i64, CatalogError> {
    let id: Result<i64, _> = sqlx::query_scalar(
        "INSERT INTO file_schemas (table_id, schema) VALUES (?, ?)
         ON CONFLICT (table_id, schema) DO UPDATE SET schema = excluded.schema
         RETURNING schema_id",
    )
    .bind(table.0)
    .bind(encode_schema(schema))
    .fetch_one(write)
    .await;
    id.map_err(CatalogError::database(COMMIT))
}

/// Inserts files, each with the id of its schema.
async fn insert_files(
    write: &mut Connection,
    table: TableId,
    sequence: i64,
    files: &[(i64, &FileFacts)],
) -> Result<(), CatalogError> {
    let mut insert = QueryBuilder::<Sqlite>::new(
        "INSERT INTO files (table_id, path, size, version, record_count, footer_length,
                            page_index_start, page_index_length, schema_id, partition_values,
                            bounds, added_sequence) ",
    );
    insert.push_values(files, |mut row, (schema, facts)| {
        let file = &facts.file;
        row.push_bind(table.0)
            .push_bind(&file.path)
            .push_bind(stored_count(file.size))
            .push_bind(&file.version)
            .push_bind(file.record_count.map(stored_count))
            .push_bind(file.footer_length.map(stored_count))
            .push_bind(file.page_index.map(|span| stored_count(span.start)))
            .push_bind(file.page_index.map(|span| stored_count(span.length)))
            .push_bind(*schema)
            .push_bind(encode_partitions(&facts.partitions))
            .push_bind(encode_file_bounds(&facts.bounds))
            .push_bind(sequence);
    });
    insert.push(" RETURNING path, file_id");
    let ids = insert.build_query_as().fetch_all(&mut *write).await;
    let ids: Vec<(String, i64)> = ids.map_err(CatalogError::database(COMMIT))?;
    let ids: HashMap<&str, i64> = ids.iter().map(|(path, id)| (path.as_str(), *id)).collect();
    let footers = files.iter().filter_map(|(_, facts)| {
        let id = ids.get(facts.file.path.as_str())?;
        Some((FileId(*id), facts.footer.as_deref()?))
    });
    insert_footers(write, &footers.collect::<Vec<_>>()).await
}

/// A random positive id below 2^53, so that it survives JSON numbers; like Iceberg's, it does not say
/// which snapshot is newer.
pub(crate) fn new_snapshot_id() -> SnapshotId {
    let random = Uuid::new_v4().as_u64_pair().0 & ((1 << 53) - 1);
    SnapshotId(i64::try_from(random).unwrap_or(1).max(1))
}
