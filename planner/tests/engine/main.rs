//! The engine against a real catalog and real Flight servers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod explain;
mod lake;
mod metadata;
mod parameters;
mod pitfalls;
mod rows;
mod system;
mod tickets;
