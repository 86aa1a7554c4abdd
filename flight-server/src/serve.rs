//! Puts the parts of a Flight server together and runs it until it has drained.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use scan::Scanner;
use store::Stores;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::server::NamedService;
use tonic::service::RoutesBuilder;
use wire::channel::{MAX_MESSAGE_BYTES, connect_lazy};

use crate::admission::Gate;
use crate::config::FlightServerConfig;
use crate::error::StartError;
use crate::open::Opener;
use crate::reports::Reports;
use crate::run::Shared;
use crate::service::ScanService;

/// How long scans may take to notice that their clients are gone, and then reports to be delivered,
/// after the last stream ended.
const SETTLE: Duration = Duration::from_secs(2);

/// Serves scan tickets until `shutdown`; then takes no more, finishes what runs and delivers reports.
///
/// # Errors
/// When the catalog's address is none, or the transport fails.
pub async fn serve(
    config: FlightServerConfig,
    shutdown: CancellationToken,
) -> Result<(), StartError> {
    let catalog = config.catalog.as_deref().map(connect_lazy).transpose()?;
    let (reports, delivery) = Reports::start(catalog);
    let address = config.listener.address();
    let location = config.advertise.unwrap_or_else(|| own_location(address));
    let running = TaskTracker::new();
    let stores = Stores::from_env().with_remote_profile(config.store);
    let warming_up = stores.clone();
    tokio::task::spawn_blocking(move || warming_up.warm_up());
    let service = ScanService {
        keys: config.keys,
        gate: Gate::new(config.tickets),
        shared: Arc::new(Shared {
            making_room: tokio::sync::Mutex::default(),
            opener: Opener::new(Scanner::new(stores, config.scan)),
            reports,
            name: match location.as_str() {
                "" => format!("grpc+tcp://{address}"),
                location => location.to_owned(),
            },
            location,
        }),
        running: running.clone(),
        shutdown: shutdown.clone(),
    };
    tracing::info!(%address, "Flight server is serving");
    let service = FlightServiceServer::new(service)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let name = <FlightServiceServer<ScanService> as NamedService>::NAME;
    let routes = |routes: &mut RoutesBuilder| {
        routes.add_service(service);
    };
    let served = wire::serve::serve(config.listener, &[name], routes, shutdown).await;
    running.close();
    if tokio::time::timeout(SETTLE, running.wait()).await.is_err() {
        tracing::warn!(scans = running.len(), "scans were cut off at shutdown");
    }
    delivery.finish(SETTLE).await;
    tracing::info!(%address, "Flight server has stopped");
    Ok(served?)
}

/// Where clients reach a server that nobody gave an address: where it listens. One that listens on every
/// address of its machine cannot tell; planners take the address at which they reach it themselves.
fn own_location(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        String::new()
    } else {
        format!("grpc+tcp://{address}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_is_sent_to_its_own_machine_by_a_server_that_listens_on_every_address() {
        for (address, location) in [
            ("127.0.0.1:50052", "grpc+tcp://127.0.0.1:50052"),
            ("10.1.2.3:50052", "grpc+tcp://10.1.2.3:50052"),
            ("0.0.0.0:50052", ""),
            ("[::]:50052", ""),
        ] {
            assert_eq!(own_location(address.parse().unwrap()), location);
        }
    }
}
