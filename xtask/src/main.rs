//! `cargo xtask codegen | test | bench`: the steps that cargo alone does not do.
//!
//! This file owns the command line. It must not know how a step works.

#![allow(clippy::print_stdout, reason = "a build tool reports on the terminal")]

mod bench;
mod codegen;
mod paths;
mod run;
mod suite;
mod summary;
mod venv;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::paths::Paths;

/// The project's own build steps.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Generates wire/src/generated from wire/proto.
    Codegen {
        /// Changes nothing; fails when the committed code differs.
        #[arg(long)]
        check: bool,
    },
    /// Runs everything: Rust tests, deployment manifests, real clients from Python.
    Test {
        /// Leaves out what needs Python: the clients and the manifests.
        #[arg(long)]
        no_clients: bool,
    },
    /// Measures the release binary against other engines; not a test.
    #[command(subcommand)]
    Bench(Benchmark),
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Thirteen queries over an object store that counts: requests, bytes, round trips, time.
    Scan(bench::Scan),
    /// Flight servers: throughput and memory of a full scan, latency of small statements.
    Flight(bench::Flight),
    /// The fortnight over local files, everything warm.
    Local(bench::Local),
    /// Decoding and filtering in memory, beside DataFusion's own scan.
    Decode(bench::Decode),
}

fn main() -> ExitCode {
    match dispatch(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: &Command) -> anyhow::Result<()> {
    let paths = Paths::find()?;
    match command {
        Command::Codegen { check: true } => codegen::check(&paths.root),
        Command::Codegen { check: false } => codegen::write(&paths.root),
        Command::Test { no_clients } => suite::test(&paths, !no_clients),
        Command::Bench(Benchmark::Scan(flags)) => bench::scan(&paths, flags),
        Command::Bench(Benchmark::Flight(flags)) => bench::flight(&paths, flags),
        Command::Bench(Benchmark::Local(flags)) => bench::local(&paths, flags),
        Command::Bench(Benchmark::Decode(flags)) => bench::decode(&paths, flags),
    }
}
