//! What a scan did: counts and skipped units per task, summed per ticket. The meaning of each count is
//! fixed here and nowhere else.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::reason::{Reason, is_zero};
use crate::schema::TableName;
use crate::task::SnapshotId;

/// The identity of a query: in logs, errors, tickets and `system.queries`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueryId(pub String);

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identity of a ticket within its query.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TicketId(pub String);

impl fmt::Display for TicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Exact counts of a scan. Those of several are their sum, where nothing else is said.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Counts { $($(#[$doc])* pub $name: u64),+ }

        impl AddAssign for Counts {
            fn add_assign(&mut self, other: Self) {
                let waves = self.waves.max(other.waves);
                let queued_ms = self.queued_ms.max(other.queued_ms);
                let first_batch_ms = match (self.first_batch_ms, other.first_batch_ms) {
                    (0, ms) | (ms, 0) => ms,
                    (a, b) => a.min(b),
                };
                $(self.$name += other.$name;)+
                (self.waves, self.queued_ms) = (waves, queued_ms);
                self.first_batch_ms = first_batch_ms;
            }
        }

        impl Counts {
            /// Every count with its name, in the order of their definition.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),+]
            }

            /// The counts from their names; `value` is asked for each.
            pub fn from_named(mut value: impl FnMut(&'static str) -> u64) -> Self {
                Self { $($name: value(stringify!($name))),+ }
            }
        }
    };
}

counts! {
    /// Ranged reads sent to the store; a retry counts again.
    requests,
    /// Requests that were sent again.
    retries,
    /// Requests that were sent a second time because the first took too long.
    hedges,
    /// Length of the longest chain of dependent requests; of several tasks, the longest.
    waves,
    /// Bytes that the store returned.
    bytes_fetched,
    /// Bytes of footers, indexes, dictionaries and pages that were used.
    bytes_needed,
    /// Bytes of dictionary pages among `bytes_needed`.
    bytes_dictionaries,
    /// Row groups that hold rows of the tasks: all of a file, unless its task is a range of rows. Those
    /// that are neither skipped nor read were not needed any more, because a limit was reached.
    row_groups_total,
    /// Row groups skipped by their statistics.
    row_groups_skipped_statistics,
    /// Row groups ruled out by a Bloom filter.
    row_groups_skipped_bloom,
    /// Row groups ruled out by a dictionary that all their pages are encoded with.
    row_groups_skipped_dictionary,
    /// Row groups of which no page survived.
    row_groups_skipped_pages,
    /// Row groups that were read.
    row_groups_read,
    /// Row groups all of whose rows match by their statistics, whether they were read or not.
    row_groups_fully_matched,
    /// Pages of the filtered columns in row groups that survived, where a column index exists.
    pages_considered,
    /// Of those, the pages that their bounds ruled out.
    pages_skipped,
    /// Data pages that were read by themselves, of any column. A chunk that is read whole, which needs
    /// no page to be known, counts none.
    pages_read,
    /// Rows of the tasks: all of a file, unless its task is a range of rows.
    rows_in_file,
    /// Rows left after row groups and pages were skipped, whether a limit let them be read or not.
    rows_selected,
    /// Rows that were decoded.
    rows_decoded,
    /// Rows that were returned.
    rows_returned,
    /// Footers found in the cache.
    footer_cache_hits,
    /// Footers that came with the ticket.
    footers_in_ticket,
    /// Milliseconds from the arrival of the ticket until its scan began; of several, the longest.
    queued_ms,
    /// Milliseconds in which at least one request was under way. The sum over tasks, which fetch at the
    /// same time, may be longer than the scan took.
    fetch_ms,
    /// Milliseconds spent decoding, filtering and projecting, summed over tasks likewise.
    decode_ms,
    /// Milliseconds from the start of the scan to the first batch, or zero when there was none; of
    /// several, the shortest.
    first_batch_ms,
}

/// Which part of a file was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "unit", rename_all = "kebab-case")]
pub enum SkippedUnit {
    /// The whole file.
    File,
    /// A row group, by its position in the file.
    RowGroup {
        /// The row group.
        row_group: u64,
    },
    /// Consecutive pages of one column, skipped for the same conjunct.
    Pages {
        /// The row group.
        row_group: u64,
        /// The column whose pages were judged.
        column: String,
        /// The first page, by its position in the column chunk.
        first_page: u64,
        /// Number of pages.
        pages: u64,
    },
}

/// One skipped unit with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The file's URL.
    pub path: String,
    /// What was skipped.
    #[serde(flatten)]
    pub unit: SkippedUnit,
    /// The rows that need not be read for it.
    pub rows: Option<u64>,
    /// Why.
    pub reason: Reason,
}

/// What the scan of one task did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// The file's URL.
    pub path: String,
    /// The counts of this task.
    pub counts: Counts,
    /// Skipped row groups and pages.
    pub skips: Vec<Skip>,
}

/// What the scan of one ticket did; sent to the client as JSON with the last message of the stream and
/// to the catalog's query log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanReport {
    /// The query.
    pub query_id: QueryId,
    /// The ticket.
    pub ticket_id: TicketId,
    /// The table.
    pub table: TableName,
    /// The snapshot that was read.
    pub snapshot_id: SnapshotId,
    /// The Flight server that ran the scan, as it is advertised.
    pub server: String,
    /// Whether the scan came to its end; `false` when the client went away or an error ended it.
    pub complete: bool,
    /// The error that ended the scan.
    pub error: Option<String>,
    /// The sum over the tasks.
    pub counts: Counts,
    /// Each task by itself.
    pub tasks: Vec<TaskReport>,
    /// How many more tasks there were; their counts are in the sum.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tasks_left_out: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_several_scans_are_not_added_where_that_means_nothing() {
        let scan = |queued_ms, first_batch_ms| Counts {
            requests: 2,
            waves: 3,
            queued_ms,
            fetch_ms: 10,
            first_batch_ms,
            ..Counts::default()
        };
        let mut sum = Counts::default();
        for one in [scan(5, 40), scan(7, 0), scan(0, 30)] {
            sum += one;
        }
        let expected = Counts {
            requests: 6,
            waves: 3,
            queued_ms: 7,
            fetch_ms: 30,
            first_batch_ms: 30,
            ..Counts::default()
        };
        assert_eq!(sum, expected);
    }
}
