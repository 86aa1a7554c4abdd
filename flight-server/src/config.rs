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

const MIB: u64 = 1024 * 1024;

/// What a ticket takes beside what its scan holds: messages that are encoded and wait for the network.
const TICKET_BYTES: u64 = 3 * MIB;

/// So many tickets at least wait beside those that run, for clients that take nothing.
pub(crate) const LEAST_STOPPED: usize = 16;

/// Less would hold no wave of one scan beside what its decoding takes.
const LEAST_SCAN_BYTES: u64 = 64 * MIB;

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

/// The memory of scans when a server has `bytes` for them and for the messages of all tickets: those that
/// run, and those whose clients have stopped reading.
///
/// # Errors
/// When that is too little for so many tickets.
pub fn scan_memory(bytes: u64, tickets: TicketLimits) -> Result<u64, MemoryError> {
    let all = tickets.running.saturating_add(tickets.stopped());
    let messages = u64::try_from(all)
        .unwrap_or(u64::MAX)
        .saturating_mul(TICKET_BYTES);
    let left = bytes.saturating_sub(messages);
    if left < LEAST_SCAN_BYTES {
        return Err(MemoryError {
            tickets: tickets.running,
            needed_mib: messages.saturating_add(LEAST_SCAN_BYTES) / MIB,
        });
    }
    Ok(left)
}

/// There is too little memory for the tickets at once.
#[derive(Debug, thiserror::Error)]
#[error("{tickets} tickets at once need at least {needed_mib} MiB")]
pub struct MemoryError {
    tickets: usize,
    needed_mib: u64,
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
    /// How long a ticket keeps its place while its client takes nothing, and its memory when others need it.
    pub idle: Duration,
}

impl TicketLimits {
    /// Tickets that may wait beside those that run, for clients that take nothing; others keep their places.
    pub(crate) fn stopped(&self) -> usize {
        self.running.max(LEAST_STOPPED)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_that_do_not_fit_into_memory_are_refused_at_the_start() {
        let tickets = |running| TicketLimits {
            running,
            ..TicketLimits::default()
        };
        assert_eq!(scan_memory(1024 * MIB, tickets(64)).unwrap(), 640 * MIB);
        assert_eq!(scan_memory(128 * MIB, tickets(1)).unwrap(), 77 * MIB);
        let error = scan_memory(128 * MIB, tickets(64)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "64 tickets at once need at least 448 MiB"
        );
        assert!(scan_memory(u64::MAX, tickets(usize::MAX)).is_err());
    }
}
