//! The Flight SQL service: decodes what clients ask, calls the [`Engine`](crate::Engine), encodes what
//! it answers. Holds no result and no session between two calls: tickets, prepared statement handles
//! and session tokens are signed bytes that clients carry, so that any replica serves any call.

mod surface;

mod commands;
mod service;
mod statements;

mod flight_info;
mod handle;
mod parameters;
mod running;
mod streams;

mod handshake;
mod session_messages;
mod sessions;

mod actions;

mod keys;
mod listing;
mod metadata;
mod sql_info;
mod xdbc;

pub(crate) use service::FlightSql;
pub(crate) use surface::Surface;
