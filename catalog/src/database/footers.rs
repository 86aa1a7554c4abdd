//! The footers of files, column by column. They are no part of a table's state: whoever lacks one reads the
//! file's own.

use std::collections::HashMap;

use model::{FooterColumn, LearnedFooter, TableName};
use sqlx::{QueryBuilder, Sqlite};

use super::read::FileId;
use super::records::{decode_footer, encode_footer};
use super::{Connection, Database, stored_count};
use crate::error::CatalogError;

const KEEP: &str = "keep the footers of files";

/// Rows in one statement: SQLite takes 32,766 values.
const ROWS_AT_ONCE: usize = 1_000;

impl Database {
    /// The footers of these files, as far as they are known.
    pub(crate) async fn footers(
        &self,
        files: impl Iterator<Item = FileId>,
    ) -> Result<HashMap<FileId, Vec<FooterColumn>>, CatalogError> {
        let mut footers = HashMap::new();
        let files: Vec<FileId> = files.collect();
        for files in files.chunks(ROWS_AT_ONCE) {
            let mut select = QueryBuilder::<Sqlite>::new(
                "SELECT file_id, columns FROM footers WHERE file_id IN (",
            );
            let mut ids = select.separated(", ");
            for file in files {
                ids.push_bind(file.0);
            }
            select.push(")");
            let rows: Vec<(i64, Vec<u8>)> = select
                .build_query_as()
                .fetch_all(self.readers())
                .await
                .map_err(CatalogError::database("read the footers of files"))?;
            for (file, columns) in rows {
                footers.insert(FileId(file), decode_footer(&columns)?);
            }
        }
        Ok(footers)
    }
}

/// Keeps footers of files that have none yet.
pub(super) async fn insert_footers(
    write: &mut Connection,
    footers: &[(FileId, &[FooterColumn])],
) -> Result<(), CatalogError> {
    for rows in footers.chunks(ROWS_AT_ONCE) {
        let mut insert = QueryBuilder::<Sqlite>::new("INSERT INTO footers (file_id, columns) ");
        insert.push_values(rows, |mut row, (file, columns)| {
            row.push_bind(file.0).push_bind(encode_footer(columns));
        });
        let inserted = insert.build().execute(&mut *write).await;
        inserted.map_err(CatalogError::database(KEEP))?;
    }
    Ok(())
}

/// Keeps a footer that a scan has read, for the file of a table that is still the one that was read.
pub(crate) async fn learn_footer(
    write: &mut Connection,
    table: &TableName,
    learned: &LearnedFooter,
) -> Result<(), CatalogError> {
    let learned = sqlx::query(
        "INSERT OR IGNORE INTO footers (file_id, columns)
         SELECT file_id, ? FROM files JOIN tables ON files.table_id = tables.table_id
         WHERE schema_name = ? AND table_name = ? AND path = ? AND size = ? AND version = ?
           AND removed_sequence IS NULL",
    )
    .bind(encode_footer(&learned.columns))
    .bind(&table.schema)
    .bind(&table.table)
    .bind(&learned.path)
    .bind(stored_count(learned.size))
    .bind(&learned.version);
    let kept = learned.execute(write).await;
    kept.map(|_| ()).map_err(CatalogError::database(KEEP))
}
