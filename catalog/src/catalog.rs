//! What the catalog can do, one function per request. Knows neither the wire nor SQL.

use std::sync::Arc;

use futures::Stream;
use model::{ColumnMapping, LearnedFooter, SnapshotId, TableName};
use store::Stores;
use tokio::task::JoinError;

use crate::adoption;
use crate::database::Database;
use crate::error::CatalogError;
use crate::iceberg::{self, ManagedFile};
use crate::index::{IndexCache, TableIndex};
use crate::known_footers::{self, KnownFooters};
use crate::listing::{self, Before, Report, Source};
use crate::locks::TableLocks;
use crate::plan::{self, PlanPart, PlanRequest};
use crate::table::{Declaration, Definition, Progress, Snapshot, Table, TableKind};

/// Schemas whose tables are made by Fulmar itself.
const RESERVED_SCHEMAS: [&str; 2] = ["system", "information_schema"];

/// Longest name of a schema or table.
const LONGEST_NAME: usize = 255;

/// The catalog over its database and the stores.
#[derive(Debug)]
pub(crate) struct Catalog {
    database: Database,
    stores: Stores,
    /// The folder of all managed tables.
    warehouse: String,
    index: IndexCache,
    locks: TableLocks,
}

/// A table to be made over files that are there.
#[derive(Clone, Debug)]
pub(crate) struct NewTable {
    /// Its name.
    pub(crate) name: TableName,
    /// Where the files are, as the user said it.
    pub(crate) location: String,
    /// What the user fixed.
    pub(crate) declaration: Declaration,
    /// What to do when the name is taken.
    pub(crate) existing: Existing,
}

/// What to do with a table that has the name of a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Fail.
    Refuse,
    /// Leave it as it is and make none.
    Keep,
    /// Put the new one in its place.
    Replace,
}

impl Catalog {
    /// A catalog over an open database.
    pub(crate) fn new(database: Database, stores: Stores, warehouse: String) -> Self {
        Self {
            database,
            stores,
            warehouse,
            index: IndexCache::default(),
            locks: TableLocks::default(),
        }
    }

    /// The database, for the query log.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The tables, of one schema when given.
    pub(crate) async fn tables(&self, schema: Option<&str>) -> Result<Vec<Table>, CatalogError> {
        self.database.tables(schema).await
    }

    /// A table at a snapshot, or at its current one.
    pub(crate) async fn table(
        &self,
        name: &TableName,
        snapshot: Option<SnapshotId>,
    ) -> Result<Table, CatalogError> {
        self.database.table(name, snapshot).await
    }

    /// The snapshots of a table, the newest first.
    pub(crate) async fn snapshots(&self, name: &TableName) -> Result<Vec<Snapshot>, CatalogError> {
        let table = self.database.table(name, None).await?;
        self.database.snapshots(table.id).await
    }

    /// Makes a listing table. Until its files are all understood, nothing is kept.
    pub(crate) async fn create(
        &self,
        new: NewTable,
        report: Report<'_>,
    ) -> Result<Table, CatalogError> {
        check_name(&new.name)?;
        let _alone = self.locks.lock(&new.name).await;
        let taken = self.find(&new.name).await?;
        match (new.existing, &taken) {
            (Existing::Keep, Some(table)) => return Ok(table.clone()),
            (Existing::Refuse, Some(_)) => return Err(CatalogError::TableExists(new.name)),
            _ => {}
        }
        let table = self.create_listing(new, report).await?;
        if let Some(replaced) = taken {
            self.index.forget(replaced.id);
        }
        tracing::info!(
            table = %table.name(), location = %table.definition.location,
            files = table.snapshot.files, rows = table.snapshot.rows, "table created"
        );
        Ok(table)
    }

    async fn create_listing(
        &self,
        new: NewTable,
        report: Report<'_>,
    ) -> Result<Table, CatalogError> {
        let location = self.stores.resolve(&new.location)?;
        let source = Source {
            name: &new.name,
            location: &location,
            declaration: &new.declaration,
        };
        let change = listing::inspect(source, None, "create", report).await?;
        let change = change.ok_or_else(|| CatalogError::NoFiles(location.url.clone()))?;
        let definition = Definition {
            name: new.name,
            kind: TableKind::Listing,
            location: location.url,
            mapping: ColumnMapping::ByName,
            declaration: new.declaration,
            metadata_location: None,
        };
        let replace = new.existing == Existing::Replace;
        self.database
            .create_table(&definition, &change, replace)
            .await
    }

    async fn find(&self, name: &TableName) -> Result<Option<Table>, CatalogError> {
        match self.database.table(name, None).await {
            Ok(table) => Ok(Some(table)),
            Err(CatalogError::TableNotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Compares a listing table with its location and commits what has changed.
    pub(crate) async fn refresh(
        &self,
        name: &TableName,
        report: Report<'_>,
    ) -> Result<Table, CatalogError> {
        let _alone = self.locks.lock(name).await;
        let table = self.database.table(name, None).await?;
        if table.definition.kind == TableKind::Managed {
            return Err(CatalogError::Unsupported(format!(
                "table {name} is managed: its files change by commits, not by refreshing"
            )));
        }
        let files = self.database.snapshot_files(&table).await?;
        let location = self.stores.resolve(&table.definition.location)?;
        let before = Before { table, files };
        let source = Source {
            name,
            location: &location,
            declaration: &before.table.definition.declaration,
        };
        let Some(change) = listing::inspect(source, Some(&before), "refresh", report).await? else {
            return Ok(before.table);
        };
        let table = self.database.commit(&before.table, &change).await?;
        tracing::info!(
            table = %name, snapshot = %table.snapshot.id, files = table.snapshot.files,
            added = change.added.len(), removed = change.removed.len(), "table refreshed"
        );
        Ok(table)
    }

    /// Turns a listing table into a managed one. Its files stay where they are; its metadata is complete
    /// in the warehouse before the table refers to it.
    pub(crate) async fn adopt(
        &self,
        name: &TableName,
        report: Report<'_>,
    ) -> Result<Table, CatalogError> {
        let _alone = self.locks.lock(name).await;
        let index = self.index(name, None).await?;
        let base = &index.table;
        if base.definition.kind == TableKind::Managed {
            return Err(CatalogError::AlreadyManaged(name.clone()));
        }
        let database = self.database.clone();
        adoption::adopt(database, &self.stores, &self.warehouse, &index, report).await
    }

    /// Forgets a table; its files stay. Answers whether there was one.
    pub(crate) async fn drop_table(
        &self,
        name: &TableName,
        if_exists: bool,
    ) -> Result<bool, CatalogError> {
        let _alone = self.locks.lock(name).await;
        let table = match self.database.table(name, None).await {
            Err(CatalogError::TableNotFound(_)) if if_exists => return Ok(false),
            found => found?,
        };
        let dropped = self.database.drop_table(name).await?;
        self.index.forget(table.id);
        tracing::info!(table = %name, "table dropped");
        Ok(dropped)
    }

    /// The files of a snapshot that can hold a match.
    pub(crate) async fn plan(
        &self,
        name: &TableName,
        snapshot: Option<SnapshotId>,
        request: PlanRequest,
    ) -> Result<impl Stream<Item = PlanPart> + Send + 'static, CatalogError> {
        let index = self.index(name, snapshot).await?;
        let schema = &index.table.snapshot.columns.schema;
        let footers = KnownFooters::new(self.database.clone(), &request.footers, schema);
        Ok(plan::plan(index, request, footers))
    }

    /// Keeps the footers that a scan of a table has read, as far as they can be right. That they are kept
    /// matters to nobody's answer, so failing is only told.
    pub(crate) async fn learn(&self, table: &TableName, footers: Vec<LearnedFooter>) {
        for footer in footers {
            let learned = match self.index(table, None).await {
                Ok(index) if known_footers::is_plausible(&index, &footer) => {
                    self.database.learn_footer(table, &footer).await
                }
                Ok(_) => {
                    tracing::warn!(
                        path = footer.path,
                        "a footer that a scan has sent is not the file's"
                    );
                    Ok(())
                }
                Err(error) => Err(error),
            };
            if let Err(error) = learned {
                tracing::warn!(path = footer.path, %error, "footer not kept");
            }
        }
    }

    /// A snapshot with all of its files.
    pub(crate) async fn index(
        &self,
        name: &TableName,
        snapshot: Option<SnapshotId>,
    ) -> Result<Arc<TableIndex>, CatalogError> {
        let table = self.database.table(name, snapshot).await?;
        let (id, snapshot) = (table.id, table.snapshot.id);
        let build = || async {
            let files = self.database.snapshot_files(&table).await?;
            let managed = self.managed_files(&table).await?;
            let built = tokio::task::spawn_blocking(move || match managed {
                Some(managed) => Ok(TableIndex::managed(table, managed, files)),
                None => TableIndex::build(table, files),
            });
            let interrupted = |error: JoinError| CatalogError::Interrupted(error.to_string());
            built.await.map_err(interrupted)?
        };
        self.index.get(id, snapshot, build).await
    }

    /// The files that a managed table's metadata names; nothing for snapshots of the time before it was
    /// managed.
    async fn managed_files(&self, table: &Table) -> Result<Option<Vec<ManagedFile>>, CatalogError> {
        let Some(location) = &table.definition.metadata_location else {
            return Ok(None);
        };
        let (snapshot, columns) = (table.snapshot.id, &table.snapshot.columns);
        iceberg::read_snapshot(&self.stores, table.name(), location, snapshot, columns).await
    }
}

/// Progress of work that had nothing to do.
pub(crate) fn settled(table: &Table) -> Progress {
    Progress {
        files_done: table.snapshot.files,
        files_total: table.snapshot.files,
        footers_read: 0,
    }
}

fn check_name(name: &TableName) -> Result<(), CatalogError> {
    let refuse = |part: &str, reason| {
        Err(CatalogError::Name {
            name: part.to_owned(),
            reason,
        })
    };
    if RESERVED_SCHEMAS.contains(&name.schema.as_str()) {
        return refuse(&name.schema, "this schema belongs to Fulmar");
    }
    for part in [&name.schema, &name.table] {
        if part.trim().is_empty() {
            return refuse(part, "it is empty");
        }
        if part.len() > LONGEST_NAME {
            return refuse(part, "it is longer than 255 bytes");
        }
        if part.chars().any(char::is_control) {
            return refuse(part, "it holds control characters");
        }
    }
    Ok(())
}
