//! Listing tables: from a folder, prefix, pattern or file of somebody else's to the facts of a
//! snapshot. Only names and footers are read, and nothing is written.

mod changes;
mod columns;
mod declared;
mod footers;
mod formats;
mod glob;
mod objects;

use model::TableName;
use store::Location;

use crate::database::SnapshotFiles;
use crate::error::CatalogError;
use crate::table::{Change, Columns, Declaration, Progress, Table};
use changes::Changes;
use columns::Evidence;

/// Told how far the work is.
pub(crate) type Report<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// What a table's name, place and owner say before anything was looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The table.
    pub(crate) name: &'a TableName,
    /// Where its files are.
    pub(crate) location: &'a Location,
    /// What the user fixed.
    pub(crate) declaration: &'a Declaration,
}

/// The state that a listing is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    /// The table.
    pub(crate) table: Table,
    /// The files of its current snapshot.
    pub(crate) files: SnapshotFiles,
}

/// Lists the files of a table and reads the footers that are new since `before`. Answers the change to
/// be committed, or nothing when there is none.
pub(crate) async fn inspect(
    source: Source<'_>,
    before: Option<&Before>,
    operation: &'static str,
    report: Report<'_>,
) -> Result<Option<Change>, CatalogError> {
    let listed = objects::data_files(source.location).await?;
    let known = before.map(|before| before.files.files.as_slice());
    let changes = changes::compare(listed, known.unwrap_or_default());
    if before.is_some() && changes.is_empty() {
        report(changes.progress(0));
        return Ok(None);
    }
    let Changes {
        fresh,
        removed,
        kept,
    } = changes;
    let added = footers::read(fresh, kept.len(), report).await?;
    let evidence = Evidence::gather(before, &kept, &added)?;
    let columns = columns::derive(source, &evidence, before.map(Before::columns))?;
    Ok(Some(Change {
        operation,
        columns,
        added,
        removed,
    }))
}

impl Before {
    fn columns(&self) -> (&Columns, i32) {
        (&self.table.snapshot.columns, self.table.last_field_id)
    }
}
