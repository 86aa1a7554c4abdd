//! Catalog, Flight servers and planner in one process, each on a socket of its own and speaking to the
//! others over it. The planner begins to answer when the tables are there.

use std::net::SocketAddr;
use std::time::Duration;

use catalog::{CatalogConfig, LogLimits};
use flight_server::FlightServerConfig;
use planner::{EndpointMode, PlannerConfig};
use store::StoreProfile;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use wire::channel::{MAX_MESSAGE_BYTES, connect_lazy};
use wire::proto::catalog_client::CatalogClient;
use wire::serve::Listener;

use crate::config::LocalConfig;
use crate::error::LocalError;
use crate::register::{self, register};
use crate::source::Source;
use crate::state::State;

/// Where services that only this process uses listen.
const LOOPBACK: &str = "127.0.0.1:0";

/// All services, while they run.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    location: String,
    // Its lock is held for as long as the services run.
    _state: State,
    front: Services,
    catalog: Services,
}

/// Finds the tables, starts the services and registers the tables; `hearer` hears what happens.
///
/// # Errors
/// When the data or the state cannot be used, a socket cannot be opened, or every table is refused.
pub async fn start(
    config: LocalConfig,
    hearer: register::Hearer<'_>,
) -> Result<Running, LocalError> {
    let source = Source::find(&config.data).await?;
    let mut state = State::open(config.state.as_deref(), &source)?;
    let keys = state.ticket_keys()?;

    let drain_limit = config.listener.drain_limit();
    let mut catalog = Services::new(drain_limit);
    let catalog_url = catalog.catalog(&state).await?;
    let client = CatalogClient::new(connect_lazy(&catalog_url).map_err(|error| internal(&error))?)
        .max_decoding_message_size(MAX_MESSAGE_BYTES);
    tokio::select! {
        registered = register(client, &source, &mut state, hearer) => registered?,
        ended = catalog.first_end() => return Err(ended),
    }

    let mut front = Services::new(drain_limit);
    let mut servers = Vec::new();
    for _ in 0..config.flight_servers.get() {
        servers.push(
            front
                .flight_server(&catalog_url, &keys, config.store)
                .await?,
        );
    }
    let endpoints = config.endpoints.unwrap_or_else(|| reach(&config.listener));
    let address = config.listener.address();
    let location = config.listener.location().replace("grpc+tcp://", "grpc://");
    let serving = config.listener.serving();
    front.planner(PlannerConfig {
        endpoints,
        advertise: config.advertise,
        ticket_footers: config.ticket_footers,
        ..PlannerConfig::new(config.listener, catalog_url, servers, keys)
    });
    tokio::select! {
        () = serving.begun() => {}
        ended = front.first_end() => return Err(ended),
    }
    Ok(Running {
        address,
        location,
        _state: state,
        front,
        catalog,
    })
}

impl Running {
    /// Where the planner listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The location for clients on this machine, such as `grpc://127.0.0.1:50051`.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Serves until `shutdown`, then drains: the planner and the Flight servers first, so that their
    /// last reports reach the catalog.
    ///
    /// # Errors
    /// When a service fails.
    pub async fn serve(mut self, shutdown: CancellationToken) -> Result<(), LocalError> {
        let early = tokio::select! {
            () = shutdown.cancelled() => None,
            ended = self.front.first_end() => Some(ended),
            ended = self.catalog.first_end() => Some(ended),
        };
        let front = self.front.stop().await;
        let catalog = self.catalog.stop().await;
        match early {
            Some(error) => Err(error),
            None => front.and(catalog),
        }
    }
}

/// Services that are stopped together.
#[derive(Debug)]
struct Services {
    tasks: JoinSet<(&'static str, Result<(), String>)>,
    shutdown: CancellationToken,
    drain_limit: Duration,
}

impl Services {
    fn new(drain_limit: Duration) -> Self {
        Self {
            tasks: JoinSet::new(),
            shutdown: CancellationToken::new(),
            drain_limit,
        }
    }

    /// A socket that only this process uses.
    async fn listener(&self) -> Result<Listener, LocalError> {
        let listener = Listener::bind(LOOPBACK, false).await?;
        Ok(listener.with_drain_limit(self.drain_limit))
    }

    async fn catalog(&mut self, state: &State) -> Result<String, LocalError> {
        let listener = self.listener().await?;
        let url = format!("http://{}", listener.address());
        let config = CatalogConfig {
            listener,
            database: state.database(),
            warehouse: state.warehouse(),
            log: LogLimits::default(),
        };
        self.spawn("catalog", catalog::serve(config, self.shutdown.clone()));
        Ok(url)
    }

    async fn flight_server(
        &mut self,
        catalog: &str,
        keys: &wire::TicketKeys,
        store: StoreProfile,
    ) -> Result<String, LocalError> {
        let listener = self.listener().await?;
        let url = format!("http://{}", listener.address());
        let mut config = FlightServerConfig::new(listener, keys.clone());
        config.catalog = Some(catalog.to_owned());
        config.store = store;
        let served = flight_server::serve(config, self.shutdown.clone());
        self.spawn("flight server", served);
        Ok(url)
    }

    fn planner(&mut self, config: PlannerConfig) {
        self.spawn("planner", planner::serve(config, self.shutdown.clone()));
    }

    fn spawn<E: std::error::Error>(
        &mut self,
        name: &'static str,
        service: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        self.tasks.spawn(async move {
            let ended = service.await;
            (name, ended.map_err(|error| wire::status::chain(&error)))
        });
    }

    /// Waits until a service ends, which none does by itself unless something is wrong.
    async fn first_end(&mut self) -> LocalError {
        match self.tasks.join_next().await {
            Some(Ok((service, Err(reason)))) => LocalError::Service { service, reason },
            Some(Ok((service, Ok(())))) => ended(service, "it ended by itself"),
            Some(Err(error)) => ended("a service", &error.to_string()),
            None => std::future::pending().await,
        }
    }

    async fn stop(mut self) -> Result<(), LocalError> {
        self.shutdown.cancel();
        let mut result = Ok(());
        while let Some(joined) = self.tasks.join_next().await {
            let one = match joined {
                Ok((service, ended)) => {
                    ended.map_err(|reason| LocalError::Service { service, reason })
                }
                Err(error) => Err(ended("a service", &error.to_string())),
            };
            result = result.and(one);
        }
        result
    }
}

fn ended(service: &'static str, reason: &str) -> LocalError {
    LocalError::Service {
        service,
        reason: reason.to_owned(),
    }
}

/// Clients on other machines cannot reach Flight servers on loopback.
fn reach(listener: &Listener) -> EndpointMode {
    if listener.address().ip().is_loopback() {
        EndpointMode::Direct
    } else {
        EndpointMode::Proxy
    }
}

fn internal(error: &wire::channel::LocationError) -> LocalError {
    LocalError::Catalog(error.to_string())
}
