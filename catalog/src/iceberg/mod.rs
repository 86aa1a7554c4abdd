//! Managed tables: their state as Iceberg v2 metadata that other engines open.
//!
//! The `iceberg` crate gives the types of the spec and writes manifests; it stands on another Arrow, so
//! no Arrow type crosses that border. Files are written through our stores only, metadata last, under
//! names that nobody used before. Reading is our own: one odd bound must not fail a manifest.

mod adopt;
mod avro;
mod bytes;
mod files;
mod metadata;
mod names;
mod read;
mod schema;
mod types;
mod write;
mod written;

pub(crate) use adopt::{Adopted, Adoption, adopt};
pub(crate) use read::{ManagedFile, read_snapshot};
