//! `fulmar table`: what can be done with a table as a whole.

use std::io::Write;

use client::statement::{Run, run as run_statement};
use client::{Client, tables};

use crate::sql::{OutputFormat, PlannerFlags};

/// Flags of `table`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// All tables
    List(Show),
    /// The data files of a table
    Files(ShowTable),
    /// The snapshots of a table
    Snapshots(ShowTable),
    /// Make a table a managed one, where its files are, and print its metadata.json for other engines
    Adopt(OneTable),
    /// Drop a table; its data files stay
    Drop(OneTable),
}

#[derive(Debug, clap::Args)]
struct Show {
    #[command(flatten)]
    planner: PlannerFlags,
    /// How rows are written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: OutputFormat,
}

#[derive(Debug, clap::Args)]
struct ShowTable {
    /// The table, such as `orders` or `fulmar.main.orders`
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    show: Show,
}

#[derive(Debug, clap::Args)]
struct OneTable {
    /// The table, such as `orders` or `fulmar.main.orders`
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    planner: PlannerFlags,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::List(args) => show(&args, tables::LIST).await,
        Command::Files(args) => of_table(&args, &tables::files(&args.name)).await,
        Command::Snapshots(args) => of_table(&args, &tables::snapshots(&args.name)).await,
        Command::Adopt(args) => {
            let location = tables::adopt(&args.planner.client()?, &args.name).await?;
            Ok(writeln!(std::io::stdout(), "{location}")?)
        }
        Command::Drop(args) => {
            tables::drop(&args.planner.client()?, &args.name).await?;
            Ok(writeln!(std::io::stderr(), "dropped table {}", args.name)?)
        }
    }
}

/// A table that does not exist is an error, not an empty answer.
async fn of_table(args: &ShowTable, sql: &str) -> anyhow::Result<()> {
    tables::check(&args.show.planner.client()?, &args.name).await?;
    show(&args.show, sql).await
}

async fn show(args: &Show, sql: &str) -> anyhow::Result<()> {
    let client: Client = args.planner.client()?;
    let settings = Run {
        output: args.format.output(0),
        ..Run::default()
    };
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr());
    Ok(run_statement(&client, sql, &settings, &mut stdout, &mut stderr).await?)
}
