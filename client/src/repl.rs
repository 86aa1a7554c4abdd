//! The terminal: statements over several lines until `;`, a history, a few commands that begin with a
//! backslash. An error or Ctrl-C ends the statement, never the session.

mod input;

use std::future::Future;
use std::io::Write;
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::runtime::Handle;

use crate::connection::Client;
use crate::error::ClientError;
use crate::statement::{Run, collect, run};
use crate::tables;
pub(crate) use input::split;
use input::{Command, Input};

const HELP: &str = "\
  SELECT …;             runs a statement, over as many lines as it takes
  \\d                    the tables
  \\d NAME               the columns of a table
  \\report on|off        what each statement read and left out
  \\q                    leaves";

/// Where the history is kept; nowhere when missing.
pub type History = Option<PathBuf>;

/// The history in the user's state directory.
pub fn default_history() -> History {
    let state = dirs::state_dir().or_else(dirs::data_local_dir)?;
    Some(state.join("fulmar").join("history"))
}

/// Reads statements from the terminal until `\q` or the end of input.
///
/// # Errors
/// When the planner cannot be reached at the start, or the terminal cannot be used.
pub async fn repl(client: Client, settings: Run, history: History) -> Result<(), ClientError> {
    collect(&client, "SELECT 1").await?;
    let session = Session {
        client,
        settings,
        runtime: Handle::current(),
    };
    // Reading a line blocks, so the session has a thread of its own.
    let session = tokio::task::spawn_blocking(move || session.run(&history));
    session.await?
}

struct Session {
    client: Client,
    settings: Run,
    runtime: Handle,
}

impl Session {
    fn run(mut self, history: &History) -> Result<(), ClientError> {
        let mut editor = DefaultEditor::new()?;
        if let Some(path) = history {
            // A history that cannot be read is one that does not exist yet.
            let _ = editor.load_history(path);
        }
        self.say(&format!(
            "connected to {}; \\? for help, \\q to leave",
            self.client.location()
        ))?;
        let mut input = Input::default();
        loop {
            let prompt = if input.is_empty() {
                "fulmar> "
            } else {
                "     -> "
            };
            match editor.readline(prompt) {
                Ok(line) => {
                    for command in input.push(&line) {
                        remember(&mut editor, history, &command.text());
                        if !self.obey(&command)? {
                            return Ok(());
                        }
                    }
                }
                Err(ReadlineError::Interrupted) => input = Input::default(),
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Does what a command says; whether the session goes on.
    fn obey(&mut self, command: &Command) -> Result<bool, ClientError> {
        match command {
            Command::Quit => return Ok(false),
            Command::Help => self.say(HELP)?,
            Command::Report(on) => {
                self.settings.report = *on;
                self.say(if *on { "report is on" } else { "report is off" })?;
            }
            Command::Tables => self.show(tables::LIST)?,
            // Typed among statements, so it means what it would mean there.
            Command::Columns(name) => self.show(&format!("DESCRIBE {name}"))?,
            Command::Statement(sql) => self.show(sql)?,
            Command::Unknown(text) => self.say(&format!("no command {text}; \\? for help"))?,
        }
        Ok(true)
    }

    /// Runs a statement; its error is shown, and only an unusable terminal ends the session.
    fn show(&self, sql: &str) -> Result<(), ClientError> {
        let mut rows = std::io::stdout().lock();
        let mut notes = std::io::stderr();
        let statement = run(&self.client, sql, &self.settings, &mut rows, &mut notes);
        match self.runtime.block_on(unless_interrupted(statement)) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if error.is_broken_pipe() => Err(error),
            Some(Err(error)) => Ok(writeln!(notes, "error: {error}")?),
            None => Ok(writeln!(notes, "cancelled")?),
        }
    }

    #[expect(clippy::unused_self, reason = "a session speaks, wherever it is")]
    fn say(&self, text: &str) -> Result<(), ClientError> {
        Ok(writeln!(std::io::stdout(), "{text}")?)
    }
}

/// The result of `work`, or nothing when Ctrl-C came first; then the work is dropped, which cancels
/// its streams.
async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        result = work => Some(result),
        _ = tokio::signal::ctrl_c() => None,
    }
}

fn remember(editor: &mut DefaultEditor, history: &History, text: &str) {
    // A history that cannot be kept is no reason to stop.
    let _ = editor.add_history_entry(text);
    if let Some(path) = history {
        if let Some(folder) = path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = editor.save_history(path);
    }
}
