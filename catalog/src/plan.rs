//! PlanFiles: which files of a snapshot can hold a match, decided from the index alone.

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use model::{ColumnBounds, Condition, FieldId, Level, Predicate, Reason, StatsSource, Verdict};

use crate::index::{IndexedFile, TableIndex};
use crate::known_footers::{FootersWanted, Known, KnownFooters};

/// Files judged before other requests get their turn.
const CHUNK: usize = 1024;

/// Skipped files that are told when not all of them are wanted: enough to see why.
const TOLD: u64 = 1000;

/// What is asked of a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanRequest {
    /// Implied by the filter.
    pub(crate) predicate: Predicate,
    /// Whether every skipped file is wanted with its reason, and not only the first thousand.
    pub(crate) explain: bool,
    /// What of the files' footers is wanted along.
    pub(crate) footers: FootersWanted,
}

/// One part of a plan, in the order in which they come.
#[derive(Clone, Debug)]
pub(crate) enum PlanPart {
    /// The snapshot; first.
    Header(Arc<TableIndex>),
    /// A file to scan, by its position in the index.
    File {
        /// The index that the position is in.
        index: Arc<TableIndex>,
        /// The position.
        position: usize,
        /// Whether every row matches.
        fully_matched: bool,
        /// What is known of its footer.
        footer: Known,
    },
    /// A file that holds no match.
    Skipped {
        /// The index that the position is in.
        index: Arc<TableIndex>,
        /// The position.
        position: usize,
        /// Why it holds none.
        reason: Reason,
    },
    /// The totals; last.
    Summary(Summary),
}

/// The totals of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Files of the snapshot.
    pub(crate) files_total: u64,
    /// Files ruled out by their partition values.
    pub(crate) skipped_by_partition: u64,
    /// Files ruled out by their bounds.
    pub(crate) skipped_by_bounds: u64,
    /// Bytes of all files.
    pub(crate) bytes_total: u64,
    /// Bytes of the files that are left.
    pub(crate) bytes_left: u64,
}

/// What is known of one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// Some row may match, or surely all do.
    Scan {
        /// Whether all do.
        fully_matched: bool,
    },
    /// No row can match.
    Skip(Reason),
}

/// Judges one file: its path first, then its bounds.
pub(crate) fn decide(file: &IndexedFile, predicate: &Predicate) -> Decision {
    if file.file.record_count == Some(0) {
        return Decision::Skip(no_rows());
    }
    let by_path = predicate.refutation(&file.partition_stats(), Level::Partition);
    // Without a condition it was the filter itself that matches nothing, not the path.
    if let Some(reason) = by_path.filter(|reason| !reason.conditions.is_empty()) {
        return Decision::Skip(reason);
    }
    match predicate.verdict(file) {
        Verdict::None => {
            let reason = predicate.refutation(file, Level::Bounds);
            Decision::Skip(reason.unwrap_or_else(|| Reason::at(Level::Bounds)))
        }
        verdict => Decision::Scan {
            fully_matched: verdict == Verdict::All,
        },
    }
}

/// Why a file without rows is skipped whatever the filter is.
fn no_rows() -> Reason {
    Reason {
        level: Level::Bounds,
        conditions: vec![Condition {
            column: "row count".to_owned(),
            test: "> 0".to_owned(),
            lower: Some("0".to_owned()),
            upper: Some("0".to_owned()),
            null_count: None,
            all_null: false,
        }],
        more: 0,
    }
}

/// Judges every file of an index in path order.
pub(crate) fn plan(
    index: Arc<TableIndex>,
    request: PlanRequest,
    footers: KnownFooters,
) -> impl Stream<Item = PlanPart> + Send + 'static {
    let header = PlanPart::Header(Arc::clone(&index));
    let planning = Planning {
        index,
        request,
        next: Some(0),
        summary: Summary::default(),
        told: 0,
    };
    let parts = stream::unfold(
        (planning, footers),
        |(mut planning, mut footers)| async move {
            let mut parts = planning.step()?;
            footers.add(&mut parts).await;
            tokio::task::yield_now().await;
            Some((stream::iter(parts), (planning, footers)))
        },
    );
    stream::iter([header]).chain(parts.flatten())
}

struct Planning {
    index: Arc<TableIndex>,
    request: PlanRequest,
    /// The first file of the next chunk; `None` after the summary.
    next: Option<usize>,
    summary: Summary,
    /// Skipped files so far.
    told: u64,
}

impl Planning {
    fn step(&mut self) -> Option<Vec<PlanPart>> {
        let start = self.next?;
        let end = (start + CHUNK).min(self.index.files.len());
        let mut parts: Vec<_> = (start..end).filter_map(|at| self.judge(at)).collect();
        self.next = (end < self.index.files.len()).then_some(end);
        if self.next.is_none() {
            parts.push(PlanPart::Summary(self.summary));
        }
        Some(parts)
    }

    fn judge(&mut self, position: usize) -> Option<PlanPart> {
        let index = Arc::clone(&self.index);
        let file = index.files.get(position)?;
        self.summary.files_total += 1;
        self.summary.bytes_total += file.file.size;
        match decide(file, &self.request.predicate) {
            Decision::Scan { fully_matched } => {
                self.summary.bytes_left += file.file.size;
                Some(PlanPart::File {
                    index: Arc::clone(&index),
                    position,
                    fully_matched,
                    footer: Known::Nothing,
                })
            }
            Decision::Skip(reason) => {
                match reason.level {
                    Level::Partition => self.summary.skipped_by_partition += 1,
                    _ => self.summary.skipped_by_bounds += 1,
                }
                self.told += 1;
                let told = self.request.explain || self.told <= TOLD;
                told.then(|| PlanPart::Skipped {
                    index: Arc::clone(&index),
                    position,
                    reason,
                })
            }
        }
    }
}

/// What is known of the wanted columns of a file.
pub(crate) fn bounds_of(file: &IndexedFile, fields: &[FieldId]) -> Vec<(FieldId, ColumnBounds)> {
    let known = fields.iter();
    known
        .filter_map(|field| Some((*field, file.bounds(*field)?.into_owned())))
        .collect()
}
