//! What can go wrong with a ticket, and with starting the service.

use std::time::Duration;

use datafusion::error::DataFusionError;
use wire::channel::LocationError;
use wire::flight::EncodeError;
use wire::serve::ServeError;
use wire::{Categorized, Category, DecodeError, TicketError};

/// Why a ticket is not, or no longer, served.
#[derive(Debug, thiserror::Error)]
pub enum FlightServerError {
    /// The ticket does not hold.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// A ticket that runs a statement.
    #[error("ticket holds a statement, which only planners run: ask the planner")]
    Statement,
    /// Too many tickets at once.
    #[error(
        "{running} tickets are being scanned here and none ended within {waited_ms} ms: try again in {retry_ms} ms or elsewhere"
    )]
    Busy {
        /// The limit.
        running: usize,
        /// How long the ticket waited.
        waited_ms: u128,
        /// When to try again.
        retry_ms: u128,
    },
    /// The service is going down.
    #[error("this Flight server is shutting down: try elsewhere")]
    Draining,
    /// The signed content is not what this version scans.
    #[error("ticket cannot be run: {0}")]
    Content(#[from] DecodeError),
    /// The plan fragment cannot be run.
    #[error(transparent)]
    Fragment(#[from] scan::ScanError),
    /// The scan failed.
    #[error("{}", scan::message_of(.0))]
    Scan(#[from] DataFusionError),
    /// The result cannot be sent.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A fault in a scan.
    #[error("scan broke down: {reason}")]
    Panicked {
        /// What the panic said.
        reason: String,
    },
}

impl FlightServerError {
    /// When the same request may succeed, as a hint for clients.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_ms, .. } => u64::try_from(*retry_ms).ok().map(Duration::from_millis),
            _ => None,
        }
    }
}

impl Categorized for FlightServerError {
    fn category(&self) -> Category {
        match self {
            Self::Ticket(error) => error.category(),
            Self::Statement | Self::Content(_) => Category::Invalid,
            Self::Busy { .. } => Category::Exhausted,
            Self::Draining => Category::Unavailable,
            Self::Fragment(error) => error.category(),
            Self::Scan(error) => scan::category_of(error),
            Self::Encode(error) => error.category(),
            Self::Panicked { .. } => Category::Internal,
        }
    }
}

/// Why a Flight server could not be served.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The catalog's address.
    #[error("catalog: {0}")]
    Catalog(#[from] LocationError),
    /// Listening or the transport.
    #[error(transparent)]
    Serve(#[from] ServeError),
}
