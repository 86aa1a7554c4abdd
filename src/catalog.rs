//! `fulmar catalog`: the catalog service alone.

use std::path::Path;
use std::time::Duration;

use ::catalog::{CatalogConfig, LogLimits};

use crate::flags::{ListenFlags, host_port};
use crate::shutdown;

/// Flags of the catalog.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen; port 0 takes a free one
    #[arg(
        long, env = "FULMAR_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:50060",
        value_parser = host_port
    )]
    listen: String,
    #[command(flatten)]
    announce: ListenFlags,
    /// The database: a SQLite file, made when there is none
    #[arg(long, env = "FULMAR_DATABASE", value_name = "PATH")]
    database: String,
    /// The folder or URL under which managed tables keep their metadata [default: a folder
    /// `warehouse` beside the database]
    #[arg(long, env = "FULMAR_WAREHOUSE", value_name = "URL")]
    warehouse: Option<String>,
    /// How long queries stay in the query log
    #[arg(
        long, env = "FULMAR_QUERY_LOG_AGE", value_name = "TIME", default_value = "7d",
        value_parser = humantime::parse_duration
    )]
    query_log_age: Duration,
    /// How many queries the query log keeps
    #[arg(
        long,
        env = "FULMAR_QUERY_LOG_QUERIES",
        value_name = "N",
        default_value_t = 10_000
    )]
    query_log_queries: u64,
    /// How many skipped files, row groups and pages the query log keeps
    #[arg(
        long,
        env = "FULMAR_QUERY_LOG_SKIPS",
        value_name = "N",
        default_value_t = 1_000_000
    )]
    query_log_skips: u64,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let shutdown = shutdown::on_signal()?;
    let listener = args.announce.bind(&args.listen).await?;
    let served = (listener.address(), listener.serving());
    let warehouse = args.warehouse.unwrap_or_else(|| beside(&args.database));
    let config = CatalogConfig {
        listener,
        database: args.database,
        warehouse,
        log: LogLimits {
            age: args.query_log_age,
            queries: args.query_log_queries,
            skips: args.query_log_skips,
        },
    };
    let service = ::catalog::serve(config, shutdown);
    args.announce.run(served, service).await
}

/// The folder `warehouse` beside the database.
fn beside(database: &str) -> String {
    let path = database.strip_prefix("sqlite:").unwrap_or(database);
    let path = path.strip_prefix("//").unwrap_or(path);
    let folder = Path::new(path).with_file_name("warehouse");
    folder.display().to_string()
}
