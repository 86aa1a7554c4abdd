//! `fulmar local`: all services in one process over the user's own files.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use ::local::narrate::Narrator;
use ::local::{LocalConfig, start};

use crate::flags::{Endpoints, FooterFlags, ListenFlags, StoreFlags, advertised, host_port};
use crate::shutdown;

/// Flags of the local services.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder, bucket prefix or file with your Parquet files: each sub-folder of files, and each
    /// file at the top, is a table
    #[arg(long, env = "FULMAR_DATA", value_name = "DIR|URL")]
    data: String,
    /// Where to keep the catalog [default: a folder beside the data, or in your data directory]
    #[arg(
        long,
        visible_alias = "state",
        env = "FULMAR_DIR",
        value_name = "STATE"
    )]
    dir: Option<PathBuf>,
    /// Where clients connect; port 0 takes a free one
    #[arg(
        long, env = "FULMAR_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:50051",
        value_parser = host_port
    )]
    listen: String,
    #[command(flatten)]
    announce: ListenFlags,
    /// How many Flight servers to start
    #[arg(long, value_name = "N", default_value = "2")]
    flight_servers: NonZeroUsize,
    /// From where clients fetch results [default: direct on loopback, else proxy]
    #[arg(long, env = "FULMAR_ENDPOINTS", value_name = "MODE")]
    endpoints: Option<Endpoints>,
    /// The location that endpoints name for what the planner streams, such as `grpc+tcp://host:port`
    /// [default: the connection on which the client asked]
    #[arg(long, env = "FULMAR_ADVERTISE", value_name = "LOCATION", value_parser = advertised)]
    advertise: Option<String>,
    #[command(flatten)]
    footers: FooterFlags,
    #[command(flatten)]
    store: StoreFlags,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let shutdown = shutdown::on_signal()?;
    let config = LocalConfig {
        data: args.data,
        state: args.dir,
        listener: args.announce.bind(&args.listen).await?,
        flight_servers: args.flight_servers,
        endpoints: args.endpoints.map(Into::into),
        advertise: args.advertise,
        ticket_footers: args.footers.ticket_footers,
        store: args.store.profile(),
    };
    let narrator = Narrator::default();
    let tell = |event| narrator.tell(&event);
    let running = tokio::select! {
        running = start(config, &tell) => running?,
        () = shutdown.cancelled() => return Ok(()),
    };
    args.announce.announce(running.address())?;
    Ok(running.serve(shutdown).await?)
}
