//! `fulmar demo`: sample tables, all services, the sample query with its report.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ::local::narrate::Narrator;
use ::local::{LocalConfig, Running, demo, start};

use crate::flags::{ListenFlags, host_port};
use crate::shutdown;
use store::StoreProfile;

/// Flags of the demo.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// End after the sample query instead of serving
    #[arg(long)]
    once: bool,
    /// How many orders to make
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Where to make the tables [default: a folder in your cache directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Where clients connect; port 0 takes a free one
    #[arg(
        long, env = "FULMAR_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:50051",
        value_parser = host_port
    )]
    listen: String,
    #[command(flatten)]
    announce: ListenFlags,
}

/// How many Flight servers the demo starts.
const FLIGHT_SERVERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let shutdown = shutdown::on_signal()?;
    let running = tokio::select! {
        running = set_up(&args) => running?,
        // Half-made tables are made again next time.
        () = shutdown.cancelled() => return Ok(()),
    };
    let (address, location) = (running.address(), running.location().to_owned());
    let stop = shutdown.child_token();
    let services = tokio::spawn(running.serve(stop.clone()));
    let shown = tokio::select! {
        shown = show(&location) => shown,
        () = shutdown.cancelled() => Ok(()),
    };
    if args.once || shown.is_err() || shutdown.is_cancelled() {
        stop.cancel();
        return Ok(shown.and(services.await?)?);
    }
    args.announce.announce(address)?;
    let hint = format!("ask it with: fulmar sql --planner {location}   (Ctrl-C ends it)");
    writeln!(std::io::stderr(), "{hint}")?;
    Ok(services.await??)
}

/// Tables, and all services over them.
async fn set_up(args: &Args) -> anyhow::Result<Running> {
    let listener = args.announce.bind(&args.listen).await?;
    let folder = args.dir.clone().unwrap_or_else(demo::default_folder);
    let rows = args.rows;
    // Making rows is work for a thread of its own.
    let made =
        tokio::task::spawn_blocking(move || demo::samples(&folder, rows, &mut std::io::stderr()));
    let samples = made.await??;
    let config = LocalConfig {
        data: samples.data.display().to_string(),
        state: Some(samples.state),
        listener,
        flight_servers: FLIGHT_SERVERS,
        endpoints: None,
        advertise: None,
        ticket_footers: planner::TICKET_FOOTERS,
        store: StoreProfile::BALANCED,
    };
    let narrator = Narrator::default();
    Ok(start(config, &|event| narrator.tell(&event)).await?)
}

/// The query, its report and how to connect.
async fn show(location: &str) -> Result<(), ::local::LocalError> {
    let mut stdout = std::io::stdout();
    demo::show(location, &mut stdout).await?;
    writeln!(
        stdout,
        "\nThe same from Python:\n\n{}",
        demo::snippet(location)
    )?;
    Ok(())
}
