//! The catalog's tables as DataFusion sees them, for one statement: pinned to the snapshots that it
//! was planned on. Asks the catalog; reads no file.

mod files;
mod meta;
mod resolve;
mod table;

pub(crate) use meta::TableMeta;
pub(crate) use resolve::{list, resolve};
pub(crate) use table::CatalogTable;
