//! How the parts of Fulmar speak to each other: generated protocol code, conversions to and from the
//! domain, ticket signing, the mapping of errors to gRPC codes, and what every service does the same
//! way (listen, report health, drain).

pub mod category;
pub mod channel;
pub mod convert;
pub mod flight;
pub mod keys;
pub mod schema;
pub mod seal;
pub mod serve;
pub mod status;
pub mod ticket;

mod envelope;

/// Generated from `wire/proto` by `cargo xtask codegen`; never edited by hand.
pub mod proto {
    #![allow(missing_docs, unreachable_pub, unused_qualifications)]
    #![allow(clippy::pedantic)]
    include!("generated/fulmar.v1.rs");
}

pub use category::{Categorized, Category};
pub use convert::DecodeError;
pub use keys::TicketKeys;
pub use ticket::{
    Payload, ScanWork, StatementWork, TableSnapshot, TicketError, Work, encode_payload,
};
