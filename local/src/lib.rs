//! All services in one process over the user's own files: finds the tables in a folder or bucket
//! prefix, keeps the catalog in a state folder, starts every service on a socket of its own and
//! registers the tables through the catalog's own calls. Nothing is ever written in the data folder.

pub mod config;
pub mod error;

pub mod discover;
pub mod names;
pub mod source;

pub mod register;
pub mod services;
pub mod state;

pub mod demo;
pub mod narrate;

pub use config::{Event, LocalConfig};
pub use error::LocalError;
pub use services::{Running, start};
