//! What a descriptor or a ticket asks for: a table by its path, or a Flight SQL command.

use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::sql::{Any, Command};
use model::TableName;
use model::schema::CATALOG;
use prost::Message;

use crate::error::PlannerError;

/// What a descriptor asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asked {
    /// The rows of a table.
    Table(TableName),
    /// A command of Flight SQL.
    Command(Box<Command>),
}

/// Reads a descriptor.
///
/// # Errors
/// When it names no table and holds no command.
pub(crate) fn of_descriptor(descriptor: &FlightDescriptor) -> Result<Asked, PlannerError> {
    if descriptor.r#type == i32::from(DescriptorType::Path) {
        return of_path(&descriptor.path).map(Asked::Table);
    }
    let command = of_bytes(&descriptor.cmd, "the descriptor's command")?;
    Ok(Asked::Command(Box::new(command)))
}

/// Reads a command; `what` names the bytes in an error.
///
/// # Errors
/// When the bytes are not a message of Flight SQL.
pub(crate) fn of_bytes(bytes: &[u8], what: &str) -> Result<Command, PlannerError> {
    let invalid = |why: String| PlannerError::Invalid(format!("{what} is not Flight SQL: {why}"));
    let message = Any::decode(bytes).map_err(|error| invalid(error.to_string()))?;
    match Command::try_from(message).map_err(|error| invalid(error.to_string()))? {
        Command::Unknown(any) => Err(invalid(format!("unknown type {:?}", any.type_url))),
        command => Ok(command),
    }
}

/// The statement that gives a table's rows.
pub(crate) fn select_all(table: &TableName) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    format!(
        "SELECT * FROM {}.{}",
        quoted(&table.schema),
        quoted(&table.table)
    )
}

fn of_path(path: &[String]) -> Result<TableName, PlannerError> {
    match path {
        [table] => Ok(TableName::main(table)),
        [schema, table] => Ok(TableName::new(schema, table)),
        [catalog, schema, table] if catalog == CATALOG => Ok(TableName::new(schema, table)),
        _ => Err(PlannerError::Invalid(format!(
            "the descriptor's path must be table, schema/table or {CATALOG}/schema/table, not {:?}",
            path.join("/")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use arrow_flight::sql::{CommandGetCatalogs, ProstMessageExt};

    use super::*;

    #[test]
    fn paths_name_tables_and_commands_are_decoded() {
        for (path, select) in [
            (vec!["t"], "SELECT * FROM \"main\".\"t\""),
            (vec!["s", "a\"b"], "SELECT * FROM \"s\".\"a\"\"b\""),
            (vec!["fulmar", "s", "t"], "SELECT * FROM \"s\".\"t\""),
        ] {
            let path = path.into_iter().map(str::to_owned).collect();
            let asked = of_descriptor(&FlightDescriptor::new_path(path)).unwrap();
            let Asked::Table(table) = asked else {
                unreachable!("{asked:?}")
            };
            assert_eq!(select_all(&table), select);
        }
        let command = CommandGetCatalogs {}.as_any().encode_to_vec();
        assert_eq!(
            of_descriptor(&FlightDescriptor::new_cmd(command)).unwrap(),
            Asked::Command(Box::new(Command::CommandGetCatalogs(CommandGetCatalogs {})))
        );
    }

    #[test]
    fn what_is_neither_is_refused() {
        let path = ["other", "s", "t"].map(str::to_owned).to_vec();
        for descriptor in [
            FlightDescriptor::new_path(path),
            FlightDescriptor::new_path(Vec::new()),
            FlightDescriptor::new_cmd("SELECT 1"),
            FlightDescriptor::new_cmd(""),
        ] {
            assert!(of_descriptor(&descriptor).is_err(), "{descriptor:?}");
        }
    }
}
