//! The pure domain of Fulmar: schemas, values, predicates, bounds, verdicts, scan tasks and scan
//! reports.
//!
//! Nothing here does I/O or is async, and nothing here knows protobuf, Flight, Parquet or DataFusion.
//! The one evaluator of predicates lives in [`predicate`]; everything that has statistics (a file in
//! the catalog, a row group, a page, a partition path) implements [`StatsSource`] and asks it.

pub mod bounds;
pub mod datum;
pub mod footer;
pub mod interval;
pub mod predicate;
pub mod reason;
pub mod report;
pub mod schema;
pub mod selectivity;
pub mod task;
pub mod value_set;

pub use bounds::{Bound, ColumnBounds, StatsSource};
pub use datum::Datum;
pub use footer::{FilePiece, FooterColumn, LearnedFooter};
pub use interval::Interval;
pub use predicate::{ColumnPredicate, Predicate, Verdict};
pub use reason::{Condition, Level, Reason};
pub use report::{Counts, QueryId, ScanReport, Skip, SkippedUnit, TaskReport, TicketId};
pub use schema::{FieldId, TableName, TableSchema};
pub use task::{ByteSpan, ColumnMapping, DataFile, PartitionValue, RowRange, ScanTask, SnapshotId};
pub use value_set::ValueSet;
