//! The command line as a whole: the subcommands, the flags that all of them have, and what a wrong
//! command line looks like.

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::logging::LoggingFlags;
use crate::{catalog, demo, fixtures, flight_server, local, planner, sql, table};

const EXAMPLES: &str = "\
Examples:
  fulmar demo                                   sample tables, a sample query, then serve them
  fulmar local --data ./warehouse               serve every folder of Parquet files in ./warehouse
  fulmar sql \"SELECT count(*) FROM orders\"      ask a running Fulmar; without a statement: a prompt
  fulmar sql --report \"SELECT * FROM orders WHERE order_date = DATE '2024-03-01'\"

Any Flight SQL client (ADBC, JDBC, ODBC) connects to grpc://127.0.0.1:50051.";

/// Query tables of Parquet files from any Flight SQL client, reading only what can hold an answer.
#[derive(Debug, Parser)]
#[command(name = "fulmar", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) logging: LoggingFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make sample tables, run a sample query with its report, then serve
    Demo(demo::Args),
    /// Serve a folder or bucket prefix of Parquet files, all services in one process
    Local(local::Args),
    /// Run a statement, or start a prompt
    Sql(sql::Args),
    /// List, adopt or drop tables, show their files and snapshots
    Table(table::Args),
    /// Run the catalog service alone
    Catalog(catalog::Args),
    /// Run the planner alone: the Flight SQL service that clients connect to
    Planner(planner::Args),
    /// Run one Flight server: it scans files and streams rows
    FlightServer(flight_server::Args),
    /// Write a sample table for tests and benchmarks
    #[command(hide = true)]
    Fixtures(fixtures::Args),
}

impl Command {
    /// What is logged when nobody says: services tell what they do, commands only what is wrong. Other
    /// libraries speak only when something is wrong.
    pub(crate) fn default_log(&self) -> &'static str {
        match self {
            Self::Catalog(_) | Self::Planner(_) | Self::FlightServer(_) => "warn,fulmar=info",
            // They tell the user themselves what happens, and which table was refused and why.
            Self::Demo(_) | Self::Local(_) => "warn,fulmar_catalog::service=off",
            Self::Sql(_) | Self::Table(_) | Self::Fixtures(_) => "warn",
        }
    }
}

/// The parsed command line, or the exit code when there is nothing to run.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        // Nobody is left to tell when the terminal is gone.
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let _ = error.print();
                ExitCode::SUCCESS
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let _ = error.print();
                ExitCode::from(2)
            }
            _ => {
                let arguments: Vec<String> = std::env::args().skip(1).collect();
                let line = usage_error(&error, &arguments);
                let _ = writeln!(std::io::stderr(), "fulmar: {line}");
                ExitCode::from(2)
            }
        }
    })
}

/// Clap's error as one line, with where to read more.
fn usage_error(error: &clap::Error, arguments: &[String]) -> String {
    let rendered = error.render().to_string();
    let lines = rendered.lines().map(str::trim);
    let told =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let text: Vec<&str> = told.filter(|line| !line.is_empty()).collect();
    let text = text.join(" ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    format!("{text} (see {} --help)", command_of(arguments))
}

/// The subcommand that was meant, as far as it can be told.
fn command_of(arguments: &[String]) -> String {
    let mut words = vec!["fulmar"];
    let root = Cli::command();
    let mut command = &root;
    for argument in arguments {
        if let Some(inner) = command.find_subcommand(argument) {
            words.push(argument);
            command = inner;
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(arguments: &[&str]) -> String {
        let given: Vec<String> = arguments.iter().skip(1).map(ToString::to_string).collect();
        usage_error(&Cli::try_parse_from(arguments).unwrap_err(), &given)
    }

    #[test]
    fn flags_are_consistent_and_all_have_a_help_line() {
        Cli::command().debug_assert();
        check_help(&Cli::command());
    }

    fn check_help(command: &clap::Command) {
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some(),
                "{} {argument}",
                command.get_name()
            );
        }
        for inner in command.get_subcommands() {
            assert!(inner.get_about().is_some(), "{}", inner.get_name());
            check_help(inner);
        }
    }

    #[test]
    fn a_wrong_command_line_gets_one_line() {
        for (arguments, told) in [
            (
                vec!["fulmar", "demo", "--nope"],
                "unexpected argument '--nope'",
            ),
            (vec!["fulmar", "local"], "--data <DIR|URL>"),
            (
                vec!["fulmar", "demo", "--rows", "many"],
                "'many' for '--rows <N>'",
            ),
            (
                vec!["fulmar", "demo", "--listen", "host"],
                "'host' for '--listen <HOST:PORT>'",
            ),
            (
                vec!["fulmar", "local", "--data", "d", "--endpoints", "x"],
                "direct, proxy",
            ),
            (vec!["fulmar", "nope"], "unrecognized subcommand 'nope'"),
        ] {
            let text = wrong(&arguments);
            assert!(text.contains(told), "{text}");
            assert!(text.contains("--help)") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn the_line_names_the_help_of_the_subcommand() {
        for (arguments, help) in [
            (vec!["fulmar", "demo", "--nope"], "(see fulmar demo --help)"),
            (
                vec!["fulmar", "sql", "--format", "xml"],
                "(see fulmar sql --help)",
            ),
            (
                vec!["fulmar", "table", "drop"],
                "(see fulmar table drop --help)",
            ),
            (vec!["fulmar", "--nope"], "(see fulmar --help)"),
        ] {
            let text = wrong(&arguments);
            assert!(text.ends_with(help), "{text}");
        }
    }
}
