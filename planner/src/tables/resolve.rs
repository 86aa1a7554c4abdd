//! Which tables a statement names, and what they are now. Only those are asked for, except when the
//! statement reads the schema itself.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
    MemorySchemaProvider, SchemaProvider, Session, TableProvider,
};
use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::common::{TableReference, internal_err};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement as DfStatement;
use futures::future::try_join_all;
use model::TableName;
use model::schema::{CATALOG, DEFAULT_SCHEMA};
use tonic::Code;
use wire::{TableSnapshot, proto};

use crate::engine::Parts;
use crate::error::PlannerError;
use crate::query::Query;
use crate::statement::table_name;
use crate::tables::{CatalogTable, TableMeta};

/// The schema that DataFusion itself provides.
const INFORMATION_SCHEMA: &str = "information_schema";

/// The tables of a statement.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) catalogs: Arc<dyn CatalogProviderList>,
    pub(crate) snapshots: Vec<TableSnapshot>,
}

/// Asks the catalog for the tables that a statement names; those in `pinned` at that snapshot.
pub(crate) async fn resolve(
    parts: &Arc<Parts>,
    query: &Arc<Query>,
    statement: &DfStatement,
    default_schema: &str,
    pinned: &[TableSnapshot],
) -> Result<Resolved, PlannerError> {
    let functions = parts.context.functions();
    let mut names = Vec::new();
    let mut all = false;
    for reference in functions.resolve_table_references(statement)? {
        let name = table_name(&reference, default_schema)?;
        all |= name.schema == INFORMATION_SCHEMA;
        names.push((is_function(&reference, functions.table_functions()), name));
    }
    names.retain(|(_, name)| name.schema != INFORMATION_SCHEMA);
    let wanted = names
        .iter()
        .filter(|(_, name)| name.schema != crate::system::SCHEMA);
    let asked = wanted.map(|(function, name)| get(parts, name, *function, pinned));
    let read = try_join_all(asked).await?.into_iter().flatten().collect();
    // Only named, so they are neither pinned nor read.
    let listed = if all {
        list(parts, None).await?
    } else {
        Vec::new()
    };
    let system = all
        || names
            .iter()
            .any(|(_, name)| name.schema == crate::system::SCHEMA);
    build(parts, query, read, listed, system)
}

fn is_function<T>(
    reference: &TableReference,
    functions: &std::collections::HashMap<String, T>,
) -> bool {
    reference.schema().is_none() && functions.contains_key(reference.table())
}

async fn get(
    parts: &Parts,
    name: &TableName,
    may_be_missing: bool,
    pinned: &[TableSnapshot],
) -> Result<Option<TableMeta>, PlannerError> {
    let pin = pinned.iter().find(|pin| pin.table == *name);
    let request = proto::GetTableRequest {
        name: Some(name.into()),
        snapshot_id: pin.map(|pin| pin.snapshot_id.0),
    };
    match parts.catalog().get_table(request).await {
        Ok(table) => table.into_inner().try_into().map(Some),
        Err(status) if status.code() == Code::NotFound && may_be_missing => Ok(None),
        Err(status) if status.code() == Code::NotFound && pin.is_none() => {
            Err(missing(parts, name).await)
        }
        Err(status) => Err(parts.catalog_failed(&status)),
    }
}

/// All tables, or those of a schema.
pub(crate) async fn list(
    parts: &Parts,
    schema: Option<String>,
) -> Result<Vec<TableMeta>, PlannerError> {
    let answer = parts
        .catalog()
        .list_tables(proto::ListTablesRequest { schema })
        .await;
    let tables = answer.map_err(|status| parts.catalog_failed(&status))?;
    let tables = tables.into_inner().tables.into_iter();
    tables.map(TableMeta::try_from).collect()
}

/// The error of a missing table, with the nearest name when there is one.
async fn missing(parts: &Parts, name: &TableName) -> PlannerError {
    let tables = list(parts, None).await.unwrap_or_default();
    let near = nearest(name, tables.iter().map(|table| &table.name));
    let hint = near
        .map(|near| format!("; did you mean {near}?"))
        .unwrap_or_default();
    PlannerError::NotFound(format!("table {name} does not exist{hint}"))
}

fn nearest<'a>(name: &TableName, tables: impl Iterator<Item = &'a TableName>) -> Option<String> {
    let distance = |candidate: &TableName| {
        levenshtein(&candidate.table.to_lowercase(), &name.table.to_lowercase())
    };
    let near = tables
        .map(|candidate| (distance(candidate), candidate))
        .min()?;
    let (distance, table) = near;
    let quoted = table
        .table
        .chars()
        .any(|letter| !(letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'));
    let shown = if quoted {
        format!("\"{}\"", table.table.replace('"', "\"\""))
    } else {
        table.table.clone()
    };
    (distance <= name.table.len() / 3 + 1).then(|| format!("{}.{shown}", table.schema))
}

fn build(
    parts: &Arc<Parts>,
    query: &Arc<Query>,
    read: Vec<TableMeta>,
    listed: Vec<TableMeta>,
    system: bool,
) -> Result<Resolved, PlannerError> {
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema(DEFAULT_SCHEMA, Arc::new(MemorySchemaProvider::new()))?;
    let mut snapshots = Vec::new();
    for meta in listed {
        let table = Arc::new(ListedTable(meta.plain));
        register(&catalog, &meta.name.schema, &meta.name.table, table)?;
    }
    for meta in read {
        let name = meta.name.clone();
        if snapshots
            .iter()
            .any(|pin: &TableSnapshot| pin.table == name)
        {
            continue;
        }
        snapshots.push(TableSnapshot {
            table: name.clone(),
            snapshot_id: meta.snapshot,
        });
        let table = CatalogTable::new(meta, Arc::clone(parts), Arc::clone(query));
        register(&catalog, &name.schema, &name.table, Arc::new(table))?;
    }
    if system {
        for (name, table) in crate::system::tables(parts) {
            register(&catalog, crate::system::SCHEMA, name, table)?;
        }
    }
    let catalogs = MemoryCatalogProviderList::new();
    catalogs.register_catalog(CATALOG.to_owned(), Arc::new(catalog));
    Ok(Resolved {
        catalogs: Arc::new(catalogs),
        snapshots,
    })
}

fn register(
    catalog: &MemoryCatalogProvider,
    schema: &str,
    name: &str,
    table: Arc<dyn TableProvider>,
) -> Result<(), PlannerError> {
    let provider = if let Some(provider) = catalog.schema(schema) {
        provider
    } else {
        let provider: Arc<dyn SchemaProvider> = Arc::new(MemorySchemaProvider::new());
        catalog.register_schema(schema, Arc::clone(&provider))?;
        provider
    };
    // The table that is read takes the place of the one that is only listed.
    provider.deregister_table(name)?;
    provider.register_table(name.to_owned(), table)?;
    Ok(())
}

/// A table that `information_schema` shows and the statement does not read.
#[derive(Debug)]
struct ListedTable(SchemaRef);

#[async_trait]
impl TableProvider for ListedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> datafusion::error::Result<Arc<dyn ExecutionPlan>> {
        internal_err!("a table that is only listed cannot be read")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let tables = [TableName::main("orders"), TableName::main("Customers")];
        let near = |name: &str| nearest(&TableName::main(name), tables.iter());
        assert_eq!(near("order").as_deref(), Some("main.orders"));
        assert_eq!(near("customers").as_deref(), Some("main.\"Customers\""));
        assert_eq!(near("weather"), None);
    }
}
