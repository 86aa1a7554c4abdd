//! What a Flight server is told when it starts.

use std::time::Duration;

use store::StoreProfile;
use wire::TicketKeys;
use wire::serve::Listener;

/// What a Flight server is told when it starts.
#[derive(Debug)]
pub struct FlightServerConfig {
    /// Where it listens.
    pub listener: Listener,
    /// The catalog that takes scan reports; without one they go to clients only.
    pub catalog: Option<String>,
    /// The keys that tickets may be signed with.
    pub keys: TicketKeys,
    /// The location that planners hand to clients; when missing where it listens, or where planners
    /// reach it if it listens on every address.
    pub advertise: Option<String>,
    /// How many tickets at once.
    pub tickets: TicketLimits,
    /// How much a scan may read and hold.
    pub scan: scan::Limits,
    /// How object stores are read.
    pub store: StoreProfile,
}

impl FlightServerConfig {
    /// A configuration with the default limits, which tells no catalog.
    pub fn new(listener: Listener, keys: TicketKeys) -> Self {
        Self {
            listener,
            catalog: None,
            keys,
            advertise: None,
            tickets: TicketLimits::default(),
            scan: scan::Limits::default(),
            store: StoreProfile::BALANCED,
        }
    }
}

/// How many tickets are scanned at once, and how long others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketLimits {
    /// Tickets that are scanned at once.
    pub running: usize,
    /// Tickets that wait for one of those to end; more are refused at once.
    pub waiting: usize,
    /// How long a ticket waits before it is refused.
    pub wait: Duration,
    /// How long a ticket keeps its place while its client takes nothing; others are scanned meanwhile.
    pub idle: Duration,
}

impl Default for TicketLimits {
    fn default() -> Self {
        Self {
            running: 64,
            waiting: 1024,
            wait: Duration::from_secs(30),
            idle: Duration::from_secs(1),
        }
    }
}
