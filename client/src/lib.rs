//! A client of Fulmar's planner, or of any Flight SQL service: runs statements, fetches their
//! endpoints in parallel, shows rows and what the scans did. It knows no other part of Fulmar: what
//! it gets, every Flight SQL client can get.

pub mod connection;
pub mod endpoint;
pub mod error;
pub mod results;

pub mod output;
pub mod progress;
pub mod report;

pub mod repl;
pub mod statement;
pub mod tables;

pub mod text;

pub use connection::{Client, QueryOptions};
pub use error::ClientError;
pub use output::{Format, Output};
pub use report::QueryReport;
pub use results::Results;
