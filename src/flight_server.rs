//! `fulmar flight-server`: one Flight server.

use std::num::NonZeroUsize;
use std::time::Duration;

use ::flight_server::{FlightServerConfig, TicketLimits, scan_memory};

use crate::flags::{
    FlagError, KeyFlags, ListenFlags, StoreFlags, advertised, byte_size, host_port, location,
};
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
    /// The location under which clients reach this server, such as `grpc+tcp://host:port` [default:
    /// where it listens; where the planner reaches it when it listens on every address]
    #[arg(long, env = "FULMAR_ADVERTISE", value_name = "LOCATION", value_parser = advertised)]
    advertise: Option<String>,
    /// Tickets that are scanned at once
    #[arg(
        long,
        env = "FULMAR_MAX_TICKETS",
        value_name = "N",
        default_value = "64"
    )]
    max_tickets: NonZeroUsize,
    /// Tickets that wait for one of those to end; more are refused at once
    #[arg(
        long,
        env = "FULMAR_MAX_WAITING_TICKETS",
        value_name = "N",
        default_value_t = 1024
    )]
    max_waiting_tickets: usize,
    /// How long a ticket waits before it is refused
    #[arg(
        long, env = "FULMAR_TICKET_WAIT", value_name = "TIME", default_value = "30s",
        value_parser = humantime::parse_duration
    )]
    ticket_wait: Duration,
    /// Memory for all tickets together: what they fetch, decode and send
    #[arg(
        long, env = "FULMAR_MEMORY_LIMIT", value_name = "BYTES", default_value = "1GiB",
        value_parser = byte_size
    )]
    memory_limit: usize,
    #[command(flatten)]
    store: StoreFlags,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let shutdown = shutdown::on_signal()?;
    let keys = args.keys.keys()?;
    let tickets = TicketLimits {
        running: args.max_tickets.get(),
        waiting: args.max_waiting_tickets,
        wait: args.ticket_wait,
        ..TicketLimits::default()
    };
    let memory = scan_memory(u64::try_from(args.memory_limit)?, tickets).map_err(|error| {
        FlagError::new("--memory-limit", format!("{error} (see --max-tickets)"))
    })?;
    let listener = args.announce.bind(&args.listen).await?;
    let served = (listener.address(), listener.serving());
    let mut config = FlightServerConfig::new(listener, keys);
    config.catalog = args.catalog;
    config.advertise = args.advertise;
    config.tickets = tickets;
    config.scan.memory_bytes = memory;
    config.store = args.store.profile();
    let service = ::flight_server::serve(config, shutdown);
    args.announce.run(served, service).await
}
