//! Serving a planner: the engine behind the Flight SQL service on a socket.

use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use tokio_util::sync::CancellationToken;
use wire::channel::MAX_MESSAGE_BYTES;
use wire::serve::ServeError;

use crate::config::PlannerConfig;
use crate::engine::Engine;
use crate::error::PlannerError;
use crate::flight_sql::{FlightSql, Surface};

/// How long the query log may take at the end.
const LOG_LIMIT: Duration = Duration::from_secs(5);

const SERVICE: &str = "arrow.flight.protocol.FlightService";

/// Why a planner does not serve.
#[derive(Debug, thiserror::Error)]
pub enum PlannerServeError {
    /// Something in the configuration cannot be used.
    #[error(transparent)]
    Config(#[from] PlannerError),
    /// The socket.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Serves a planner until `shutdown`, then lets streams finish.
///
/// # Errors
/// When an address in the configuration cannot be used, or the transport fails.
pub async fn serve(
    config: PlannerConfig,
    shutdown: CancellationToken,
) -> Result<(), PlannerServeError> {
    let engine = Engine::start(&config)?;
    let flight_sql = FlightSql::new(engine.clone(), config.keys, config.ticket_ttl);
    let service = FlightServiceServer::new(Surface(flight_sql))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let routes = |routes: &mut tonic::service::RoutesBuilder| {
        routes.add_service(service);
    };
    let served = wire::serve::serve(config.listener, &[SERVICE], routes, shutdown).await;
    engine.finish(LOG_LIMIT).await;
    served.map_err(PlannerServeError::from)
}
