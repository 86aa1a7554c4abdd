//! Runs one statement from beginning to end: rows to one writer, its report to another.

use std::io::Write;
use std::time::Instant;

use arrow::record_batch::RecordBatch;

use crate::connection::{Client, QueryOptions};
use crate::error::ClientError;
use crate::output::{Format, Output, Rows};
use crate::progress::{self, Progress};
use crate::report::QueryReport;
use crate::results::Results;
use crate::text::{counted, duration};

/// How a statement is run and shown.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// How it is fetched.
    pub query: QueryOptions,
    /// How rows are shown.
    pub output: Output,
    /// Whether the report is shown.
    pub report: bool,
    /// Whether a bar is shown while it runs, if stderr is a terminal.
    pub progress: bool,
}

/// Runs a statement. The report follows a table on `rows`; rows for programs are kept clean, and the
/// report goes to `notes`.
///
/// # Errors
/// When the statement fails or its rows cannot be written.
pub async fn run(
    client: &Client,
    sql: &str,
    run: &Run,
    rows: &mut impl Write,
    notes: &mut impl Write,
) -> Result<(), ClientError> {
    let began = Instant::now();
    let progress = Progress::new(run.progress && !run.output.streams_to_terminal());
    let mut results = client.execute(sql, &run.query).await?;
    let mut shown = Rows::new(run.output, results.schema());
    progress.show(results.tally());
    while let Some(batch) = next(&mut results, &progress).await? {
        shown.add(&batch, rows)?;
        progress.show(results.tally());
    }
    progress.clear();
    let elapsed = began.elapsed();
    shown.finish(rows)?;
    if run.output.format == Format::Table {
        let count = counted(results.tally().rows, "row");
        let hidden = shown.hidden(results.tally().rows);
        writeln!(rows, "({count}{hidden}, {})", duration(elapsed))?;
    }
    if run.report {
        let mut report = QueryReport::gather(client, &results, began).await;
        report.elapsed = elapsed;
        match run.output.format {
            Format::Table => write!(rows, "\n{report}")?,
            Format::Csv | Format::Json => write!(notes, "{report}")?,
        }
    }
    rows.flush()?;
    Ok(())
}

/// The next rows; the bar goes on while there are none.
async fn next(
    results: &mut Results,
    progress: &Progress,
) -> Result<Option<RecordBatch>, ClientError> {
    loop {
        if let Ok(batch) = tokio::time::timeout(progress::PACE, results.next()).await {
            return batch;
        }
        progress.show(results.tally());
    }
}

/// The statements of a text: what lies between semicolons, those in strings, quoted names and comments
/// aside. The last one needs none.
pub fn split(text: &str) -> Vec<String> {
    let (mut statements, rest) = crate::repl::split(text);
    if !rest.trim().is_empty() {
        statements.push(rest.trim().to_owned());
    }
    statements
}

/// Runs a statement and gives all of its rows.
///
/// # Errors
/// When the statement fails.
pub async fn collect(client: &Client, sql: &str) -> Result<Vec<RecordBatch>, ClientError> {
    let mut results = client.execute(sql, &QueryOptions::default()).await?;
    let mut batches = Vec::new();
    while let Some(batch) = results.next().await? {
        batches.push(batch);
    }
    Ok(batches)
}
