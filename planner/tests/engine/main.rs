//! The engine against a real catalog and real Flight servers.

mod explain;
mod lake;
mod parameters;
mod rows;
mod system;
mod tickets;
