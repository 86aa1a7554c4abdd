//! What a catalog is told when it starts.

use std::time::Duration;

use wire::serve::Listener;

/// How a catalog service is set up.
#[derive(Debug)]
pub struct CatalogConfig {
    /// Where it listens.
    pub listener: Listener,
    /// The SQLite file, as a path or a `sqlite:` URL. Made, with its folder, when there is none.
    pub database: String,
    /// The folder or prefix under which managed tables keep their metadata.
    pub warehouse: String,
    /// How much of the query log is kept.
    pub log: LogLimits,
}

/// Bounds of the query log. What is beyond any of them is deleted, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Age of queries and reports.
    pub age: Duration,
    /// Number of queries, each with its tickets.
    pub queries: u64,
    /// Number of skipped units over all queries.
    pub skips: u64,
}

impl Default for LogLimits {
    /// A week, ten thousand queries, a million skipped units.
    fn default() -> Self {
        Self {
            age: Duration::from_hours(7 * 24),
            queries: 10_000,
            skips: 1_000_000,
        }
    }
}
