//! What every service does the same way: bind, print where it listens, report health, drain.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::channel::{CONNECTION_WINDOW, KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT, STREAM_WINDOW};

/// Many clients open all endpoints of a query on one connection at once.
const MAX_CONCURRENT_STREAMS: u32 = 4096;

/// How long streams may go on after shutdown began, unless a listener is told otherwise: a little less
/// than most supervisors wait before they kill.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(25);

/// Why a service could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// An address beyond loopback without credentials.
    #[error(
        "refusing to listen on {address} without credentials: use a loopback address or pass --insecure"
    )]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// The address file cannot be written.
    #[error("cannot write address file {path}: {source}")]
    AddressFile {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The server failed while it ran.
    #[error("server on {address} failed")]
    Transport {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: tonic::transport::Error,
    },
    /// Streams went on for longer than they may after shutdown began.
    #[error("streams on {address} did not finish within {limit:?} of shutdown and were cut")]
    Cut {
        /// The address.
        address: SocketAddr,
        /// How long they were given.
        limit: Duration,
    },
}

/// A socket that listens but is not yet served.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    drain_limit: Duration,
    serving: Serving,
}

/// Tells when a listener has begun to be served.
#[derive(Clone, Debug, Default)]
pub struct Serving(CancellationToken);

impl Serving {
    /// Waits until requests are answered; for ever when the service does not come that far.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }
}

impl Listener {
    /// Listens on `HOST:PORT`; port 0 takes a free one. Addresses beyond loopback need `insecure`,
    /// because there are no credentials yet.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub async fn bind(address: &str, insecure: bool) -> Result<Self, ServeError> {
        let error = |source| ServeError::Bind {
            address: address.to_owned(),
            source,
        };
        let socket = TcpListener::bind(address).await.map_err(error)?;
        let bound = socket.local_addr().map_err(error)?;
        if !insecure && !bound.ip().is_loopback() {
            return Err(ServeError::Exposed { address: bound });
        }
        Ok(Self {
            socket,
            address: bound,
            drain_limit: DRAIN_LIMIT,
            serving: Serving::default(),
        })
    }

    /// With another time for streams to finish after shutdown began.
    #[must_use]
    pub fn with_drain_limit(mut self, limit: Duration) -> Self {
        self.drain_limit = limit;
        self
    }

    /// How long streams may go on after shutdown began.
    pub fn drain_limit(&self) -> Duration {
        self.drain_limit
    }

    /// Tells when the service on this socket has begun to answer.
    pub fn serving(&self) -> Serving {
        self.serving.clone()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a process on this machine reaches it, as a Flight location.
    pub fn location(&self) -> String {
        let port = self.address.port();
        match self.address {
            SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
                format!("grpc+tcp://127.0.0.1:{port}")
            }
            SocketAddr::V6(v6) if v6.ip().is_unspecified() => format!("grpc+tcp://[::1]:{port}"),
            address => format!("grpc+tcp://{address}"),
        }
    }
}

/// Writes `HOST:PORT` to a file, whole or not at all, so that a waiting process never reads half.
///
/// # Errors
/// When the file cannot be written.
pub fn write_address_file(address: SocketAddr, path: &Path) -> Result<(), ServeError> {
    let error = |source| ServeError::AddressFile {
        path: path.display().to_string(),
        source,
    };
    let partial = path.with_extension("partial");
    std::fs::write(&partial, format!("{address}\n")).map_err(error)?;
    std::fs::rename(&partial, path).map_err(error)
}

/// Serves until `shutdown`, then stops accepting, reports "not serving" and lets streams finish.
///
/// `routes` adds the services; the gRPC health service is added here and answers for the whole server
/// and for each name in `names`.
///
/// # Errors
/// When the transport fails, or streams had to be cut because they went on for too long.
pub async fn serve(
    listener: Listener,
    names: &[&str],
    routes: impl FnOnce(&mut RoutesBuilder),
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    use tonic_health::ServingStatus;

    let Listener {
        socket,
        address,
        drain_limit,
        serving,
    } = listener;
    let (health, health_service) = tonic_health::server::health_reporter();
    for name in names.iter().chain(&[""]) {
        health
            .set_service_status(*name, ServingStatus::Serving)
            .await;
    }
    let mut builder = RoutesBuilder::default();
    builder.add_service(health_service);
    routes(&mut builder);

    let drain = async {
        shutdown.cancelled().await;
        for name in names.iter().chain(&[""]) {
            health
                .set_service_status(*name, ServingStatus::NotServing)
                .await;
        }
    };
    // On the sockets themselves: the server's own setting is ignored for sockets that it is given.
    let incoming = TcpIncoming::from(socket).with_nodelay(Some(true));
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .add_routes(builder.routes())
        .serve_with_incoming_shutdown(incoming, drain);
    let limit = async {
        shutdown.cancelled().await;
        tokio::time::sleep(drain_limit).await;
    };
    serving.0.cancel();
    tokio::select! {
        result = server => result.map_err(|source| ServeError::Transport { address, source }),
        () = limit => Err(ServeError::Cut { address, limit: drain_limit }),
    }
}
