//! The Flight service that hosts scans: takes signed tickets, streams the rows of the files they name,
//! and says what was read.
//!
//! A ticket is all it needs: it asks no other part before it answers, keeps nothing between requests,
//! and reads nothing that a valid ticket does not name. Row groups, pages and filters are the business
//! of `scan`; SQL is the planner's.

mod admission;
mod batches;
mod config;
mod error;
mod open;
mod progress;
mod reports;
mod run;
mod serve;
mod service;

pub use config::{FlightServerConfig, MemoryError, TicketLimits, scan_memory};
pub use error::{FlightServerError, StartError};
pub use serve::serve;
