//! The metadata commands: their schemas, which need nothing, and their rows. Each command is its own
//! ticket, so that any planner serves it.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::GetCatalogsBuilder;
use arrow_flight::sql::{Command, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables};
use model::schema::{CATALOG, DEFAULT_SCHEMA};

use super::keys::{FOREIGN_KEYS, PRIMARY_KEYS};
use super::listing::{self, TableType};
use super::{sql_info, xdbc};
use crate::engine::Engine;
use crate::error::PlannerError;

/// The schema of a metadata command's rows; `None` when it is not one.
pub(crate) fn schema(command: &Command) -> Option<SchemaRef> {
    Some(match command {
        Command::CommandGetCatalogs(_) => GetCatalogsBuilder::new().schema(),
        Command::CommandGetDbSchemas(command) => command.clone().into_builder().schema(),
        Command::CommandGetTables(command) => command.clone().into_builder().schema(),
        Command::CommandGetTableTypes(command) => (*command).into_builder().schema(),
        Command::CommandGetSqlInfo(_) => sql_info::schema(),
        Command::CommandGetXdbcTypeInfo(_) => xdbc::schema(),
        Command::CommandGetPrimaryKeys(_) => PRIMARY_KEYS.clone(),
        Command::CommandGetExportedKeys(_)
        | Command::CommandGetImportedKeys(_)
        | Command::CommandGetCrossReference(_) => FOREIGN_KEYS.clone(),
        _ => return None,
    })
}

/// A metadata command's rows; `None` when it is not one.
///
/// # Errors
/// When the catalog is out of reach.
pub(crate) async fn rows(
    engine: &Engine,
    command: Command,
) -> Result<Option<RecordBatch>, PlannerError> {
    Ok(Some(match command {
        Command::CommandGetCatalogs(_) => catalogs()?,
        Command::CommandGetDbSchemas(command) => schemas(engine, command).await?,
        Command::CommandGetTables(command) => tables(engine, command).await?,
        Command::CommandGetTableTypes(command) => table_types(command)?,
        Command::CommandGetSqlInfo(command) => sql_info::batch(command)?,
        Command::CommandGetXdbcTypeInfo(command) => xdbc::batch(command)?,
        other => match schema(&other) {
            Some(schema) => RecordBatch::new_empty(schema),
            None => return Ok(None),
        },
    }))
}

fn catalogs() -> Result<RecordBatch, PlannerError> {
    let mut builder = GetCatalogsBuilder::new();
    builder.append(CATALOG);
    builder.build().map_err(|error| failed(&error))
}

async fn schemas(
    engine: &Engine,
    command: CommandGetDbSchemas,
) -> Result<RecordBatch, PlannerError> {
    let mut names: Vec<String> = listing::tables(engine)
        .await?
        .into_iter()
        .map(|table| table.name.schema)
        .chain([DEFAULT_SCHEMA.to_owned()])
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut builder = command.into_builder();
    for name in names {
        builder.append(CATALOG, name);
    }
    builder.build().map_err(|error| failed(&error))
}

async fn tables(engine: &Engine, command: CommandGetTables) -> Result<RecordBatch, PlannerError> {
    let tables = listing::tables(engine).await?;
    let mut builder = command.into_builder();
    for table in tables {
        let schema = listing::annotated(&table);
        builder
            .append(
                CATALOG,
                &table.name.schema,
                &table.name.table,
                table.table_type.name(),
                &schema,
            )
            .map_err(|error| failed(&error))?;
    }
    builder.build().map_err(|error| failed(&error))
}

fn table_types(command: CommandGetTableTypes) -> Result<RecordBatch, PlannerError> {
    let mut builder = command.into_builder();
    for table_type in [TableType::Table, TableType::System] {
        builder.append(table_type.name());
    }
    builder.build().map_err(|error| failed(&error))
}

fn failed(error: &FlightError) -> PlannerError {
    PlannerError::Internal(format!("metadata cannot be built: {error}"))
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow_flight::sql::{CommandGetPrimaryKeys, CommandGetTableTypes};

    use super::*;

    #[test]
    fn table_types_are_those_that_listings_use() {
        let batch = table_types(CommandGetTableTypes {}).unwrap();
        let names: Vec<_> = batch.column(0).as_string::<i32>().iter().collect();
        assert_eq!(names, [Some("SYSTEM TABLE"), Some("TABLE")]);
    }

    #[test]
    fn keys_have_a_schema_and_statements_do_not() {
        let keys = Command::CommandGetPrimaryKeys(CommandGetPrimaryKeys::default());
        assert_eq!(schema(&keys).unwrap().fields().len(), 6);
        let statement = arrow_flight::sql::CommandStatementQuery::default();
        assert!(schema(&Command::CommandStatementQuery(statement)).is_none());
    }
}
