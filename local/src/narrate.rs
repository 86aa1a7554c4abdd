//! The start of a local Fulmar in words: one line for each table, progress in place on a terminal.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use client::text::{bytes, count, counted};

use crate::config::Event;

/// Writes events to stderr as they come.
#[derive(Debug)]
pub struct Narrator {
    terminal: bool,
    /// Whether the cursor stands behind a progress line that is to be replaced.
    pending: Mutex<bool>,
}

impl Default for Narrator {
    fn default() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            pending: Mutex::new(false),
        }
    }
}

impl Narrator {
    /// Tells one event. What cannot be written is lost: nobody is there to read it.
    pub fn tell(&self, event: &Event) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stderr = std::io::stderr().lock();
        let progress = matches!(event, Event::Reading { .. });
        if progress && !self.terminal {
            return;
        }
        let clear = if *pending { "\r\x1b[K" } else { "" };
        let end = if progress { "" } else { "\n" };
        let _ = write!(stderr, "{clear}{}{end}", sentence(event));
        let _ = stderr.flush();
        *pending = progress;
    }
}

fn sentence(event: &Event) -> String {
    match event {
        Event::Reading {
            table,
            files_done,
            files_total,
        } => format!(
            "  {table}: reading footers, {} of {}",
            count(*files_done),
            counted(*files_total, "file")
        ),
        Event::Ready {
            table,
            place,
            files,
            rows,
            bytes: size,
            footers_read,
        } => {
            let place = match place.as_str() {
                "" => String::new(),
                place if place == table => String::new(),
                place => format!(" from {place}"),
            };
            let new = match *footers_read {
                0 => ", nothing new".to_owned(),
                read if read == *files => String::new(),
                read => format!(", {} new", count(read)),
            };
            format!(
                "  {table}{place}: {}, {}, {}{new}",
                counted(*rows, "row"),
                counted(*files, "file"),
                bytes(*size)
            )
        }
        Event::Dropped { table } => format!("  {table}: dropped, its files are gone"),
        Event::Warning(text) => format!("warning: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_told_in_one_line() {
        let mut event = Event::Ready {
            table: "orders".to_owned(),
            place: "sales/orders".to_owned(),
            files: 12,
            rows: 2_000_000,
            bytes: 3 << 20,
            footers_read: 12,
        };
        assert_eq!(
            sentence(&event),
            "  orders from sales/orders: 2,000,000 rows, 12 files, 3.0 MiB"
        );
        if let Event::Ready {
            place,
            footers_read,
            ..
        } = &mut event
        {
            "orders".clone_into(place);
            *footers_read = 1;
        }
        assert_eq!(
            sentence(&event),
            "  orders: 2,000,000 rows, 12 files, 3.0 MiB, 1 new"
        );
    }
}
