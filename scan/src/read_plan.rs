//! Which bytes a scan needs: from the rows that can match to byte ranges. Pure.
//!
//! With an offset index, a column chunk is read page by page: its dictionary and the data pages that
//! hold a selected row, of lists too: where there is an offset index, pages begin with rows (parquet.thrift,
//! `PageLocation`). Without one the whole chunk is read.

use std::ops::Range;

use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::offset_index::PageLocation;

use crate::rows::RowSet;

/// The shortest average run of rows and gaps for which the decoder jumps over gaps. Below, it decodes
/// gaps too, and would miss pages that were not fetched.
pub(crate) const JUMPS_FROM: u64 = 32;

/// Where the bytes of one column chunk lie.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    /// The leaf column's position in the file.
    pub(crate) leaf: usize,
    /// All of the chunk.
    pub(crate) bytes: Range<u64>,
    /// Its dictionary page.
    pub(crate) dictionary: Option<Range<u64>>,
    /// Its data pages, when an offset index says where they are.
    pub(crate) pages: Option<Vec<PageSpan>>,
}

/// Where a data page lies and which rows it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageSpan {
    pub(crate) bytes: Range<u64>,
    pub(crate) rows: Range<u64>,
}

impl Chunk {
    /// The chunk of a leaf in a row group of `rows` rows. An offset index that contradicts the chunk
    /// is as good as none.
    pub(crate) fn new(
        leaf: usize,
        chunk: &ColumnChunkMetaData,
        offset_index: Option<&[PageLocation]>,
        rows: u64,
    ) -> Self {
        let (start, length) = chunk.byte_range();
        let bytes = start..start.saturating_add(length);
        let pages = offset_index.and_then(|locations| page_spans(locations, &bytes, rows));
        let dictionary_end = match &pages {
            Some(pages) => pages.first().map(|page| page.bytes.start),
            None => chunk
                .dictionary_page_offset()
                .and_then(|_| u64::try_from(chunk.data_page_offset()).ok()),
        };
        let dictionary = dictionary_end
            .map(|end| bytes.start..end)
            .filter(|dictionary| !dictionary.is_empty() && dictionary.end <= bytes.end);
        Self {
            leaf,
            bytes,
            dictionary,
            pages,
        }
    }
}

/// The pages of a chunk, or `None` unless they cover all rows in order and lie within the chunk.
pub(crate) fn page_spans(
    locations: &[PageLocation],
    chunk: &Range<u64>,
    rows: u64,
) -> Option<Vec<PageSpan>> {
    let mut spans: Vec<PageSpan> = Vec::with_capacity(locations.len());
    let mut floor = chunk.start;
    for (number, location) in locations.iter().enumerate() {
        let start = u64::try_from(location.offset).ok()?;
        let end = start.checked_add(u64::try_from(location.compressed_page_size).ok()?)?;
        let first = u64::try_from(location.first_row_index).ok()?;
        let next = match locations.get(number + 1) {
            Some(next) => u64::try_from(next.first_row_index).ok()?,
            None => rows,
        };
        let in_order = start >= floor && start < end && end <= chunk.end && first <= next;
        if !in_order || next > rows || (number == 0 && first != 0) {
            return None;
        }
        floor = end;
        spans.push(PageSpan {
            bytes: start..end,
            rows: first..next,
        });
    }
    (!spans.is_empty()).then_some(spans)
}

/// What to read of one column chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkRead {
    pub(crate) leaf: usize,
    /// Ascending and disjoint: the whole chunk, or the dictionary and some pages, each by itself.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Of `ranges`, the numbers of the pages that they are; empty when the whole chunk is read. The
    /// decoder must then be told where pages lie.
    pub(crate) by_page: Vec<usize>,
    pub(crate) pages: u64,
    pub(crate) dictionary_bytes: u64,
}

impl ChunkRead {
    /// Bytes that are needed, without holes.
    pub(crate) fn bytes(&self) -> u64 {
        self.ranges
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }

    /// Runs of what is read, in the words of the I/O log.
    pub(crate) fn described(&self) -> Vec<(Range<u64>, String)> {
        if self.by_page.is_empty() {
            let all = self
                .ranges
                .iter()
                .map(|range| (range.clone(), "all".to_owned()));
            return all.collect();
        }
        let dictionaries = self.ranges.len() - self.by_page.len();
        let (dictionary, pages) = self.ranges.split_at(dictionaries);
        let mut runs: Vec<(Range<u64>, Range<usize>)> = Vec::new();
        for (range, page) in pages.iter().zip(&self.by_page) {
            match runs.last_mut() {
                Some((last, numbers)) if numbers.end == *page && last.end == range.start => {
                    last.end = range.end;
                    numbers.end = page + 1;
                }
                _ => runs.push((range.clone(), *page..page + 1)),
            }
        }
        let name = |numbers: Range<usize>| match numbers.len() {
            1 => format!("page {}", numbers.start),
            _ => format!("pages {}-{}", numbers.start, numbers.end - 1),
        };
        let dictionary = dictionary
            .iter()
            .map(|range| (range.clone(), "dictionary".to_owned()));
        let pages = runs
            .into_iter()
            .map(|(range, numbers)| (range, name(numbers)));
        dictionary.chain(pages).collect()
    }
}

/// What to read of one row group in one pass.
#[derive(Clone, Debug)]
pub(crate) struct RowGroupRead {
    pub(crate) row_group: usize,
    /// The rows that can match and belong to the task.
    pub(crate) wanted: RowSet,
    /// The rows that need no filter.
    pub(crate) sure: RowSet,
    /// Whether these are all, so that the columns that only the filter needs are not read.
    pub(crate) settled: bool,
    /// How many stages can run with what is read.
    pub(crate) stages: usize,
    pub(crate) chunks: Vec<ChunkRead>,
}

impl RowGroupRead {
    /// Bytes that are needed, without holes.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(ChunkRead::bytes).sum()
    }
}

/// What to read of a chunk for some of the `rows_total` rows.
pub(crate) fn read_chunk(chunk: &Chunk, rows: &RowSet, rows_total: u64) -> ChunkRead {
    let dictionary_bytes = chunk
        .dictionary
        .as_ref()
        .map_or(0, |range| range.end - range.start);
    let whole = rows.covers(&(0..rows_total));
    let Some(pages) = chunk.pages.as_ref().filter(|_| !whole) else {
        return ChunkRead {
            leaf: chunk.leaf,
            ranges: vec![chunk.bytes.clone()],
            by_page: Vec::new(),
            pages: chunk.pages.as_ref().map_or(0, |pages| pages.len() as u64),
            dictionary_bytes,
        };
    };
    let read = pages
        .iter()
        .enumerate()
        .filter(|(_, page)| rows.overlaps(&page.rows));
    let (by_page, read): (Vec<usize>, Vec<Range<u64>>) = read
        .map(|(number, page)| (number, page.bytes.clone()))
        .unzip();
    ChunkRead {
        leaf: chunk.leaf,
        pages: read.len() as u64,
        ranges: chunk.dictionary.iter().cloned().chain(read).collect(),
        by_page,
        dictionary_bytes,
    }
}

/// The rows to decode for the rows that can match: the same, unless runs and gaps are so short that the
/// decoder would not jump over gaps; then some gaps are read too.
pub(crate) fn decodable(rows: &RowSet, rows_total: u64) -> RowSet {
    let mut decoded = rows.clone();
    let mut gap = JUMPS_FROM;
    while !jumps(&decoded) {
        decoded = rows.without_gaps_below(gap, rows_total);
        gap = gap.saturating_mul(2);
    }
    decoded
}

/// The same, when only the pages of `fetched`, which are decodable and hold all of `rows`, are there.
pub(crate) fn decodable_within(rows: &RowSet, fetched: &RowSet, rows_total: u64) -> RowSet {
    let within = decodable(rows, rows_total).intersect(fetched);
    if jumps(&within) {
        within
    } else {
        fetched.clone()
    }
}

/// Whether the decoder jumps over the gaps of these rows.
fn jumps(rows: &RowSet) -> bool {
    let last = rows.ranges().last().map_or(0, |range| range.end);
    let starts_late = rows.ranges().first().is_some_and(|range| range.start > 0);
    let runs = (rows.ranges().len() * 2).saturating_sub(1) as u64 + u64::from(starts_late);
    runs <= 1 || last >= runs * JUMPS_FROM
}

/// Row groups that are fetched together: as many as fit, at least one.
pub(crate) fn units<T>(row_groups: Vec<T>, bytes: impl Fn(&T) -> u64, most: u64) -> Vec<Vec<T>> {
    let mut units: Vec<Vec<T>> = Vec::new();
    let mut sum = 0;
    for row_group in row_groups {
        let more = bytes(&row_group);
        match units.last_mut() {
            Some(unit) if sum + more <= most => {
                sum += more;
                unit.push(row_group);
            }
            _ => {
                sum = more;
                units.push(vec![row_group]);
            }
        }
    }
    units
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    fn locations(pages: &[(i64, i32, i64)]) -> Vec<PageLocation> {
        let location =
            |(offset, compressed_page_size, first_row_index): &(i64, i32, i64)| PageLocation {
                offset: *offset,
                compressed_page_size: *compressed_page_size,
                first_row_index: *first_row_index,
            };
        pages.iter().map(location).collect()
    }

    fn chunk() -> Chunk {
        let pages = locations(&[(120, 30, 0), (150, 30, 100), (180, 20, 200)]);
        Chunk {
            leaf: 3,
            bytes: 100..200,
            dictionary: Some(100..120),
            pages: page_spans(&pages, &(100..200), 300),
        }
    }

    #[test]
    fn the_dictionary_and_the_pages_with_selected_rows_are_read() {
        let read = read_chunk(&chunk(), &RowSet::of([90..101, 299..300]), 300);
        assert_eq!(read.ranges, [100..120, 120..150, 150..180, 180..200]);
        let read = read_chunk(&chunk(), &RowSet::range(100..200), 300);
        assert_eq!(read.ranges, [100..120, 150..180]);
        assert_eq!(
            (read.pages, read.dictionary_bytes, read.by_page.as_slice()),
            (1, 20, &[1][..])
        );
    }

    #[test]
    fn a_chunk_is_read_whole_when_all_rows_are_or_no_page_is_known() {
        let read = read_chunk(&chunk(), &RowSet::range(0..300), 300);
        assert_eq!(
            (read.ranges.as_slice(), read.by_page.len()),
            (&[100..200][..], 0)
        );
        let blind = Chunk {
            pages: None,
            ..chunk()
        };
        let read = read_chunk(&blind, &RowSet::range(100..200), 300);
        assert_eq!(
            (read.ranges.as_slice(), read.by_page.len()),
            (&[100..200][..], 0)
        );
    }

    #[test]
    fn an_offset_index_that_contradicts_the_chunk_is_none() {
        let cases: [&[(i64, i32, i64)]; 7] = [
            &[],
            &[(120, 30, 5)],
            &[(120, 30, 0), (140, 30, 100)],
            &[(120, 30, 0), (150, 60, 100)],
            &[(90, 30, 0)],
            &[(120, 30, 0), (150, 30, 400)],
            &[(120, 0, 0)],
        ];
        for pages in cases {
            assert_eq!(
                page_spans(&locations(pages), &(100..200), 300),
                None,
                "{pages:?}"
            );
        }
    }

    #[test]
    fn short_runs_are_widened_until_the_decoder_jumps() {
        let cases = [
            (RowSet::range(0..1_000), RowSet::range(0..1_000)),
            (RowSet::of([0..50, 100..150]), RowSet::of([0..50, 100..150])),
            (RowSet::range(3..5), RowSet::range(0..5)),
            (RowSet::of([0..2, 10..12]), RowSet::range(0..12)),
            (
                RowSet::of([980..982, 990..991]),
                RowSet::of([980..982, 990..991]),
            ),
            (RowSet::of([30..32, 70..72, 90..92]), RowSet::range(0..92)),
        ];
        for (rows, decoded) in cases {
            assert_eq!(decodable(&rows, 1_000), decoded, "{rows:?}");
        }
    }

    #[test]
    fn what_is_decoded_was_fetched() {
        let fetched = RowSet::of([0..50, 100..150]);
        let within = |rows| decodable_within(&rows, &fetched, 1_000);
        assert_eq!(
            within(RowSet::of([10..45, 110..150])),
            RowSet::of([10..45, 110..150])
        );
        // Filling the gap would take pages that are not there.
        assert_eq!(
            within(RowSet::of([48..49, 101..102])),
            RowSet::of([0..50, 100..102])
        );
        let fetched = RowSet::of([0..50, 60..70, 80..90]);
        let within = |rows| decodable_within(&rows, &fetched, 1_000);
        assert_eq!(within(RowSet::of([49..50, 89..90])), fetched);
    }

    #[test]
    fn a_unit_takes_the_row_groups_that_fit() {
        let units = units(vec![60, 30, 20, 500, 10], |bytes| *bytes, 100);
        assert_eq!(units, [vec![60, 30], vec![20], vec![500], vec![10]]);
    }
}
