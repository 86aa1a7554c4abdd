//! Which Flight servers are there: found by address or by name, asked every two seconds. Places no
//! files and fetches no results.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_flight::Action;
use arrow_flight::flight_service_client::FlightServiceClient;
use futures::StreamExt;
use futures::future::join_all;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tonic::transport::Channel;

use crate::error::PlannerError;

/// How often servers are asked whether they are there.
const POLL: Duration = Duration::from_secs(2);

/// How often while none is there.
const POLL_WITHOUT_SERVERS: Duration = Duration::from_millis(200);

/// How long a server may take to answer that it is there.
const ANSWER: Duration = Duration::from_secs(1);

/// How often names are looked up again.
const RESOLVE: Duration = Duration::from_secs(5);

/// How long a query waits for the first server.
const PATIENCE: Duration = Duration::from_secs(3);

/// The action with which Flight servers say that they are there and where clients reach them.
const ACTION: &str = "fulmar.server";

/// A live Flight server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Where clients reach it.
    pub(crate) location: String,
    /// The way to it from here.
    pub(crate) channel: Channel,
}

/// The live Flight servers, kept up to date while this exists.
#[derive(Debug)]
pub(crate) struct Servers {
    live: watch::Receiver<Arc<Vec<Server>>>,
    wake: Arc<Notify>,
    sources: Vec<Source>,
    watching: JoinHandle<()>,
}

/// Where servers are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Address(String),
    Name(String),
}

impl Source {
    fn parse(text: &str) -> Result<Self, PlannerError> {
        let invalid = |error: &dyn std::error::Error| {
            PlannerError::Invalid(format!("Flight server {text:?}: {error}"))
        };
        let location = text.strip_prefix("dns+").unwrap_or(text);
        wire::channel::connect_lazy(location).map_err(|error| invalid(&error))?;
        let authority = location
            .split_once("://")
            .map_or(location, |(_, rest)| rest);
        let authority = authority.trim_end_matches('/').to_owned();
        Ok(if text.starts_with("dns+") {
            Self::Name(authority)
        } else {
            Self::Address(authority)
        })
    }

    fn authority(&self) -> &str {
        match self {
            Self::Address(authority) | Self::Name(authority) => authority,
        }
    }
}

impl Servers {
    /// Starts to watch.
    pub(crate) fn watch(sources: &[String]) -> Result<Self, PlannerError> {
        let sources: Vec<Source> = sources
            .iter()
            .map(|text| Source::parse(text.trim()))
            .collect::<Result<_, _>>()?;
        let (sender, live) = watch::channel(Arc::default());
        let wake = Arc::new(Notify::new());
        let watcher = Watcher {
            sources: sources.clone(),
            resolved: HashMap::new(),
            channels: HashMap::new(),
            live: sender,
            wake: Arc::clone(&wake),
        };
        Ok(Self {
            live,
            wake,
            sources,
            watching: tokio::spawn(watcher.run()),
        })
    }

    /// The servers that are live now; perhaps none.
    pub(crate) fn now(&self) -> Arc<Vec<Server>> {
        Arc::clone(&self.live.borrow())
    }

    /// The servers that are live, waiting a little for the first one.
    pub(crate) async fn live(&self) -> Result<Arc<Vec<Server>>, PlannerError> {
        let mut live = self.live.clone();
        if live.borrow().is_empty() {
            self.wake.notify_one();
            // Running out of patience shows as an empty list just below.
            let wait = live.wait_for(|servers| !servers.is_empty());
            let _ = tokio::time::timeout(PATIENCE, wait).await;
        }
        let servers = self.now();
        if servers.is_empty() {
            let tried: Vec<&str> = self.sources.iter().map(Source::authority).collect();
            return Err(PlannerError::Unavailable(match tried.as_slice() {
                [] => "no Flight server is configured".to_owned(),
                tried => format!("no Flight server answers at {}", tried.join(", ")),
            }));
        }
        Ok(servers)
    }

    /// Says that a server failed, so that all are asked at once.
    pub(crate) fn suspect(&self) {
        self.wake.notify_one();
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

struct Watcher {
    sources: Vec<Source>,
    resolved: HashMap<String, (Instant, Vec<String>)>,
    channels: HashMap<String, Channel>,
    live: watch::Sender<Arc<Vec<Server>>>,
    wake: Arc<Notify>,
}

impl Watcher {
    async fn run(mut self) {
        loop {
            let servers = self.poll().await;
            let pause = if servers.is_empty() {
                POLL_WITHOUT_SERVERS
            } else {
                POLL
            };
            self.publish(servers);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    fn publish(&self, servers: Vec<Server>) {
        let names = |servers: &[Server]| -> Vec<String> {
            servers
                .iter()
                .map(|server| server.location.clone())
                .collect()
        };
        let (before, after) = (names(&self.live.borrow()), names(&servers));
        if before != after {
            tracing::info!(servers = after.join(", "), "Flight servers changed");
        }
        self.live.send_replace(Arc::new(servers));
    }

    async fn poll(&mut self) -> Vec<Server> {
        let addresses = self.addresses().await;
        self.channels
            .retain(|address, _| addresses.contains(address));
        for address in &addresses {
            if !self.channels.contains_key(address)
                && let Ok(channel) = wire::channel::connect_lazy(address)
            {
                self.channels.insert(address.clone(), channel);
            }
        }
        let asked = self
            .channels
            .iter()
            .map(|(address, channel)| ask(address, channel));
        let mut servers: Vec<Server> = join_all(asked).await.into_iter().flatten().collect();
        servers.sort_by(|a, b| a.location.cmp(&b.location));
        servers.dedup_by(|a, b| a.location == b.location);
        servers
    }

    async fn addresses(&mut self) -> Vec<String> {
        let mut addresses = Vec::new();
        for source in self.sources.clone() {
            match source {
                Source::Address(address) => addresses.push(address),
                Source::Name(name) => addresses.extend(self.resolve(name).await),
            }
        }
        addresses.sort();
        addresses.dedup();
        addresses
    }

    async fn resolve(&mut self, name: String) -> Vec<String> {
        if let Some((at, addresses)) = self.resolved.get(&name)
            && at.elapsed() < RESOLVE
            && !addresses.is_empty()
        {
            return addresses.clone();
        }
        let found = match tokio::net::lookup_host(&name).await {
            Ok(found) => found.map(|address| address.to_string()).collect(),
            Err(error) => {
                tracing::debug!(name, %error, "name of Flight servers does not resolve");
                Vec::new()
            }
        };
        self.resolved.insert(name, (Instant::now(), found.clone()));
        found
    }
}

#[derive(serde::Deserialize)]
struct Answer {
    location: String,
}

async fn ask(address: &str, channel: &Channel) -> Option<Server> {
    let mut client = FlightServiceClient::new(channel.clone());
    let answer = async {
        let results = client.do_action(Action::new(ACTION, "")).await.ok()?;
        let result = results.into_inner().next().await?.ok()?;
        serde_json::from_slice::<Answer>(&result.body).ok()
    };
    let answer = tokio::time::timeout(ANSWER, answer).await.ok()??;
    let location = match answer.location {
        location if location.is_empty() => format!("grpc+tcp://{address}"),
        location => location,
    };
    Some(Server {
        location,
        channel: channel.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Channels belong to a runtime even while they are idle.
    #[tokio::test]
    async fn sources_are_addresses_or_names() {
        let address = Source::Address("a:1".to_owned());
        assert_eq!(Source::parse("http://a:1/").unwrap(), address);
        assert_eq!(Source::parse("grpc+tcp://a:1").unwrap(), address);
        let name = Source::Name("flight.svc:50052".to_owned());
        assert_eq!(Source::parse("dns+http://flight.svc:50052").unwrap(), name);
        assert!(Source::parse("ftp://a:1").is_err());
    }

    #[tokio::test]
    async fn a_query_without_any_server_is_told_where_they_were_looked_for() {
        let servers = Servers::watch(&["http://127.0.0.1:1".to_owned()]).unwrap();
        let error = servers.live().await.unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
        assert!(matches!(error, PlannerError::Unavailable(_)));
    }
}
