//! A bar over tickets on a terminal; nothing anywhere else.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::results::Tally;
use crate::text::count;

/// A statement that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(300);

/// How often a bar that has nothing new to show moves on.
pub(crate) const PACE: Duration = Duration::from_millis(200);

/// What a statement has given so far, shown on stderr while it runs.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    began: std::time::Instant,
}

impl Progress {
    /// A bar when `wanted` and stderr is a terminal.
    pub(crate) fn new(wanted: bool) -> Self {
        let bar = (wanted && std::io::stderr().is_terminal()).then(ProgressBar::hidden);
        Self {
            bar,
            began: std::time::Instant::now(),
        }
    }

    /// Shows the state of a statement.
    pub(crate) fn show(&self, tally: &Tally) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() {
            if self.began.elapsed() < PATIENCE {
                return;
            }
            bar.set_style(style());
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        bar.set_length(tally.tickets as u64);
        bar.set_position(tally.tickets_done as u64);
        bar.tick();
        bar.set_message(format!("{} rows", count(tally.rows)));
    }

    /// Takes the bar away before rows or errors are written.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:30} {pos}/{len} tickets · {msg} · {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
