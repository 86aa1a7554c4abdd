//! The demo: sample tables, all services over them, the sample query with its report, and how to
//! connect. Tables that it made are used again; files that it did not make are never touched.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use client::text::{bytes, count, duration};
use client::{Client, Output};

use crate::error::LocalError;

/// The sample query: a fortnight of a year of orders.
pub const QUERY: &str = "SELECT order_id, customer_id, amount FROM orders \
     WHERE order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'";

/// Rows of the sample query that are shown.
const SHOWN_ROWS: usize = 5;

/// Files and folders of the demo's own, hidden from the search for tables.
const HIDDEN: &str = ".fulmar";

/// The sample tables on disk.
#[derive(Debug)]
pub struct Samples {
    /// The folder with one sub-folder for each table.
    pub data: PathBuf,
    /// The folder for the catalog.
    pub state: PathBuf,
}

/// Where the demo keeps its tables when no folder is named.
pub fn default_folder() -> PathBuf {
    let cache = dirs::cache_dir().unwrap_or_else(std::env::temp_dir);
    cache.join("fulmar").join("demo")
}

/// Makes `orders` and `customers` in a folder, unless they are there with as many rows; says what it
/// does.
///
/// # Errors
/// When the folder cannot be written or holds tables that the demo did not make.
pub fn samples(folder: &Path, rows: u64, notes: &mut impl Write) -> Result<Samples, LocalError> {
    let hidden = folder.join(HIDDEN);
    let marker = hidden.join("rows");
    let samples = Samples {
        data: folder.to_owned(),
        state: hidden.join("state"),
    };
    let made = fs::read_to_string(&marker).ok();
    if made.as_deref().map(str::trim) == Some(rows.to_string().as_str()) {
        writeln!(notes, "using the sample tables in {}", folder.display())?;
        return Ok(samples);
    }
    let (orders, customers) = (folder.join("orders"), folder.join("customers"));
    for table in [&orders, &customers] {
        if made.is_none() && table.exists() {
            return Err(LocalError::NotOurs {
                path: table.clone(),
            });
        }
    }
    writeln!(
        notes,
        "making {} orders in {}",
        count(rows),
        folder.display()
    )?;
    fs::create_dir_all(&hidden).map_err(LocalError::state(&hidden))?;
    fs::write(&marker, "unfinished\n").map_err(LocalError::state(&marker))?;
    let began = Instant::now();
    for table in [&orders, &customers] {
        if table.exists() {
            fs::remove_dir_all(table).map_err(LocalError::state(table))?;
        }
    }
    let written = fixtures::orders_by_month(&orders, rows)?;
    fixtures::customers(&customers, fixtures::Orders::new(rows).customers())?;
    fs::write(&marker, format!("{rows}\n")).map_err(LocalError::state(&marker))?;
    let size = bytes(written.bytes());
    writeln!(notes, "made {size} in {}", duration(began.elapsed()))?;
    Ok(samples)
}

/// Runs the sample query and shows its first rows and its report.
///
/// # Errors
/// When the query fails or the output is gone.
pub async fn show(location: &str, output: &mut impl Write) -> Result<(), LocalError> {
    let client = Client::connect(location)?;
    let run = client::statement::Run {
        output: Output {
            max_rows: Some(SHOWN_ROWS),
            ..Output::default()
        },
        report: true,
        ..client::statement::Run::default()
    };
    writeln!(output, "\n{}\n", in_lines(QUERY))?;
    client::statement::run(&client, QUERY, &run, output, &mut std::io::sink()).await?;
    Ok(())
}

/// How to connect from Python; works when pasted.
pub fn snippet(location: &str) -> String {
    format!(
        "# pip install adbc-driver-flightsql pyarrow\n\
         import adbc_driver_flightsql.dbapi as flight_sql\n\
         connection = flight_sql.connect(\"{location}\", autocommit=True)\n\
         cursor = connection.cursor()\n\
         cursor.execute(\"\"\"{QUERY}\"\"\")\n\
         print(cursor.fetch_arrow_table())\n"
    )
}

fn in_lines(sql: &str) -> String {
    sql.replace(" FROM ", "\n  FROM ")
        .replace(" WHERE ", "\n  WHERE ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_made_once_and_again_for_another_number_of_rows() {
        let folder = tempfile::tempdir().unwrap();
        let written = |rows| {
            let mut notes = Vec::new();
            samples(folder.path(), rows, &mut notes).unwrap();
            String::from_utf8(notes).unwrap()
        };
        assert!(written(2_000).starts_with("making 2,000 orders"));
        assert!(written(2_000).starts_with("using the sample tables"));
        assert!(written(3_000).starts_with("making 3,000 orders"));
        assert!(folder.path().join("orders").is_dir());
        assert!(folder.path().join("customers").is_dir());
    }

    #[test]
    fn tables_of_somebody_else_are_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("orders")).unwrap();
        let error = samples(folder.path(), 10, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, LocalError::NotOurs { .. }), "{error}");
    }
}
