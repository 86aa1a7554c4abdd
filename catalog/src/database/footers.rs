//! The footers of files, column by column. They are no part of a table's state: whoever lacks one reads the
//! file's own.

use std::collections::HashMap;

use model::{DataFile, FooterColumn, LearnedFooter, TableName};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use super::read::{FileId, get};
use super::records::{decode_pieces, encode_pieces};
use super::{Connection, Database, begin_write, count_from, stored_count};
use crate::error::CatalogError;

const READ: &str = "read the footers of files";
const KEEP: &str = "keep the footers of files";

/// How parts of footers are made by this version.
const FORM: i64 = 1;

/// Bytes of all footers that are kept.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// Columns in one statement: SQLite takes 32,766 values, and each column has seven.
const COLUMNS_AT_ONCE: usize = 4_000;

/// Which columns of footers are wanted. Of a file that has none of them the first is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnsWanted {
    /// Columns of these names.
    pub(crate) names: Vec<String>,
    /// Columns of these field ids.
    pub(crate) ids: Vec<i32>,
    /// Those of which the column index is wanted too, by name and by id.
    pub(crate) judged: (Vec<String>, Vec<i32>),
}

/// What is known of a file's footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KnownFooter {
    /// That it is too large to be kept.
    TooLarge,
    /// The wanted columns, in the order that they have in the file.
    Columns(Vec<FooterColumn>),
}

impl Database {
    /// The footers of these files, as far as they are known: the wanted columns of each.
    pub(crate) async fn footers(
        &self,
        files: &[(FileId, &DataFile)],
        wanted: &ColumnsWanted,
    ) -> Result<HashMap<FileId, KnownFooter>, CatalogError> {
        let failed = CatalogError::database(READ);
        let mut read = self.readers().begin().await.map_err(&failed)?;
        let mut select = QueryBuilder::<Sqlite>::new(
            "SELECT file_id, path, size, version, bytes FROM footers JOIN files USING (file_id)
             WHERE form = ",
        );
        select.push_bind(FORM).push(" AND file_id IN ");
        push_list(&mut select, files.iter().map(|(id, _)| id.0));
        let rows = select.build().fetch_all(&mut *read).await;
        let mut known = HashMap::new();
        for row in rows.map_err(&failed)? {
            let id = FileId(get(&row, "file_id")?);
            // A table that was replaced may have given its numbers to others.
            let is_same = files
                .iter()
                .any(|(other, file)| *other == id && describes(&row, file).unwrap_or_default());
            if is_same {
                let bytes: i64 = get(&row, "bytes")?;
                let columns = KnownFooter::Columns(Vec::new());
                let kept = if bytes > 0 {
                    columns
                } else {
                    KnownFooter::TooLarge
                };
                known.insert(id, kept);
            }
        }
        let mut select =
            QueryBuilder::<Sqlite>::new("SELECT file_id, position, name, field_id, footer, ");
        select.push("CASE WHEN name IN ");
        push_list(&mut select, wanted.judged.0.iter().cloned());
        select.push(" OR field_id IN ");
        push_list(&mut select, wanted.judged.1.iter().copied());
        select.push(" THEN column_indexes END AS column_indexes, offset_indexes ");
        select.push("FROM footer_columns WHERE file_id IN ");
        push_list(&mut select, known.keys().map(|id| id.0));
        select.push(" AND (position = 0 OR name IN ");
        push_list(&mut select, wanted.names.iter().cloned());
        select.push(" OR field_id IN ");
        push_list(&mut select, wanted.ids.iter().copied());
        select.push(") ORDER BY file_id, position");
        let rows = select.build().fetch_all(&mut *read).await;
        for row in rows.map_err(&failed)? {
            let id = FileId(get(&row, "file_id")?);
            if let Some(KnownFooter::Columns(columns)) = known.get_mut(&id) {
                columns.push(column_of(&row)?);
            }
        }
        for footer in known.values_mut() {
            if let KnownFooter::Columns(columns) = footer {
                wanted.drop_first(columns);
            }
        }
        Ok(known)
    }

    /// Keeps a footer that a scan of a table has read, when it is that of the file's current version and
    /// there is room.
    pub(crate) async fn learn_footer(
        &self,
        table: &TableName,
        learned: &LearnedFooter,
    ) -> Result<(), CatalogError> {
        let failed = CatalogError::database(KEEP);
        let mut write = begin_write(self.log()).await?;
        let file: Option<i64> = sqlx::query_scalar(
            "SELECT file_id FROM files JOIN tables ON files.table_id = tables.table_id
             WHERE schema_name = ? AND table_name = ? AND path = ? AND size = ? AND version = ?
               AND removed_sequence IS NULL",
        )
        .bind(&table.schema)
        .bind(&table.table)
        .bind(&learned.path)
        .bind(stored_count(learned.size))
        .bind(&learned.version)
        .fetch_optional(&mut *write)
        .await
        .map_err(&failed)?;
        if let Some(file) = file {
            let footer = (FileId(file), learned.columns.as_slice());
            insert_footers(&mut write, &[footer]).await?;
        }
        write.commit().await.map_err(&failed)
    }
}

impl ColumnsWanted {
    /// The first column stands for a file that has none of the wanted ones; elsewhere it goes, unless it is
    /// wanted.
    fn drop_first(&self, columns: &mut Vec<FooterColumn>) {
        let is_wanted = |column: &FooterColumn| {
            self.names.contains(&column.name)
                || column.field_id.is_some_and(|id| self.ids.contains(&id))
        };
        if columns.len() > 1 && columns.first().is_some_and(|first| !is_wanted(first)) {
            columns.remove(0);
        }
    }
}

fn describes(row: &SqliteRow, file: &DataFile) -> Result<bool, CatalogError> {
    let path: String = get(row, "path")?;
    let version: Option<String> = get(row, "version")?;
    Ok(path == file.path
        && count_from(get(row, "size")?) == file.size
        && version.is_some()
        && version == file.version)
}

fn column_of(row: &SqliteRow) -> Result<FooterColumn, CatalogError> {
    let column_indexes: Option<Vec<u8>> = get(row, "column_indexes")?;
    let offset_indexes: Vec<u8> = get(row, "offset_indexes")?;
    Ok(FooterColumn {
        name: get(row, "name")?,
        field_id: get(row, "field_id")?,
        footer: get(row, "footer")?,
        column_indexes: decode_pieces(column_indexes.as_deref().unwrap_or_default())?,
        offset_indexes: decode_pieces(&offset_indexes)?,
    })
}

/// A list of values in brackets, which may be empty.
fn push_list<T>(query: &mut QueryBuilder<Sqlite>, values: impl Iterator<Item = T>)
where
    T: for<'q> sqlx::Encode<'q, Sqlite> + sqlx::Type<Sqlite>,
{
    query.push("(");
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind(value);
    }
    query.push(")");
}

/// Keeps footers of files, as long as there is room for all.
pub(super) async fn insert_footers(
    write: &mut Connection,
    footers: &[(FileId, &[FooterColumn])],
) -> Result<(), CatalogError> {
    let failed = CatalogError::database(KEEP);
    let of_others = sqlx::query("DELETE FROM footers WHERE form <> ?").bind(FORM);
    of_others.execute(&mut *write).await.map_err(&failed)?;
    for (file, _) in footers {
        let before = sqlx::query("DELETE FROM footers WHERE file_id = ?").bind(file.0);
        before.execute(&mut *write).await.map_err(&failed)?;
    }
    let kept: i64 = sqlx::query_scalar("SELECT coalesce(sum(bytes), 0) FROM footers")
        .fetch_one(&mut *write)
        .await
        .map_err(&failed)?;
    let mut room = MOST_BYTES.saturating_sub(count_from(kept));
    let mut columns = Vec::new();
    for (file, parts) in footers {
        let bytes: usize = parts.iter().map(FooterColumn::size).sum();
        let Some(left) = room.checked_sub(bytes as u64) else {
            continue;
        };
        room = left;
        sqlx::query("INSERT INTO footers (file_id, form, bytes) VALUES (?, ?, ?)")
            .bind(file.0)
            .bind(FORM)
            .bind(stored_count(bytes as u64))
            .execute(&mut *write)
            .await
            .map_err(&failed)?;
        columns.extend(parts.iter().enumerate().map(|column| (file.0, column)));
    }
    for rows in columns.chunks(COLUMNS_AT_ONCE) {
        let mut insert = QueryBuilder::<Sqlite>::new(
            "INSERT INTO footer_columns (file_id, position, name, field_id, footer,
                                                    column_indexes, offset_indexes) ",
        );
        insert.push_values(rows, |mut row, (file, (position, column))| {
            row.push_bind(*file)
                .push_bind(stored_count(*position as u64))
                .push_bind(&column.name)
                .push_bind(column.field_id)
                .push_bind(&column.footer)
                .push_bind(encode_pieces(&column.column_indexes))
                .push_bind(encode_pieces(&column.offset_indexes));
        });
        let inserted = insert.build().execute(&mut *write).await;
        inserted.map_err(&failed)?;
    }
    Ok(())
}
