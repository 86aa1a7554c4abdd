//! A row group that is too large to be fetched whole, and of whose pages nobody knows where they lie: its
//! column chunks are fetched from their starts in windows, and pages are found by their headers as they
//! arrive. Of pages that the decoder has passed only the headers are kept: a later stage of the filter may
//! begin again at the start of the chunk, and skips them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use datafusion::common::runtime::SpawnedTask;
use store::page_header::page_header;
use store::{Ledger, StoreError};
use tokio::sync::Semaphore;

use crate::error::ScanError;
use crate::fetch::WORKING_BYTES;
use crate::memory::{Held, Memory};
use crate::read_plan::RowGroupRead;

/// A shorter window is not worth a request.
const SHORTEST_WINDOW: u64 = 256 * 1024;

/// More pages than any sound chunk has.
const MOST_PAGES: usize = 1 << 20;

/// The column chunks of one row group.
#[derive(Debug)]
pub(crate) struct Streamed {
    columns: Vec<Column>,
    _held: Held,
}

/// The pages of a column chunk that have arrived. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages(Arc<Mutex<Arrivals>>);

#[derive(Debug, Default)]
struct Arrivals {
    pages: Vec<Page>,
    /// How many of them are passed.
    passed: usize,
}

#[derive(Clone, Debug)]
struct Page {
    /// Where it begins in the file, with its header.
    start: u64,
    /// Bytes of its header.
    header: usize,
    /// All of it, or only the header.
    bytes: Bytes,
    /// The row after its last.
    end_row: u64,
    /// Whether it is needed whatever rows are: a dictionary, or a page without rows, which is read on the way.
    stays: bool,
}

/// A column chunk.
#[derive(Debug)]
struct Column {
    leaf: usize,
    name: String,
    source: Source,
    window: u64,
    /// What is still to be asked for.
    rest: Range<u64>,
    under_way: Option<SpawnedTask<Result<Bytes, StoreError>>>,
    /// What came after the last whole page, and where that is.
    begun: Bytes,
    begun_at: u64,
    /// What came after that, until the page is whole.
    more: Vec<Bytes>,
    /// Bytes of the page that has begun, once its header is here.
    page: usize,
    /// Where the chunk begins and ends.
    start: u64,
    end: u64,
    /// For pages that are longer than a window.
    held: Vec<Held>,
    pages: Pages,
    /// Rows of all pages that have arrived.
    rows: u64,
    arrived: Arrived,
}

#[derive(Clone, Debug)]
struct Source {
    ledger: Arc<Ledger>,
    memory: Memory,
    connections: Arc<Semaphore>,
    wave: u64,
}

/// What has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Bytes of dictionaries among them.
    pub(crate) dictionaries: u64,
}

impl Streamed {
    /// Prepares to read a row group in windows of all columns, which together are about `most_bytes`, once
    /// there is memory for three of each: one that is decoded, one that has come and one that is under way.
    /// Nothing is asked for yet.
    ///
    /// # Errors
    /// When other scans hold that memory for too long.
    pub(crate) async fn start(
        (ledger, memory): (&Arc<Ledger>, &Memory),
        connections: &Arc<Semaphore>,
        read: &RowGroupRead,
        (wave, most_bytes): (u64, u64),
        name: impl Fn(usize) -> String,
    ) -> Result<Self, ScanError> {
        let total = read.bytes().max(1);
        let source = Source {
            ledger: Arc::clone(ledger),
            memory: memory.clone(),
            connections: Arc::clone(connections),
            wave,
        };
        let column = |leaf: usize, range: &Range<u64>| {
            let length = u128::from(range.end - range.start);
            let share = length * u128::from(most_bytes) / u128::from(total);
            let window = u64::try_from(share).unwrap_or(u64::MAX);
            Column {
                leaf,
                name: name(leaf),
                source: source.clone(),
                window: window.max(SHORTEST_WINDOW),
                rest: range.clone(),
                under_way: None,
                begun: Bytes::new(),
                begun_at: range.start,
                more: Vec::new(),
                page: 0,
                start: range.start,
                end: range.end,
                held: Vec::new(),
                pages: Pages::default(),
                rows: 0,
                arrived: Arrived::default(),
            }
        };
        let chunks = read.chunks.iter();
        let columns: Vec<Column> = chunks
            .flat_map(|chunk| chunk.ranges.iter().map(move |range| (chunk.leaf, range)))
            .map(|(leaf, range)| column(leaf, range))
            .collect();
        let windows: u64 = columns.iter().map(|column| column.window).sum();
        let held = memory.hold(total.min(3 * windows) + WORKING_BYTES).await?;
        Ok(Self {
            columns,
            _held: held,
        })
    }

    /// The pages of a leaf column.
    pub(crate) fn pages(&self, leaf: usize) -> Option<Pages> {
        let column = self.columns.iter().find(|column| column.leaf == leaf)?;
        Some(column.pages.clone())
    }

    /// Whether rows before `end` of some leaf columns are not here yet.
    pub(crate) fn lacks(&self, leaves: &[usize], end: u64) -> bool {
        let mut mine = self
            .columns
            .iter()
            .filter(|column| leaves.contains(&column.leaf));
        mine.any(|column| column.rows <= end && !column.is_whole())
    }

    /// Waits until the rows before `end` of some leaf columns are here, and lets go of those before the
    /// first of the rows `ahead` and between them. What comes behind these is kept.
    ///
    /// # Errors
    /// When the file cannot be read, or its pages are broken.
    pub(crate) async fn advance(
        &mut self,
        leaves: &[usize],
        end: u64,
        ahead: &VecDeque<Range<u64>>,
    ) -> Result<Arrived, ScanError> {
        let mut arrived = Arrived::default();
        let Some(done) = ahead.front().map(|range| range.start) else {
            return Ok(arrived);
        };
        let mine = |column: &&mut Column| leaves.contains(&column.leaf);
        // All at once, before one is waited for.
        let ask = |column: &mut Column| column.ask();
        self.columns.iter_mut().filter(mine).for_each(ask);
        for column in self.columns.iter_mut().filter(mine) {
            column.pages.pass(done);
            // The decoder may look at the header behind the last page that it needs.
            while column.rows <= end && !column.is_whole() {
                column.arrive(ahead).await?;
            }
            let more = std::mem::take(&mut column.arrived);
            arrived.bytes += more.bytes;
            arrived.dictionaries += more.dictionaries;
        }
        Ok(arrived)
    }
}

impl Column {
    fn is_whole(&self) -> bool {
        self.rest.is_empty() && self.under_way.is_none()
    }

    /// Sends the request for the next window.
    fn ask(&mut self) {
        if self.rest.is_empty() || self.under_way.is_some() {
            return;
        }
        let end = self
            .rest
            .end
            .min(self.rest.start.saturating_add(self.window));
        let range = self.rest.start..end;
        self.rest.start = end;
        let (source, why) = (self.source.clone(), format!("a part of {}", self.name));
        self.under_way = Some(SpawnedTask::spawn(async move {
            // Never closed; and without a permit the request may be sent all the same.
            let _connection = source.connections.acquire_owned().await.ok();
            source.ledger.read_in(source.wave, range, &why).await
        }));
    }

    /// Takes the window that comes next, asks for the one behind it and finds the pages in it.
    async fn arrive(&mut self, ahead: &VecDeque<Range<u64>>) -> Result<(), ScanError> {
        self.ask();
        let Some(under_way) = self.under_way.take() else {
            return Ok(());
        };
        let window = match under_way.join_unwind().await {
            Ok(bytes) => bytes?,
            // Only a runtime that shuts down cancels it.
            Err(error) => return Err(ScanError::Internal(error.to_string())),
        };
        self.ask();
        self.arrived.bytes += window.len() as u64;
        self.more.push(window);
        let here = self.begun.len() + self.more.iter().map(Bytes::len).sum::<usize>();
        if here < self.page {
            return Ok(());
        }
        self.begun = if let (true, [only]) = (self.begun.is_empty(), self.more.as_slice()) {
            only.clone()
        } else {
            let mut joined = BytesMut::with_capacity(here);
            joined.extend_from_slice(&self.begun);
            for part in &self.more {
                joined.extend_from_slice(part);
            }
            joined.freeze()
        };
        self.more.clear();
        self.page = 0;
        self.find_pages(ahead)
    }

    fn find_pages(&mut self, ahead: &VecDeque<Range<u64>>) -> Result<(), ScanError> {
        let corrupt = |reason: String| StoreError::Corrupt {
            path: self.source.ledger.url().to_owned(),
            reason: format!("column {}: {reason}", self.name),
        };
        let mut found = Vec::new();
        while !self.begun.is_empty() {
            let Some(header) = page_header(&self.begun).map_err(corrupt)? else {
                break;
            };
            let length = header.length.saturating_add(header.page);
            if length > self.end.saturating_sub(self.begun_at) {
                return Err(corrupt("a page is longer than its chunk".to_owned()).into());
            }
            let whole = usize::try_from(length).unwrap_or(usize::MAX);
            if whole > self.begun.len() {
                if length > self.window {
                    self.held.extend(self.source.memory.try_hold(length));
                }
                self.page = whole;
                break;
            }
            let rows = self.rows..self.rows.saturating_add(header.values);
            if header.is_dictionary {
                if self.begun_at > self.start {
                    return Err(corrupt("a dictionary is not its first page".to_owned()).into());
                }
                self.arrived.dictionaries += length;
            }
            let mut page = Page {
                start: self.begun_at,
                header: usize::try_from(header.length).unwrap_or(whole),
                bytes: self.begun.split_to(whole),
                end_row: rows.end,
                stays: header.values == 0,
            };
            if page.stays {
                // A copy, which does not hold the rest.
                page.bytes = Bytes::copy_from_slice(&page.bytes);
            } else if !is_wanted(ahead, &rows) {
                page.shrink();
            }
            found.push(page);
            self.begun_at += length;
            self.rows = rows.end;
        }
        let mut arrivals = self.pages.locked();
        arrivals.pages.extend(found);
        if arrivals.pages.len() > MOST_PAGES {
            return Err(corrupt("it has more pages than can be".to_owned()).into());
        }
        Ok(())
    }
}

/// Whether a page of these rows holds some of the ranges, which are ascending, or lies behind them.
fn is_wanted(ranges: &VecDeque<Range<u64>>, rows: &Range<u64>) -> bool {
    let first = ranges.partition_point(|range| range.end <= rows.start);
    match ranges.get(first) {
        Some(range) => range.start < rows.end,
        None => true,
    }
}

impl Page {
    /// Keeps the header only, in bytes of its own.
    fn shrink(&mut self) {
        if !self.stays && self.bytes.len() > self.header {
            let header = self.bytes.get(..self.header).unwrap_or_default();
            self.bytes = Bytes::copy_from_slice(header);
        }
    }
}

impl Pages {
    /// The bytes from a place in the file to the end of the page that it lies in, as far as they are kept.
    pub(crate) fn from(&self, start: u64) -> Option<Bytes> {
        let arrivals = self.locked();
        let pages = &arrivals.pages;
        let page = pages.partition_point(|page| page.start <= start);
        let page = pages.get(page.checked_sub(1)?)?;
        let skipped = usize::try_from(start - page.start).ok()?;
        (skipped <= page.bytes.len()).then(|| page.bytes.slice(skipped..))
    }

    /// Lets go of pages all of whose rows are before this one.
    fn pass(&self, row: u64) {
        let mut arrivals = self.locked();
        let Arrivals { pages, passed } = &mut *arrivals;
        while let Some(page) = pages.get_mut(*passed).filter(|page| page.end_row <= row) {
            page.shrink();
            *passed += 1;
        }
    }

    fn locked(&self) -> MutexGuard<'_, Arrivals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_between_the_rows_ahead_are_not_wanted() {
        let ahead: VecDeque<Range<u64>> = [10..20, 50..60].into();
        let wanted = |rows| is_wanted(&ahead, &rows);
        assert!(!wanted(0..10) && wanted(0..11) && wanted(19..30));
        assert!(!wanted(20..50) && wanted(59..61));
        // A later part of the same stage may want them.
        assert!(wanted(60..70));
    }

    #[test]
    fn of_passed_pages_the_headers_stay() {
        let page = |start: u64, end_row, stays| Page {
            start,
            header: 2,
            bytes: Bytes::from(vec![0; 10]),
            end_row,
            stays,
        };
        let pages = Pages::default();
        pages.locked().pages = vec![page(0, 0, true), page(10, 5, false), page(20, 9, false)];
        pages.pass(5);
        let length = |start| pages.from(start).map(|bytes| bytes.len());
        assert_eq!(
            [length(0), length(10), length(12), length(20)],
            [Some(10), Some(2), Some(0), Some(10)]
        );
        assert_eq!((length(13), length(25), length(31)), (None, Some(5), None));
    }
}
