//! Whole scans of fixtures: what they read, and that they give the rows they should.

mod bad_files;
mod compact;
mod evolution;
mod golden;
mod io_log;
mod odd_file;
mod pages;
mod pitfalls;
mod random_files;
pub(crate) mod random_filters;
mod same_rows;
mod sharing;
pub(crate) mod table;
