//! Scans on Flight servers, seen from the planner: one stream of rows, whichever server it comes
//! from.

mod rows;
mod runner;
mod unfiltered;

pub(crate) use rows::rows;
pub(crate) use runner::RemoteRunner;
