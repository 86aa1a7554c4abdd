//! Logs on stderr, as text or as one JSON object a line.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::flags::FlagError;

/// What is logged and how.
#[derive(Debug, Args)]
pub(crate) struct LoggingFlags {
    /// What is logged: a level, or levels by part such as `info,fulmar_scan=debug`
    #[arg(
        long,
        env = "FULMAR_LOG",
        value_name = "FILTER",
        global = true,
        help_heading = "Logging"
    )]
    log: Option<String>,
    /// How logs are written
    #[arg(
        long,
        env = "FULMAR_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        global = true,
        help_heading = "Logging"
    )]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Starts logging for the whole process.
pub(crate) fn start(flags: &LoggingFlags, default: &str) -> anyhow::Result<()> {
    let filter = match &flags.log {
        Some(text) => EnvFilter::try_new(text).map_err(|error| {
            FlagError::new("--log", format!("{text:?} is not a log filter: {error}"))
        })?,
        // Other libraries speak only when something is wrong.
        None => EnvFilter::new(default),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let set = match flags.log_format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    set.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}
