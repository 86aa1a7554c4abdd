//! The commands on tables, as the SQL that does them.

use arrow::array::AsArray;

use crate::connection::Client;
use crate::error::ClientError;
use crate::statement::collect;

/// All tables.
pub const LIST: &str = "SELECT table_schema, table_name, kind, files, row_count, bytes, \
     partition_columns, location FROM system.tables ORDER BY 1, 2";

/// The data files of a table.
pub fn files(name: &str) -> String {
    of_table(
        "path, partition_values, row_count, size",
        "system.files",
        name,
    )
}

/// The snapshots of a table.
pub fn snapshots(name: &str) -> String {
    let columns = "snapshot_id, sequence_number, committed, operation, files_added, files_removed, \
                   files, row_count";
    of_table(columns, "system.snapshots", name)
}

/// Checks that there is such a table.
///
/// # Errors
/// When there is none, or the planner cannot be reached.
pub async fn check(client: &Client, name: &str) -> Result<(), ClientError> {
    let sql = format!("SELECT * FROM {} LIMIT 0", identifier(name));
    collect(client, &sql).await.map(|_| ())
}

/// The columns of a table.
pub fn columns(name: &str) -> String {
    format!("DESCRIBE {}", identifier(name))
}

/// Makes a table a managed one, where its files are.
///
/// # Errors
/// When the planner refuses it, or answers without the place of the metadata.
pub async fn adopt(client: &Client, name: &str) -> Result<String, ClientError> {
    let sql = format!("ADOPT TABLE {}", identifier(name));
    for batch in collect(client, &sql).await? {
        let column = batch.column_by_name("metadata_location");
        let locations = column.and_then(|column| column.as_string_opt::<i32>());
        if let Some(location) = locations.and_then(|array| array.iter().flatten().next()) {
            return Ok(location.to_owned());
        }
    }
    Err(ClientError::Answer {
        location: client.location().to_owned(),
        reason: format!("table {name} was adopted, but its metadata_location is missing"),
    })
}

/// Drops a table. Its data files stay.
///
/// # Errors
/// When the planner refuses it.
pub async fn drop(client: &Client, name: &str) -> Result<(), ClientError> {
    let sql = format!("DROP TABLE {}", identifier(name));
    collect(client, &sql).await.map(|_| ())
}

/// A name as given on the command line, where it is exact: its parts are quoted unless the user
/// quoted them.
fn identifier(name: &str) -> String {
    if name.contains('"') {
        return name.to_owned();
    }
    let parts: Vec<String> = name.split('.').map(|part| format!("\"{part}\"")).collect();
    parts.join(".")
}

fn of_table(columns: &str, system_table: &str, name: &str) -> String {
    let parts: Vec<&str> = name.rsplit('.').collect();
    let literal = |part: &str| format!("'{}'", part.trim_matches('"').replace('\'', "''"));
    let schema = parts.get(1).copied().unwrap_or("main");
    let table = parts.first().copied().unwrap_or_default();
    format!(
        "SELECT {columns} FROM {system_table} WHERE table_schema = {} AND table_name = {} ORDER BY 1",
        literal(schema),
        literal(table)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_quoted_once() {
        assert_eq!(identifier("orders"), "\"orders\"");
        assert_eq!(
            identifier("fulmar.main.My Table"),
            "\"fulmar\".\"main\".\"My Table\""
        );
        assert_eq!(identifier("main.\"a.b\""), "main.\"a.b\"");
    }
}
