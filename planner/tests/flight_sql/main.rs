//! The Flight SQL service on a real socket, before a real catalog, as clients see it.
#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(missing_docs)]

mod actions;
mod metadata;
mod parts;
mod prepared;
mod session_options;
mod statements;
