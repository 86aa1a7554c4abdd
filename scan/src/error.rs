//! What can go wrong in a scan, by what the caller can do about it.

use datafusion::error::DataFusionError;
use model::TableName;
use store::StoreError;
use wire::{Categorized, Category};

/// An error of a scan. Each names the file, table or column it is about.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// A plan fragment that cannot be encoded or decoded.
    #[error("plan fragment: {0}")]
    Fragment(String),
    /// A plan was executed in a process that installed no runner.
    #[error("table {0}: no runner of scan tasks is installed in this session")]
    NoRunner(TableName),
    /// A fault of this crate.
    #[error("internal: {0}")]
    Internal(String),
    /// The file or its store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Other scans of the process hold the memory that this one needs.
    #[error(
        "no memory for {bytes} bytes after {seconds} seconds: too many scans at once, try again later"
    )]
    Exhausted {
        /// The bytes that are to be fetched.
        bytes: u64,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A column of a file whose values are not those of the table's column.
    #[error("{path}: column {column:?} is no {kind}: {reason}")]
    Column {
        /// The file's URL.
        path: String,
        /// The column.
        column: String,
        /// The table's type.
        kind: String,
        /// What does not fit.
        reason: String,
    },
    /// Rows of a file that are not those of the table.
    #[error("{path}: {reason}")]
    Rows {
        /// The file's URL.
        path: String,
        /// What does not fit.
        reason: String,
    },
    /// A filter that failed on a row, such as a division by zero.
    #[error("table {table}: filter: {reason}")]
    Filter {
        /// The table.
        table: TableName,
        /// What the filter said.
        reason: String,
    },
}

impl ScanError {
    /// The error as plans carry it.
    pub fn into_datafusion(self) -> DataFusionError {
        DataFusionError::External(Box::new(self))
    }
}

impl From<ScanError> for DataFusionError {
    fn from(error: ScanError) -> Self {
        error.into_datafusion()
    }
}

impl Categorized for ScanError {
    fn category(&self) -> Category {
        match self {
            Self::Fragment(_) | Self::Filter { .. } => Category::Invalid,
            Self::NoRunner(_) | Self::Internal(_) => Category::Internal,
            Self::Exhausted { .. } => Category::Exhausted,
            Self::Store(error) => error.category(),
            Self::Column { .. } | Self::Rows { .. } => Category::Precondition,
        }
    }
}

/// The category of an error that came out of a plan with scans in it: that of the scan's own error
/// when there is one inside, otherwise by the kind of engine error.
pub fn category_of(error: &DataFusionError) -> Category {
    if let Some(scan) = find_scan_error(error) {
        return scan.category();
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Category::Exhausted,
        DataFusionError::NotImplemented(_) => Category::Unsupported,
        DataFusionError::Internal(_) | DataFusionError::External(_) => Category::Internal,
        _ => Category::Invalid,
    }
}

/// What an error that came out of a plan with scans in it says: the scan's own words when it is one of
/// a scan, without those of the layers that it passed.
pub fn message_of(error: &DataFusionError) -> String {
    match find_scan_error(error) {
        Some(scan) => wire::status::chain(scan),
        None => error.strip_backtrace(),
    }
}

fn find_scan_error(error: &DataFusionError) -> Option<&ScanError> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = source {
        if let Some(scan) = current.downcast_ref() {
            return Some(scan);
        }
        // External errors answer `source` with the source of what they hold, not with it.
        if let Some(DataFusionError::External(inner)) = current.downcast_ref()
            && let Some(scan) = inner.downcast_ref()
        {
            return Some(scan);
        }
        source = current.source();
    }
    None
}
