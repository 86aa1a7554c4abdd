//! Scan tasks: what a Flight server must know of a file to open it in one request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::datum::Datum;
use crate::footer::FooterColumn;
use crate::schema::FieldId;

/// The identity of a table's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SnapshotId(pub i64);

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A span of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteSpan {
    /// Offset of the first byte.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
}

/// A run of rows in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowRange {
    /// The first row, from 0.
    pub start: u64,
    /// The row after the last.
    pub end: u64,
}

/// A Parquet file as the catalog knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// The full URL, such as `s3://bucket/orders/part-0.parquet` or `file:///data/part-0.parquet`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// The store's etag or, without one, the modification time: a file with another version is not
    /// the file that was planned.
    pub version: Option<String>,
    /// Rows, when the footer has been seen.
    pub record_count: Option<u64>,
    /// Bytes of the footer with its eight-byte tail, when it has been seen.
    pub footer_length: Option<u64>,
    /// Where the column and offset indexes lie, when the footer has been seen and has them.
    pub page_index: Option<ByteSpan>,
}

/// The value of a partition column in a file; `None` is null.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionValue {
    /// The column.
    pub field: FieldId,
    /// The value that every row of the file has.
    pub value: Option<Datum>,
}

/// How a table's columns are found in its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnMapping {
    /// By name: listing tables, whose files anyone may have written.
    ByName,
    /// By field id, and by name in files that carry no ids (Iceberg: column projection with a name
    /// mapping).
    ByFieldId,
}

/// One data file (or a row range of it) to scan.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanTask {
    /// The file.
    pub file: DataFile,
    /// The rows to read; all when missing.
    pub rows: Option<RowRange>,
    /// Columns that are constant in the file and that it need not hold.
    pub partition_values: Vec<PartitionValue>,
    /// The footer's part of every column that the scan reads; none when the footer must be read.
    pub footer: Vec<FooterColumn>,
    /// Whether the catalog would like to have the footer, when it is read.
    pub footer_wanted: bool,
}
