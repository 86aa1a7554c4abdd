//! Scanning Parquet files: from a scan task to record batches, reading only what can hold an answer.
//!
//! [`ScanExec`] is the leaf of every plan over a table, in planners and Flight servers alike; the
//! [`TaskRunner`] that a process installs decides where its tasks run. [`scan`] is the pipeline itself.
//! Nothing here knows catalogs, tickets or Flight, and nothing here reads a file but through the
//! ledger of `store`.

pub mod codec;
pub mod error;
pub mod exec;
pub mod runner;
pub mod spec;

pub use codec::{ScanCodec, decode_fragment, encode_fragment};
pub use error::{ScanError, category_of};
pub use exec::ScanExec;
pub use runner::{Runner, TaskRunner};
pub use spec::ScanSpec;
