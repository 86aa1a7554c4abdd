//! `fulmar flight-server`: one Flight server.

use ::flight_server::FlightServerConfig;

use crate::flags::{KeyFlags, ListenFlags, host_port, location};
use crate::shutdown;

/// Flags of a Flight server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen; port 0 takes a free one
    #[arg(
        long, env = "FULMAR_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:50052",
        value_parser = host_port
    )]
    listen: String,
    #[command(flatten)]
    announce: ListenFlags,
    /// Where the catalog is, for its query log; without it reports go to clients only
    #[arg(long, env = "FULMAR_CATALOG", value_name = "URL", value_parser = location)]
    catalog: Option<String>,
    #[command(flatten)]
    keys: KeyFlags,
    /// The location under which clients reach this server, such as `grpc+tcp://host:port`
    #[arg(long, env = "FULMAR_ADVERTISE", value_name = "LOCATION", value_parser = location)]
    advertise: Option<String>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let shutdown = shutdown::on_signal()?;
    let keys = args.keys.keys()?;
    let listener = args.announce.bind(&args.listen).await?;
    args.announce.announce(listener.address())?;
    let mut config = FlightServerConfig::new(listener, keys);
    config.catalog = args.catalog;
    config.advertise = args.advertise;
    Ok(::flight_server::serve(config, shutdown).await?)
}
