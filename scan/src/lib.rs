//! Scanning Parquet files: from a scan task to record batches, reading only what can hold an answer.
//!
//! [`ScanExec`] is the leaf of every plan over a table, in planners and Flight servers alike; the
//! [`TaskRunner`] that a process installs decides where its tasks run. `scan.rs` is the pipeline itself.
//! Nothing here knows catalogs, tickets or Flight, and nothing here reads a file but through the
//! ledger of `store`.

pub mod error;
pub mod spec;

// The leaf of plans, and how it travels.
pub mod codec;
pub mod exec;
pub mod runner;

// Filters as the pruner understands them.
pub mod predicate;

// The pipeline, and its steps in their order.
mod scan;

mod footers;
mod opened;

mod file_plan;
mod task_file;

mod row_groups;

mod pages;
mod rows;

mod conjuncts;
mod expected;
mod stages;

mod probes;

mod fetch_order;
mod read_plan;

mod fetch;
mod memory;
mod streamed;
mod waves;

mod decode;
mod decoding;
mod kept;
mod left;
mod running;

mod constant;
mod layout;

mod batches;

// What a scan will take.
pub mod forecast;

// What scans share, and their account.
pub mod local;
pub mod recorder;
pub mod scanner;

mod budget;
mod task_log;

#[cfg(test)]
mod tests;

pub use codec::{ScanCodec, decode_fragment, encode_fragment};
pub use error::{ScanError, category_of, message_of};
pub use exec::ScanExec;
pub use forecast::{Cost, Forecast, forecast};
pub use local::LocalRunner;
pub use predicate::predicate;
pub use recorder::Recorder;
pub use runner::{Runner, TaskRunner};
pub use scanner::{Limits, Scanner};
pub use spec::ScanSpec;
