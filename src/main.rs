//! The one binary: parses the command line, starts logging and the runtime, runs a subcommand, and
//! turns its end into one line and an exit code (1 for a failure, 2 for a wrong command line).

mod cli;

mod catalog;
mod demo;
mod fixtures;
mod flight_server;
mod local;
mod planner;
mod sql;
mod table;

mod flags;
mod logging;
mod shutdown;

use std::io::Write;
use std::process::ExitCode;

use cli::Command;

/// Batches are allocated on one thread and freed on another; the allocator of the C library then keeps
/// much of their memory: twice as much as jemalloc in a scan of a large file.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(end) => return end,
    };
    let began = logging::start(&cli.logging, cli.command.default_log()).and_then(|()| runtime());
    let ended = began.and_then(|runtime| {
        let ended = runtime.block_on(run(cli.command));
        // What a thread still computes, nobody waits for any more.
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is gone too.
            let _ = writeln!(std::io::stderr(), "fulmar: {}", one_line(&error));
            let wrong_flag = error.is::<flags::FlagError>();
            ExitCode::from(if wrong_flag { 2 } else { 1 })
        }
    }
}

/// Stack of each thread; only what is used takes memory. Expression trees are walked with a call for
/// each level.
const STACK: usize = 16 * 1024 * 1024;

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    Ok(runtime.enable_all().thread_stack_size(STACK).build()?)
}

async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo(args) => demo::run(args).await,
        Command::Local(args) => local::run(args).await,
        Command::Sql(args) => sql::run(args).await,
        Command::Table(args) => table::run(args).await,
        Command::Catalog(args) => catalog::run(args).await,
        Command::Planner(args) => planner::run(args).await,
        Command::FlightServer(args) => flight_server::run(args).await,
        Command::Fixtures(args) => fixtures::run(&args),
    }
}

/// An error with its causes, each once.
fn one_line(error: &anyhow::Error) -> String {
    let whole: &(dyn std::error::Error + Send + Sync) = error.as_ref();
    let text = wire::status::chain(whole);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether whoever read the output has gone, as `head` does: no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
