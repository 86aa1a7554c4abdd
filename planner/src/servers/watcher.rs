//! Asks the Flight servers again and again whether they are there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_flight::Action;
use arrow_flight::flight_service_client::FlightServiceClient;
use futures::StreamExt;
use futures::future::join_all;
use tokio::sync::{Notify, watch};
use tonic::Code;
use tonic::transport::Channel;

use super::{Server, Source};

/// How often servers are asked whether they are there.
const POLL: Duration = Duration::from_secs(2);

/// How often while none is there, or one that was there does not answer.
const POLL_SOON: Duration = Duration::from_millis(200);

/// How long a server may take to answer that it is there.
const ANSWER: Duration = Duration::from_secs(1);

/// Answers in a row that a busy server may miss before it counts as gone.
const MISSES: u32 = 3;

/// How often names are looked up again.
const RESOLVE: Duration = Duration::from_secs(5);

/// How long looking up a name may take.
const LOOKUP: Duration = Duration::from_secs(2);

/// The action with which Flight servers say that they are there and where clients reach them.
const ACTION: &str = "fulmar.server";

/// Keeps the list of live servers.
pub(super) struct Watcher {
    sources: Vec<Source>,
    resolved: HashMap<String, (Instant, Vec<String>)>,
    known: HashMap<String, Known>,
    /// Locations that were said to be advertised twice.
    twice: HashSet<String>,
    live: watch::Sender<Arc<Vec<Server>>>,
    wake: Arc<Notify>,
}

/// An address and what was heard from it.
struct Known {
    channel: Channel,
    /// The location of its last answer, while it counts as there.
    location: Option<String>,
    misses: u32,
}

/// What came of asking a server.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// It is there; clients reach it at this location.
    Here(String),
    /// Nothing yet: it may be busy.
    Nothing,
    /// Nobody listens there.
    Gone,
}

impl Watcher {
    pub(super) fn new(
        sources: Vec<Source>,
        live: watch::Sender<Arc<Vec<Server>>>,
        wake: Arc<Notify>,
    ) -> Self {
        Self {
            sources,
            resolved: HashMap::new(),
            known: HashMap::new(),
            twice: HashSet::new(),
            live,
            wake,
        }
    }

    /// Asks until it is aborted.
    pub(super) async fn run(mut self) {
        loop {
            let servers = self.poll().await;
            let waiting = |known: &Known| known.location.is_some() && known.misses > 0;
            let soon = servers.is_empty() || self.known.values().any(waiting);
            self.publish(servers);
            let pause = if soon { POLL_SOON } else { POLL };
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
        self.known.retain(|address, _| addresses.contains(address));
        for address in &addresses {
            if !self.known.contains_key(address)
                && let Ok(channel) = wire::channel::connect_lazy(address)
            {
                let known = Known {
                    channel,
                    location: None,
                    misses: 0,
                };
                self.known.insert(address.clone(), known);
            }
        }
        let asked = self
            .known
            .iter_mut()
            .map(|(address, known)| async { known.heard(ask(address, &known.channel).await) });
        let mut servers: Vec<Server> = join_all(asked).await.into_iter().flatten().collect();
        servers.sort_by(|a, b| a.location.cmp(&b.location));
        for pair in servers.windows(2) {
            if pair[0].location == pair[1].location && self.twice.insert(pair[0].location.clone()) {
                tracing::warn!(
                    location = pair[0].location,
                    "several Flight servers advertise the same location, only one of them is used"
                );
            }
        }
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

    /// The addresses of a name; those of the last time while it cannot be looked up.
    async fn resolve(&mut self, name: String) -> Vec<String> {
        let known = self.resolved.get(&name);
        if let Some((at, addresses)) = known
            && at.elapsed() < RESOLVE
            && !addresses.is_empty()
        {
            return addresses.clone();
        }
        let addresses = look_up(&name).await.unwrap_or_else(|error| {
            tracing::debug!(name, error, "name of Flight servers does not resolve");
            known.map(|(_, last)| last.clone()).unwrap_or_default()
        });
        self.resolved
            .insert(name, (Instant::now(), addresses.clone()));
        addresses
    }
}

async fn look_up(name: &str) -> Result<Vec<String>, String> {
    match tokio::time::timeout(LOOKUP, tokio::net::lookup_host(name)).await {
        Ok(Ok(found)) => Ok(found.map(|address| address.to_string()).collect()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer".to_owned()),
    }
}

impl Known {
    /// The server after it was asked, while it counts as there.
    fn heard(&mut self, heard: Heard) -> Option<Server> {
        self.misses = match heard {
            Heard::Here(location) => {
                self.location = Some(location);
                0
            }
            Heard::Nothing => self.misses + 1,
            Heard::Gone => MISSES,
        };
        if self.misses >= MISSES {
            self.location = None;
        }
        Some(Server {
            location: self.location.clone()?,
            channel: self.channel.clone(),
        })
    }
}

#[derive(serde::Deserialize)]
struct Answer {
    location: String,
}

async fn ask(address: &str, channel: &Channel) -> Heard {
    let mut client = FlightServiceClient::new(channel.clone());
    let asked = async {
        let results = match client.do_action(Action::new(ACTION, "")).await {
            Ok(results) => results.into_inner().next().await,
            // A connection that broke is made anew when it is asked again.
            Err(status) if status.code() == Code::Unknown => return Heard::Nothing,
            Err(_) => return Heard::Gone,
        };
        let answer = results.and_then(|result| {
            let body = result.ok()?.body;
            serde_json::from_slice::<Answer>(&body).ok()
        });
        match answer {
            Some(Answer { location }) if location.is_empty() => {
                Heard::Here(format!("grpc+tcp://{address}"))
            }
            Some(Answer { location }) => Heard::Here(location),
            None => Heard::Nothing,
        }
    };
    let heard = tokio::time::timeout(ANSWER, asked).await;
    heard.unwrap_or(Heard::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_gone_after_three_misses_or_when_nobody_listens() {
        let mut known = Known {
            channel: wire::channel::connect_lazy("a:1").unwrap(),
            location: None,
            misses: 0,
        };
        let here = || Heard::Here("grpc://a:1".to_owned());
        let asked = [
            (Heard::Nothing, false),
            (here(), true),
            (Heard::Nothing, true),
            (Heard::Nothing, true),
            (here(), true),
            (Heard::Nothing, true),
            (Heard::Nothing, true),
            (Heard::Nothing, false),
            (Heard::Nothing, false),
            (here(), true),
            (Heard::Gone, false),
        ];
        for (step, (heard, there)) in asked.into_iter().enumerate() {
            assert_eq!(known.heard(heard).is_some(), there, "step {step}");
        }
    }

    #[tokio::test]
    async fn addresses_stay_while_their_name_cannot_be_looked_up() {
        let (live, _) = watch::channel(Arc::default());
        let mut watcher = Watcher::new(Vec::new(), live, Arc::default());
        let name = "no-such-name.invalid:1".to_owned();
        let known = vec!["127.0.0.1:1".to_owned()];
        assert!(watcher.resolve(name.clone()).await.is_empty());
        let long_ago = Instant::now().checked_sub(2 * RESOLVE).unwrap();
        let entry = (long_ago, known.clone());
        watcher.resolved.insert(name.clone(), entry);
        assert_eq!(watcher.resolve(name).await, known);
    }
}
