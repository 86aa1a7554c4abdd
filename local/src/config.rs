//! What a local Fulmar is told when it starts, and what it tells while it does.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use planner::EndpointMode;
use store::StoreProfile;
use wire::serve::Listener;

/// How all services are set up in one process.
#[derive(Debug)]
pub struct LocalConfig {
    /// The user's files: a local path or a URL of a folder, a prefix or one file.
    pub data: String,
    /// Where the catalog and the ticket key are kept; a folder beside the data or under the user's
    /// data directory when missing.
    pub state: Option<PathBuf>,
    /// The socket of the planner.
    pub listener: Listener,
    /// How many Flight servers are started.
    pub flight_servers: NonZeroUsize,
    /// From where clients fetch results. When missing: from the Flight servers if the planner is
    /// reached over loopback, as they are, else from the planner.
    pub endpoints: Option<EndpointMode>,
    /// The location under which clients reach the planner.
    pub advertise: Option<String>,
    /// Bytes of footers that go along with the tickets of an answer at most.
    pub ticket_footers: usize,
    /// How object stores are read.
    pub store: StoreProfile,
}

/// What happens while tables are registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Footers of a table are being read.
    Reading {
        /// The table.
        table: String,
        /// Files that are done.
        files_done: u64,
        /// Files of the table.
        files_total: u64,
    },
    /// A table is there.
    Ready {
        /// The table.
        table: String,
        /// Where its files are, below the data folder.
        place: String,
        /// Its data files.
        files: u64,
        /// Its rows.
        rows: u64,
        /// Its bytes.
        bytes: u64,
        /// Files whose footers had to be read.
        footers_read: u64,
    },
    /// A table was dropped, because its files are gone.
    Dropped {
        /// The table.
        table: String,
    },
    /// Something that the user should know, in one line.
    Warning(String),
}
