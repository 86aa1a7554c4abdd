//! `fulmar planner`: the Flight SQL service alone.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use ::planner::PlannerConfig;

use crate::flags::{
    Endpoints, FooterFlags, KeyFlags, ListenFlags, advertised, byte_size, flight_server, host_port,
    location,
};
use crate::shutdown;

/// Flags of the planner.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen; port 0 takes a free one
    #[arg(
        long, env = "FULMAR_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:50051",
        value_parser = host_port
    )]
    listen: String,
    #[command(flatten)]
    announce: ListenFlags,
    /// Where the catalog is
    #[arg(
        long, env = "FULMAR_CATALOG", value_name = "URL", default_value = "http://127.0.0.1:50060",
        value_parser = location
    )]
    catalog: String,
    /// Where Flight servers are, separated by commas; `dns+http://name:port` stands for every
    /// address of the name
    #[arg(
        long, env = "FULMAR_FLIGHT_SERVERS", value_name = "URLS", value_delimiter = ',',
        required = true, value_parser = flight_server
    )]
    flight_servers: Vec<String>,
    #[command(flatten)]
    keys: KeyFlags,
    /// The location that endpoints name for what this planner streams, such as `grpc+tcp://host:port`
    /// [default: the connection on which the client asked]
    #[arg(long, env = "FULMAR_ADVERTISE", value_name = "LOCATION", value_parser = advertised)]
    advertise: Option<String>,
    /// Endpoints of a query beyond which files share tickets
    #[arg(
        long,
        env = "FULMAR_MAX_ENDPOINTS",
        value_name = "N",
        default_value = "16"
    )]
    max_endpoints: NonZeroUsize,
    /// From where clients fetch results
    #[arg(
        long,
        env = "FULMAR_ENDPOINTS",
        value_name = "MODE",
        default_value = "direct"
    )]
    endpoints: Endpoints,
    #[command(flatten)]
    footers: FooterFlags,
    /// How long a ticket is valid
    #[arg(
        long, env = "FULMAR_TICKET_TTL", value_name = "TIME", default_value = "1h",
        value_parser = humantime::parse_duration
    )]
    ticket_ttl: Duration,
    /// Memory for statements that run in the planner; beyond it they spill to disk
    #[arg(
        long, env = "FULMAR_MEMORY_LIMIT", value_name = "BYTES", default_value = "2GiB",
        value_parser = byte_size
    )]
    memory_limit: usize,
    /// Where they spill; the system's temporary folder when missing
    #[arg(long, env = "FULMAR_SPILL_DIR", value_name = "DIR")]
    spill_dir: Option<PathBuf>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let shutdown = shutdown::on_signal()?;
    let keys = args.keys.keys()?;
    let listener = args.announce.bind(&args.listen).await?;
    let served = (listener.address(), listener.serving());
    let config = PlannerConfig {
        advertise: args.advertise,
        max_endpoints: args.max_endpoints.get(),
        endpoints: args.endpoints.into(),
        ticket_footers: args.footers.ticket_footers,
        ticket_ttl: args.ticket_ttl,
        memory_limit: args.memory_limit,
        spill_dir: args.spill_dir,
        ..PlannerConfig::new(listener, args.catalog, args.flight_servers, keys)
    };
    let service = ::planner::serve(config, shutdown);
    args.announce.run(served, service).await
}
