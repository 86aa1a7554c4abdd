//! End to end: the real binary as real processes, a Flight SQL client at one end and Parquet files at
//! the other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]
#![allow(missing_docs)]

mod bad_input;
mod bad_tickets;
mod command_line;
mod commands;
mod counts;
mod ends;
mod flight;
mod pitfalls;
mod plain;
mod processes;
mod properties;
mod queries;
mod same_rows;
mod tables;
mod topology;
