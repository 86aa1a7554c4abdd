//! `fulmar sql`: a statement, a file of them, or a prompt.

use std::io::{IsTerminal, Read};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use client::statement::{Run, run as run_statement, split};
use client::{Client, Format, Output, QueryOptions, repl};

use crate::flags::{FlagError, location};

/// Flags of `sql`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The statement; several are separated by `;`. Without one: standard input, or a prompt on a
    /// terminal
    #[arg(value_name = "SQL", conflicts_with = "file")]
    sql: Option<String>,
    /// Read the statements from a file
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show what each statement read and left out, and why
    #[arg(long)]
    report: bool,
    /// How rows are written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: OutputFormat,
    /// Most rows that a table shows, 0 for all; CSV and JSON always hold all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_rows: usize,
    /// Ask for one endpoint that the planner streams, or for many
    #[arg(long, value_name = "MODE", default_value = "many")]
    endpoints: Fetch,
    /// How many endpoints are fetched at once
    #[arg(long, value_name = "N", default_value = "8")]
    parallel: NonZeroUsize,
    #[command(flatten)]
    planner: PlannerFlags,
}

/// Which planner is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct PlannerFlags {
    /// The planner to ask
    #[arg(
        long, env = "FULMAR_PLANNER", value_name = "LOCATION",
        default_value = "grpc://127.0.0.1:50051", value_parser = location
    )]
    planner: String,
}

impl PlannerFlags {
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::connect(&self.planner)?)
    }
}

/// How rows are written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// Aligned columns
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object a line
    Json,
}

impl OutputFormat {
    /// How rows are shown on this terminal or in this pipe.
    pub(crate) fn output(self, max_rows: usize) -> Output {
        Output {
            format: match self {
                Self::Table => Format::Table,
                Self::Csv => Format::Csv,
                Self::Json => Format::Json,
            },
            max_rows: Some(max_rows).filter(|rows| *rows > 0),
            width: client::output::terminal_width(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Fetch {
    /// As many as the planner gives, fetched in parallel
    Many,
    /// One
    Single,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let client = args.planner.client()?;
    let settings = Run {
        query: QueryOptions {
            single_endpoint: args.endpoints == Fetch::Single,
            parallel: args.parallel,
        },
        output: args.format.output(args.max_rows),
        report: args.report,
        progress: true,
    };
    let Some(text) = statements(&args)? else {
        let history = repl::default_history();
        return Ok(repl::repl(client, settings, history).await?);
    };
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr());
    for sql in split(&text) {
        run_statement(&client, &sql, &settings, &mut stdout, &mut stderr).await?;
    }
    Ok(())
}

/// The text of the statements; nothing when they come from a prompt.
fn statements(args: &Args) -> anyhow::Result<Option<String>> {
    if let Some(path) = &args.file {
        let text = std::fs::read_to_string(path);
        let error = |error| FlagError::new("--file", format!("{}: {error}", path.display()));
        return Ok(Some(text.map_err(error)?));
    }
    if args.sql.is_some() {
        return Ok(args.sql.clone());
    }
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(Some(text))
}
