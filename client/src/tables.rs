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

/// A name as given on the command line, where it is exact: every part of it is quoted.
fn identifier(name: &str) -> String {
    let quoted = |part: String| format!("\"{}\"", part.replace('"', "\"\""));
    let parts: Vec<String> = parts(name).into_iter().map(quoted).collect();
    parts.join(".")
}

/// The parts of a name: what lies between dots, those in quotes aside.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut quoted = false;
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            // Within quotes a quote is written twice.
            '"' if quoted && characters.next_if_eq(&'"').is_some() => part.push('"'),
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(std::mem::take(&mut part)),
            _ => part.push(character),
        }
    }
    parts.push(part);
    parts
}

fn of_table(columns: &str, system_table: &str, name: &str) -> String {
    let parts = parts(name);
    let literal = |part: Option<&String>, missing: &str| {
        let part = part.map_or(missing, String::as_str);
        format!("'{}'", part.replace('\'', "''"))
    };
    let mut from_last = parts.iter().rev();
    let (table, schema) = (from_last.next(), from_last.next());
    format!(
        "SELECT {columns} FROM {system_table} WHERE table_schema = {} AND table_name = {} ORDER BY 1",
        literal(schema, "main"),
        literal(table, "")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_quoted_once() {
        for (name, quoted) in [
            ("orders", "\"orders\""),
            ("fulmar.main.My Table", "\"fulmar\".\"main\".\"My Table\""),
            ("main.\"a.b\"", "\"main\".\"a.b\""),
            ("\"say \"\"hi\"\"\"", "\"say \"\"hi\"\"\""),
        ] {
            assert_eq!(identifier(name), quoted, "{name}");
        }
    }

    #[test]
    fn system_tables_are_asked_for_the_same_name() {
        for (name, wanted) in [
            ("orders", "table_schema = 'main' AND table_name = 'orders'"),
            ("s.it's", "table_schema = 's' AND table_name = 'it''s'"),
            (
                "fulmar.main.\"a.b\"",
                "table_schema = 'main' AND table_name = 'a.b'",
            ),
        ] {
            let sql = files(name);
            assert!(sql.contains(wanted), "{sql}");
        }
    }
}
