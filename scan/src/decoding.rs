//! Decoding one row group stage by stage: which rows are left after each, and the rows of the result.
//! Does no I/O.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use model::TableName;
use store::{Fetched, StoreError};

use crate::decode::{ChunkBytes, Decoder, RowGroupBytes};
use crate::error::ScanError;
use crate::fetch::Reads;
use crate::file_plan::{FilePlan, FileStages};
use crate::kept::Kept;
use crate::layout::Layout;
use crate::left::Left;
use crate::read_plan::{ChunkRead, JUMPS_FROM, RowGroupRead, decodable, decodable_within};
use crate::rows::RowSet;
use crate::running::{Ahead, Next, Running};
use crate::scanner::Limits;
use crate::stages::Stage;
use crate::streamed::{Arrived, Streamed};

/// Bytes that a decoded batch should not exceed by much.
pub(crate) const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// No single row is decoded that is larger, as far as the footer tells: a few kilobytes may unpack to
/// gigabytes.
const ROW_BYTES: u64 = 256 * 1024 * 1024;

/// A row group whose bytes are here, for all stages or for the first.
#[derive(Debug)]
pub(crate) struct Decoding {
    plan: Arc<FilePlan>,
    table: TableName,
    read: RowGroupRead,
    bytes: RowGroupSource,
    /// The rows whose pages are here.
    rows: RowSet,
    limits: Limits,
    /// Stages under way, each fed by the one before; the last of them runs.
    running: Vec<Running>,
}

/// Where the bytes of a row group are.
#[derive(Debug)]
pub(crate) enum RowGroupSource {
    /// All that its stages need.
    Here(Fetched),
    /// They come as the stages go on.
    Streamed(Streamed),
}

/// What a step of a row group came to.
#[derive(Debug)]
pub(crate) enum Step {
    /// Some rows were looked at.
    On {
        /// Rows of the file that were decoded for the first time.
        decoded: u64,
        /// Rows of the result.
        rows: Option<RecordBatch>,
    },
    /// The filter is done; what is left needs bytes that are not here.
    Filtered(Filtered),
    /// There are no more rows.
    Ended,
}

/// The rows of a row group that the filter left, before the rest of their columns is fetched.
#[derive(Debug)]
pub(crate) struct Filtered {
    plan: Arc<FilePlan>,
    table: TableName,
    read: RowGroupRead,
    left: Left,
    kept: Kept,
}

impl Reads for RowGroupRead {
    fn chunks(&self) -> &[ChunkRead] {
        &self.chunks
    }
}

impl Filtered {
    /// What it still reads.
    pub(crate) fn read(&self) -> &RowGroupRead {
        &self.read
    }
}

impl Decoding {
    /// Starts on a row group whose bytes are here for its first stages, or come as they are needed.
    ///
    /// # Errors
    /// When its pages are broken, or were not fetched.
    pub(crate) fn new(
        plan: Arc<FilePlan>,
        table: TableName,
        read: RowGroupRead,
        bytes: RowGroupSource,
        limits: Limits,
    ) -> Result<Self, ScanError> {
        let left = Left::Runs(read.wanted.clone());
        let mut decoding = Self {
            rows: decodable(&read.wanted, plan.file.rows(read.row_group)),
            plan,
            table,
            read,
            bytes,
            limits,
            running: Vec::new(),
        };
        decoding.enter(0, left, None)?;
        Ok(decoding)
    }

    /// Goes on where the filter left off, with the bytes of the last stage.
    ///
    /// # Errors
    /// As [`Decoding::new`].
    pub(crate) fn of_filtered(
        filtered: Filtered,
        fetched: Fetched,
        limits: Limits,
    ) -> Result<Self, ScanError> {
        let rows_total = filtered.plan.file.rows(filtered.read.row_group);
        let mut decoding = Self {
            rows: decodable(&filtered.left.runs(JUMPS_FROM), rows_total),
            plan: filtered.plan,
            table: filtered.table,
            read: filtered.read,
            bytes: RowGroupSource::Here(fetched),
            limits,
            running: Vec::new(),
        };
        let last = decoding.read.stages - 1;
        decoding.enter(last, filtered.left, Some(filtered.kept))?;
        Ok(decoding)
    }

    /// Whether the next step needs bytes that are not here yet.
    pub(crate) fn must_wait(&self) -> bool {
        let (Some(running), RowGroupSource::Streamed(streamed)) =
            (self.running.last(), &self.bytes)
        else {
            return false;
        };
        let stages = self.plan.stages(self.read.settled);
        let layout = stages.at(running.stage).map(|(_, layout)| layout);
        let next = running.ahead.end_of(running.batch_rows);
        layout.is_some_and(|layout| streamed.lacks(&layout.leaves, next))
    }

    /// Waits until the bytes are here that the next step needs, and tells which have come.
    ///
    /// # Errors
    /// When the file cannot be read, or its pages are broken.
    pub(crate) async fn ready(&mut self) -> Result<Arrived, ScanError> {
        let (Some(running), RowGroupSource::Streamed(streamed)) =
            (self.running.last(), &mut self.bytes)
        else {
            return Ok(Arrived::default());
        };
        let stages = self.plan.stages(self.read.settled);
        let Some((_, layout)) = stages.at(running.stage) else {
            return Ok(Arrived::default());
        };
        let next = running.ahead.end_of(running.batch_rows);
        streamed
            .advance(&layout.leaves, next, &running.ahead.0)
            .await
    }

    /// Decodes some rows in the latest stage. `enough` is how many rows of the result are still wanted.
    ///
    /// # Errors
    /// When a page is broken or holds fewer rows than it should, or the filter fails on a row.
    pub(crate) fn step(&mut self, enough: Option<u64>) -> Result<Step, ScanError> {
        let Some(running) = self.running.last_mut() else {
            return Ok(Step::Ended);
        };
        let stages = self.plan.stages(self.read.settled);
        let Some((stage, layout)) = stages.at(running.stage) else {
            return Ok(Step::Ended);
        };
        let Some(batch) = running.decoder.next()? else {
            running
                .ahead
                .must_be_done(self.plan.file.path(), self.read.row_group)?;
            return self.end_stage();
        };
        let is_first = running.stage == 0;
        let is_last = stages.stages.is_last(running.stage);
        let decoded = batch.num_rows() as u64;
        let rows = running.pass(stage, layout, &batch, &self.read.sure, is_last, &self.table)?;
        let waiting = &running.next;
        let full = waiting.kept.bytes() > self.limits.kept_bytes
            || enough.is_some_and(|rows| waiting.left.count() >= rows);
        // What is fetched after the filter is fetched for all that it left.
        let may_pause = self.read.stages >= stages.stages.len();
        if !is_last && full && may_pause {
            self.let_on()?;
        }
        Ok(Step::On {
            decoded: if is_first { decoded } else { 0 },
            rows,
        })
    }

    /// Lets the rows on that have passed the latest stage so far; it goes on when they are done.
    fn let_on(&mut self) -> Result<(), ScanError> {
        let Some(running) = self.running.last_mut() else {
            return Ok(());
        };
        let stages = self.plan.stages(self.read.settled);
        let (Some((stage, _)), next) = (stages.at(running.stage), running.stage + 1) else {
            return Ok(());
        };
        let rows = self.plan.file.rows(self.read.row_group);
        let passed = std::mem::replace(&mut running.next, Next::new(stage, rows));
        self.enter_after(next, passed)
    }

    /// The latest stage has seen all its rows.
    fn end_stage(&mut self) -> Result<Step, ScanError> {
        let Some(ended) = self.running.pop() else {
            return Ok(Step::Ended);
        };
        let on = Ok(Step::On {
            decoded: 0,
            rows: None,
        });
        let next = ended.stage + 1;
        let stages = self.plan.stages(self.read.settled).stages.len();
        if next >= stages || ended.next.left.count() == 0 {
            return if self.running.is_empty() {
                Ok(Step::Ended)
            } else {
                on
            };
        }
        if next < self.read.stages {
            self.enter_after(next, ended.next)?;
            return on;
        }
        let left = ended.next.left.finish();
        let layouts = &self.plan.stages(self.read.settled).layouts;
        let layouts = layouts.get(next..).unwrap_or_default();
        let rows = left.runs(JUMPS_FROM);
        let read = RowGroupRead {
            chunks: self.plan.chunks(self.read.row_group, layouts, &rows),
            stages,
            ..self.read.clone()
        };
        Ok(Step::Filtered(Filtered {
            plan: Arc::clone(&self.plan),
            table: self.table.clone(),
            read,
            left,
            kept: ended.next.kept,
        }))
    }

    fn enter_after(&mut self, stage: usize, passed: Next) -> Result<(), ScanError> {
        self.enter(stage, passed.left.finish(), Some(passed.kept))
    }

    /// Starts a stage on the rows that are left.
    fn enter(&mut self, number: usize, left: Left, kept: Option<Kept>) -> Result<(), ScanError> {
        let Some((stage, layout)) = self.plan.stages(self.read.settled).at(number) else {
            return Ok(());
        };
        let rows_total = self.plan.file.rows(self.read.row_group);
        let rows = match &self.bytes {
            RowGroupSource::Here(_) => {
                decodable_within(&left.runs(JUMPS_FROM), &self.rows, rows_total)
            }
            // Pages come in their order anyway, and rows beside these may be gone or not come yet.
            RowGroupSource::Streamed(_) => left.runs(JUMPS_FROM).span(),
        };
        let batch_rows = self.batch_rows(layout)?;
        let decoder = self.decoder(layout, &rows, batch_rows)?;
        self.running.push(Running {
            stage: number,
            decoder,
            batch_rows: batch_rows as u64,
            ahead: Ahead(rows.ranges().to_vec().into()),
            left,
            kept,
            next: Next::new(stage, rows_total),
        });
        Ok(())
    }

    /// Rows of a batch of a stage.
    fn batch_rows(&self, layout: &Layout) -> Result<usize, ScanError> {
        Ok(self.limits.batch_rows.min(self.rows_of_a_batch(layout)?))
    }

    fn decoder(
        &self,
        layout: &Layout,
        rows: &RowSet,
        batch_rows: usize,
    ) -> Result<Decoder, ScanError> {
        let Some(levels) = &layout.levels else {
            return Ok(Decoder::without_columns(rows.count(), batch_rows));
        };
        let path = self.plan.file.path();
        let bytes = self.row_group_bytes(layout)?;
        Ok(Decoder::new(path, levels, &bytes, rows, batch_rows)?)
    }

    fn row_group_bytes(&self, layout: &Layout) -> Result<RowGroupBytes, StoreError> {
        let metadata = self.plan.file.metadata();
        let leaves = metadata.file_metadata().schema_descr().num_columns();
        let mut chunks: Vec<Option<ChunkBytes>> = vec![None; leaves];
        let mine = |chunk: &&ChunkRead| layout.leaves.binary_search(&chunk.leaf).is_ok();
        for chunk in self.read.chunks.iter().filter(mine) {
            let index = self.plan.indexes.get(self.read.row_group, chunk.leaf);
            let index = index.filter(|_| !chunk.by_page.is_empty());
            let pages = index.map(|index| index.pages.page_locations().clone());
            let bytes = match &self.bytes {
                RowGroupSource::Here(fetched) => ChunkBytes::new(fetched, &chunk.ranges, pages),
                RowGroupSource::Streamed(streamed) => {
                    let pages = streamed.pages(chunk.leaf);
                    pages.map(|pages| ChunkBytes::streamed(pages, chunk.bytes()))
                }
            };
            let bytes = bytes.ok_or_else(|| StoreError::Corrupt {
                path: self.plan.file.path().to_owned(),
                reason: format!("column chunk {} overlaps another", chunk.leaf),
            })?;
            if let Some(place) = chunks.get_mut(chunk.leaf) {
                *place = Some(bytes);
            }
        }
        Ok(RowGroupBytes {
            metadata: Arc::clone(metadata),
            row_group: self.read.row_group,
            chunks,
        })
    }

    /// Rows of about [`BATCH_BYTES`], by the sizes in the footer.
    fn rows_of_a_batch(&self, layout: &Layout) -> Result<usize, StoreError> {
        let file = &self.plan.file;
        let chunks = layout
            .leaves
            .iter()
            .filter_map(|leaf| file.chunk(self.read.row_group, *leaf));
        let bytes: u64 = chunks
            .map(|chunk| chunk.uncompressed_size().unsigned_abs())
            .sum();
        let bytes_of_a_row = bytes
            .checked_div(file.rows(self.read.row_group))
            .unwrap_or_default()
            .max(1);
        if bytes_of_a_row > ROW_BYTES {
            return Err(StoreError::Unsupported {
                path: file.path().to_owned(),
                reason: format!(
                    "a row of row group {} has about {bytes_of_a_row} bytes, at most {ROW_BYTES} are decoded",
                    self.read.row_group
                ),
            });
        }
        Ok(usize::try_from((BATCH_BYTES / bytes_of_a_row).max(1)).unwrap_or(usize::MAX))
    }
}

impl FileStages {
    fn at(&self, number: usize) -> Option<(&Stage, &Layout)> {
        self.stages.get(number).zip(self.layouts.get(number))
    }
}
