//! What a planner is configured with. Values are checked where flags are parsed; nothing here reads
//! the environment.

use std::path::PathBuf;
use std::time::Duration;

use wire::TicketKeys;
use wire::serve::Listener;

/// Bytes of footers in the tickets of an answer unless a planner is told otherwise.
pub const TICKET_FOOTERS: usize = 1 << 20;

/// The configuration of a planner.
#[derive(Debug)]
pub struct PlannerConfig {
    /// The socket of the Flight SQL service.
    pub listener: Listener,
    /// Where the catalog is, such as `http://127.0.0.1:50060`.
    pub catalog: String,
    /// Where Flight servers are: `http://host:port`, or `dns+http://host:port` for every address that
    /// the name has.
    pub flight_servers: Vec<String>,
    /// The keys that sign tickets.
    pub keys: TicketKeys,
    /// The location under which clients reach this planner; without it they are told to use the
    /// connection they have.
    pub advertise: Option<String>,
    /// Endpoints of a query beyond which files are packed.
    pub max_endpoints: usize,
    /// Whether clients reach the Flight servers.
    pub endpoints: EndpointMode,
    /// Bytes of footers that go along with the tickets of an answer at most, so that Flight servers need not read
    /// them; 0 for none.
    pub ticket_footers: usize,
    /// How long a ticket is valid.
    pub ticket_ttl: Duration,
    /// Memory for the statements that run in the planner, in bytes; beyond it they spill to disk.
    pub memory_limit: usize,
    /// Where they spill; the system's temporary folder when missing.
    pub spill_dir: Option<PathBuf>,
}

impl PlannerConfig {
    /// A configuration with the default limits.
    pub fn new(
        listener: Listener,
        catalog: impl Into<String>,
        flight_servers: Vec<String>,
        keys: TicketKeys,
    ) -> Self {
        Self {
            listener,
            catalog: catalog.into(),
            flight_servers,
            keys,
            advertise: None,
            max_endpoints: 16,
            endpoints: EndpointMode::Direct,
            ticket_footers: TICKET_FOOTERS,
            ticket_ttl: Duration::from_hours(1),
            memory_limit: 2 << 30,
            spill_dir: None,
        }
    }
}

/// From where clients fetch results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndpointMode {
    /// From the Flight servers, with the planner as last resort.
    #[default]
    Direct,
    /// From the planner, which passes the Flight servers' streams on.
    Proxy,
}
