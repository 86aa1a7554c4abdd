//! The tables of schema `system`: what the catalog knows of tables and queries, as rows. Each is
//! asked of the catalog when it is read, never kept.

mod columns;
mod log;
mod table;
mod tables;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;

use crate::engine::Parts;

pub(crate) use table::SystemTable;

/// The schema of these tables.
pub const SCHEMA: &str = "system";

/// All system tables with their names.
pub(crate) fn tables(parts: &Arc<Parts>) -> Vec<(&'static str, Arc<dyn TableProvider>)> {
    let provide = |table: SystemTable| (table.name, table.provide(parts));
    all().into_iter().map(provide).collect()
}

/// The names and schemas of the system tables.
pub fn schemas() -> Vec<(&'static str, SchemaRef)> {
    let named = |table: SystemTable| (table.name, table.schema);
    all().into_iter().map(named).collect()
}

fn all() -> [SystemTable; 6] {
    [
        SystemTable::new("queries", log::queries_schema(), log::queries),
        SystemTable::new("tickets", log::tickets_schema(), log::tickets),
        SystemTable::new("skips", log::skips_schema(), log::skips),
        SystemTable::new("tables", tables::tables_schema(), tables::tables),
        SystemTable::new("files", tables::files_schema(), tables::files),
        SystemTable::new("snapshots", tables::snapshots_schema(), tables::snapshots),
    ]
}
