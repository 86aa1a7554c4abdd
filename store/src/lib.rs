//! Object stores by URL, counted reads, and what Parquet footers say: schemas, bounds and page indexes.
//!
//! Both the catalog and the scan stand on this crate. It decides nothing about which data to read and
//! decodes no data page. Every byte of a data file is read through a [`Ledger`].

mod url;

mod clients;
pub mod error;
pub mod location;
pub mod open;
pub mod profile;

mod guard;
mod thrift;

pub mod fetched;
pub mod ledger;
pub mod network;
mod request;

pub mod footer;
pub mod footer_columns;
pub mod page_header;
pub mod page_index;

pub mod bloom;
pub mod dictionary;
#[cfg(test)]
mod one_column;

pub mod columns;
pub mod infer;
pub mod widen;

pub mod bounds;
pub mod fold;
pub mod page_bounds;
mod value;

pub mod data_files;
pub mod hive;
pub mod table_formats;

pub use bounds::{file_bounds, row_group_bounds};
pub use columns::{FileColumn, FileColumns, match_columns};
pub use data_files::{has_data_ending, is_data_file, is_hidden};
pub use error::StoreError;
pub use fetched::Fetched;
pub use footer::{Footer, FooterHint, read_footer};
pub use guard::guarded;
pub use infer::{Merger, arrow_schema};
pub use ledger::{Entry, Ledger, Suffix};
pub use location::{Location, version_of};
pub use open::Stores;
pub use page_bounds::{page_bounds, page_rows};
pub use page_index::{ChunkIndex, IndexesWanted, PageIndexes, read_page_indexes};
pub use profile::{Objective, StoreProfile, coalesce};
pub use table_formats::{TableFormat, described, whole_table};
pub use thrift::check_page_header;
