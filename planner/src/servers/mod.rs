//! Which Flight servers are there: found by address or by name, asked every two seconds. Places no
//! files and fetches no results.

mod watcher;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tonic::transport::Channel;

use crate::error::PlannerError;
use watcher::Watcher;

/// How long a query waits for the first server.
const PATIENCE: Duration = Duration::from_secs(3);

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
        let watcher = Watcher::new(sources.clone(), sender, Arc::clone(&wake));
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
