//! Rows as text: tables for people, CSV and JSON lines for programs. Rows go to the writer they are
//! given; nothing else does.

mod lines;
mod table;

use std::io::{IsTerminal, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::error::ClientError;
use crate::text::count;
use lines::{CsvLines, JsonLines};
use table::Table;

/// The format of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns with a count of rows.
    #[default]
    Table,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object a line.
    Json,
}

/// How rows are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// Most rows that a table shows; all when missing. CSV and JSON always hold all.
    pub max_rows: Option<usize>,
    /// Columns of the terminal that a table must fit; cells are shortened to it. Not at all when
    /// missing.
    pub width: Option<usize>,
}

impl Output {
    /// Whether rows are written to the terminal while others are still fetched, so that nothing else may
    /// write there.
    pub(crate) fn streams_to_terminal(&self) -> bool {
        self.format != Format::Table && std::io::stdout().is_terminal()
    }
}

/// The columns of the terminal behind stdout, if it is one.
pub fn terminal_width() -> Option<usize> {
    let terminal = console::Term::stdout();
    let size = terminal.is_term().then(|| terminal.size_checked());
    size.flatten().map(|(_, columns)| usize::from(columns))
}

/// Rows on their way to a writer.
#[derive(Debug)]
pub(crate) enum Rows {
    Table(Table),
    Csv(CsvLines),
    Json(JsonLines),
}

impl Rows {
    /// Rows of these columns.
    pub(crate) fn new(output: Output, schema: &SchemaRef) -> Self {
        match output.format {
            Format::Table => Self::Table(Table::new(output, schema)),
            Format::Csv => Self::Csv(CsvLines::new(schema)),
            Format::Json => Self::Json(JsonLines),
        }
    }

    /// Adds rows; formats that need not see all of them write at once.
    pub(crate) fn add(
        &mut self,
        batch: &RecordBatch,
        writer: &mut impl Write,
    ) -> Result<(), ClientError> {
        match self {
            Self::Table(table) => table.add(batch),
            Self::Csv(lines) => lines.add(batch, writer),
            Self::Json(lines) => lines.add(batch, writer),
        }
    }

    /// Says when fewer than all rows are shown.
    pub(crate) fn hidden(&self, total: u64) -> String {
        match self {
            Self::Table(table) if (table.shown() as u64) < total => {
                format!(", the first {} shown", count(table.shown() as u64))
            }
            _ => String::new(),
        }
    }

    /// Writes what is still missing.
    pub(crate) fn finish(&mut self, writer: &mut impl Write) -> Result<(), ClientError> {
        match self {
            Self::Table(table) => table.write(writer)?,
            Self::Csv(lines) => lines.finish(writer)?,
            Self::Json(_) => {}
        }
        Ok(writer.flush()?)
    }
}
