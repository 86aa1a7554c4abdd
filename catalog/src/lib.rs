//! The catalog service: tables, their snapshots and files, planning from metadata alone, and the query
//! log.
//!
//! `catalog` is what the service can do, one function per request; `service` decodes, calls and
//! encodes. `listing` turns a folder of Parquet files into facts, `database` keeps facts, `index` holds
//! those of a snapshot in memory, and `plan` decides over them. Nothing here reads the rows of a file,
//! and nothing is ever written beside a user's files.

mod adoption;
mod catalog;
mod config;
mod database;
mod error;
mod iceberg;
mod index;
mod known_footers;
mod listing;
mod locks;
mod log;
mod plan;
mod serve;
mod service;
mod table;
#[cfg(test)]
mod tests;

pub use config::{CatalogConfig, LogLimits};
pub use error::CatalogError;
pub use serve::serve;
