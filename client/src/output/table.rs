//! Tables for people: aligned columns, numbers to the right, shortened to the terminal.

use std::io::Write;

use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use console::{Alignment, measure_text_width, pad_str, truncate_str};

use super::Output;
use crate::error::ClientError;

/// How nulls are shown.
const NULL: &str = "NULL";

/// No column is made narrower than this.
const MIN_WIDTH: usize = 6;

/// Between two columns.
const SEPARATOR: &str = " │ ";

/// Rows that are collected before they are written, because the widest cell decides.
#[derive(Debug)]
pub(crate) struct Table {
    names: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
    max_rows: usize,
    width: Option<usize>,
}

impl Table {
    pub(crate) fn new(output: Output, schema: &SchemaRef) -> Self {
        let fields = schema.fields();
        Self {
            names: fields.iter().map(|field| printable(field.name())).collect(),
            right: fields
                .iter()
                .map(|field| is_number(field.data_type()))
                .collect(),
            rows: Vec::new(),
            max_rows: output.max_rows.unwrap_or(usize::MAX),
            width: output.width,
        }
    }

    /// Keeps the rows that will be shown.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<(), ClientError> {
        let options = FormatOptions::default().with_null(NULL);
        let formatters = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<Result<Vec<_>, _>>()?;
        let wanted = self.max_rows.saturating_sub(self.rows.len());
        for row in 0..batch.num_rows().min(wanted) {
            let cells = formatters
                .iter()
                .map(|formatter| formatter.value(row).try_to_string())
                .map(|cell| cell.map(|cell| printable(&cell)));
            self.rows.push(cells.collect::<Result<_, _>>()?);
        }
        Ok(())
    }

    /// How many rows are shown.
    pub(crate) fn shown(&self) -> usize {
        self.rows.len()
    }

    /// Writes the table; nothing when it has no columns.
    pub(crate) fn write(&self, writer: &mut impl Write) -> Result<(), ClientError> {
        if self.names.is_empty() {
            return Ok(());
        }
        let widths = self.widths();
        self.write_row(&self.names, &widths, writer)?;
        let rules: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
        writeln!(writer, "{}", rules.join("┼"))?;
        for row in &self.rows {
            self.write_row(row, &widths, writer)?;
        }
        Ok(())
    }

    /// A row takes as many lines as its tallest cell.
    fn write_row(
        &self,
        cells: &[String],
        widths: &[usize],
        writer: &mut impl Write,
    ) -> Result<(), ClientError> {
        let tallest = cells.iter().map(|cell| cell.split('\n').count()).max();
        for number in 0..tallest.unwrap_or(1) {
            let part = |cell: &'_ String| cell.split('\n').nth(number).map(str::to_owned);
            let parts: Vec<String> = cells
                .iter()
                .map(|cell| part(cell).unwrap_or_default())
                .collect();
            writeln!(writer, "{}", self.line(&parts, widths))?;
        }
        Ok(())
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let cells = cells
            .iter()
            .zip(widths)
            .zip(&self.right)
            .map(|((cell, width), right)| {
                let alignment = if *right {
                    Alignment::Right
                } else {
                    Alignment::Left
                };
                let cell = truncate_str(cell, *width, "…");
                pad_str(&cell, *width, alignment, None).into_owned()
            });
        format!(" {}", cells.collect::<Vec<_>>().join(SEPARATOR))
            .trim_end()
            .to_owned()
    }

    /// The widest cell of each column, then the widest columns narrowed until the line fits.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self
            .names
            .iter()
            .map(|name| measure_text_width(name))
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                let lines = cell.split('\n').map(measure_text_width);
                *width = lines.max().unwrap_or_default().max(*width);
            }
        }
        if let Some(limit) = self.width {
            narrow(&mut widths, limit);
        }
        widths
    }
}

fn narrow(widths: &mut [usize], limit: usize) {
    let between = widths.len().saturating_sub(1) * 3 + 1;
    let limit = limit.saturating_sub(between);
    let mut excess = widths.iter().sum::<usize>().saturating_sub(limit);
    while excess > 0 {
        let Some(widest) = widths.iter().copied().max().filter(|w| *w > MIN_WIDTH) else {
            return;
        };
        // All of the widest columns give way together, down to the next one or until it fits.
        let next = widths.iter().copied().filter(|w| *w < widest).max();
        let floor = next.unwrap_or(MIN_WIDTH).max(MIN_WIDTH);
        let wide = widths.iter().filter(|w| **w == widest).count();
        let step = (widest - floor).min(excess.div_ceil(wide));
        for width in widths.iter_mut().filter(|w| **w == widest) {
            *width -= step;
        }
        excess = excess.saturating_sub(step * wide);
    }
}

/// What a value holds besides text must not reach the terminal; only line breaks are kept.
fn printable(text: &str) -> String {
    let odd = |character: char| character.is_control() && character != '\n';
    if !text.contains(odd) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if odd(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;
    use crate::output::Format;

    fn shown(output: Output, rows: usize) -> String {
        let count = i64::try_from(rows).unwrap();
        let names = (0..count).map(|id| (id != 1).then(|| format!("name\t\n{}", "x".repeat(10))));
        let batch = RecordBatch::try_from_iter_with_nullable([
            (
                "id",
                Arc::new(Int64Array::from_iter_values(8..8 + count)) as ArrayRef,
                false,
            ),
            ("name", Arc::new(names.collect::<StringArray>()), true),
        ])
        .unwrap();
        let mut table = Table::new(output, &batch.schema());
        table.add(&batch).unwrap();
        let mut text = Vec::new();
        table.write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn columns_are_aligned_and_rows_are_as_tall_as_their_cells() {
        let expected = "\
            \x20id │ name\n\
            ────┼────────────\n\
            \x20 8 │ name\\t\n\
            \x20   │ xxxxxxxxxx\n\
            \x20 9 │ NULL\n\
            \x2010 │ name\\t\n\
            \x20   │ xxxxxxxxxx\n";
        assert_eq!(shown(Output::default(), 3), expected);
    }

    #[test]
    fn a_table_fits_the_terminal_and_shows_no_more_rows_than_wanted() {
        let output = Output {
            format: Format::Table,
            max_rows: Some(1),
            width: Some(13),
        };
        let expected = "\
            \x20id │ name\n\
            ────┼─────────\n\
            \x20 8 │ name\\t\n\
            \x20   │ xxxxxx…\n";
        assert_eq!(shown(output, 3), expected);
    }

    #[test]
    fn the_widest_columns_give_way_first() {
        let mut widths = [40, 10, 30];
        narrow(&mut widths, 57);
        assert_eq!(widths, [20, 10, 20]);
        let mut widths = [40, 40];
        narrow(&mut widths, 5);
        assert_eq!(widths, [MIN_WIDTH, MIN_WIDTH]);
    }
}
