//! Column and offset indexes of the chunks that are needed, each decoded by itself.
//!
//! An index that is missing, broken or contradicts the footer is as if it were not there: the chunk is
//! then read whole. One such chunk never costs another its index.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
    RowGroupMetaData,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::error::StoreError;
use crate::fetched::Fetched;
use crate::footer::{Footer, span};
use crate::guard::{guarded, plain};
use crate::ledger::Ledger;
use crate::profile::coalesce;
use crate::thrift;

/// The indexes of one column chunk.
#[derive(Clone, Debug)]
pub struct ChunkIndex {
    /// Where the pages lie and which rows they hold; checked against the footer.
    pub pages: OffsetIndexMetaData,
    /// Bounds of the pages, when they were asked for and are there.
    pub columns: Option<ColumnIndexMetaData>,
}

/// Indexes by row group and leaf.
#[derive(Clone, Debug, Default)]
pub struct PageIndexes {
    chunks: HashMap<(usize, usize), Arc<ChunkIndex>>,
}

/// Which indexes to read.
#[derive(Clone, Copy, Debug)]
pub struct IndexesWanted<'a> {
    /// The row groups that are left.
    pub row_groups: &'a [usize],
    /// Leaves whose pages are judged: both indexes are read.
    pub judged: &'a [usize],
    /// Leaves that are only read: the offset index is enough.
    pub read: &'a [usize],
}

impl PageIndexes {
    /// The indexes of a chunk, when it has usable ones.
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Option<&Arc<ChunkIndex>> {
        self.chunks.get(&(row_group, leaf))
    }
}

/// Reads and decodes the wanted indexes: from the bytes that came with the footer where they hold them,
/// the rest in one wave.
///
/// # Errors
/// When the file cannot be read.
pub async fn read_page_indexes(
    ledger: &Ledger,
    footer: &Footer,
    wanted: IndexesWanted<'_>,
) -> Result<PageIndexes, StoreError> {
    let spans = spans(footer, wanted);
    let held = |range: &Range<u64>| footer.tail.get(range).is_some();
    let missing: Vec<_> = spans
        .iter()
        .flat_map(|chunk| [Some(chunk.offsets.clone()), chunk.columns.clone()])
        .flatten()
        .filter(|range| !held(range))
        .collect();
    let requests = coalesce(missing, &ledger.location().profile());
    let bytes = ledger.read(requests.clone(), "page index").await?;
    let fetched = Fetched::new(&requests, bytes);
    let find = |range: &Range<u64>| footer.tail.get(range).or_else(|| fetched.get(range));
    let mut indexes = PageIndexes::default();
    for chunk in &spans {
        let offsets = find(&chunk.offsets);
        let columns = chunk.columns.as_ref().and_then(find);
        let index = offsets.and_then(|offsets| {
            decode_chunk(
                &footer.metadata,
                footer.size,
                chunk,
                &offsets,
                columns.as_ref(),
            )
        });
        if let Some(index) = index {
            indexes
                .chunks
                .insert((chunk.row_group, chunk.leaf), Arc::new(index));
        }
    }
    Ok(indexes)
}

/// Where the indexes of one chunk lie.
struct ChunkSpans {
    row_group: usize,
    leaf: usize,
    offsets: Range<u64>,
    columns: Option<Range<u64>>,
}

fn spans(footer: &Footer, wanted: IndexesWanted<'_>) -> Vec<ChunkSpans> {
    let mut spans: Vec<ChunkSpans> = Vec::new();
    let judged = wanted.judged.iter().map(|leaf| (*leaf, true));
    let only_read = wanted
        .read
        .iter()
        .filter(|leaf| !wanted.judged.contains(leaf));
    let leaves: Vec<_> = judged.chain(only_read.map(|leaf| (*leaf, false))).collect();
    for row_group in wanted.row_groups {
        for (leaf, judged) in &leaves {
            let group = footer.metadata.row_groups().get(*row_group);
            let Some(chunk) = group.and_then(|group| group.columns().get(*leaf)) else {
                continue;
            };
            let inside = |range: &Range<u64>| !range.is_empty() && range.end <= footer.size;
            let (offsets, columns) = (offset_index(chunk), column_index(chunk));
            if let Some(offsets) = offsets.filter(inside) {
                spans.push(ChunkSpans {
                    row_group: *row_group,
                    leaf: *leaf,
                    offsets,
                    columns: columns.filter(|range| *judged && inside(range)),
                });
            }
        }
    }
    spans
}

/// Where a chunk's column index lies, when it has one.
pub fn column_index(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    span(
        chunk.column_index_offset()?,
        chunk.column_index_length()?.into(),
    )
}

/// Where a chunk's offset index lies, when it has one.
pub fn offset_index(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    span(
        chunk.offset_index_offset()?,
        chunk.offset_index_length()?.into(),
    )
}

fn decode_chunk(
    metadata: &ParquetMetaData,
    size: u64,
    spans: &ChunkSpans,
    offsets: &Bytes,
    columns: Option<&Bytes>,
) -> Option<ChunkIndex> {
    let group = metadata.row_groups().get(spans.row_group)?;
    let chunk = group.columns().get(spans.leaf)?;
    let both = columns.and_then(|columns| decode(chunk, offsets, Some(columns)));
    let (pages, columns) = both.or_else(|| decode(chunk, offsets, None))?;
    if !pages_are_sound(pages.page_locations(), group.num_rows(), size) {
        return None;
    }
    let columns = columns.filter(|index| {
        !matches!(index, ColumnIndexMetaData::NONE)
            && index.num_pages() == pages.page_locations().len() as u64
    });
    Some(ChunkIndex { pages, columns })
}

/// Decodes one chunk's indexes. The Parquet crate decodes all indexes of a file or none, so it is shown
/// a file that has this chunk only.
fn decode(
    chunk: &ColumnChunkMetaData,
    offsets: &Bytes,
    columns: Option<&Bytes>,
) -> Option<(OffsetIndexMetaData, Option<ColumnIndexMetaData>)> {
    thrift::check(offsets, thrift::OFFSET_INDEX).ok()?;
    if let Some(columns) = columns {
        thrift::check(columns, thrift::COLUMN_INDEX).ok()?;
    }
    let whole = Bytes::from(
        [offsets, columns.unwrap_or(&Bytes::new())]
            .map(Bytes::as_ref)
            .concat(),
    );
    let lone = lone_chunk(chunk, offsets.len(), columns.map(Bytes::len))?;
    let decoded = guarded("", || {
        let mut reader = ParquetMetaDataReader::new_with_metadata(lone)
            .with_page_index_policy(PageIndexPolicy::Optional);
        // One byte more than there is: the reader takes a range that ends with the file for garbage.
        let size = whole.len() as u64 + 1;
        let padded = Bytes::from([whole.as_ref(), &[0]].concat());
        let indexes = reader.read_page_indexes_sized(&padded, size);
        indexes.and_then(|()| reader.finish()).map_err(plain)
    });
    let mut builder = decoded.ok()?.into_builder();
    let columns = builder.take_column_index().and_then(only);
    Some((builder.take_offset_index().and_then(only)?, columns))
}

fn only<T>(nested: Vec<Vec<T>>) -> Option<T> {
    nested.into_iter().next()?.into_iter().next()
}

fn lone_chunk(
    chunk: &ColumnChunkMetaData,
    offsets: usize,
    columns: Option<usize>,
) -> Option<ParquetMetaData> {
    let leaf = chunk.column_descr().self_type_ptr();
    let root = Type::group_type_builder("root")
        .with_fields(vec![leaf])
        .build()
        .ok()?;
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(root)));
    let offsets = i32::try_from(offsets).ok()?;
    let columns = columns.and_then(|length| i32::try_from(length).ok());
    let lone = ColumnChunkMetaData::builder(schema.column(0))
        .set_offset_index_offset(Some(0))
        .set_offset_index_length(Some(offsets))
        .set_column_index_offset(columns.map(|_| offsets.into()))
        .set_column_index_length(columns)
        .build()
        .ok()?;
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_column_metadata(vec![lone])
        .build()
        .ok()?;
    let file = FileMetaData::new(1, 0, None, None, schema, None);
    Some(ParquetMetaData::new(file, vec![group]))
}

/// Pages must begin with the first row, follow each other and lie in the file.
fn pages_are_sound(pages: &[PageLocation], rows: i64, size: u64) -> bool {
    let starts_first = pages.first().is_some_and(|page| page.first_row_index == 0);
    let ascending = pages
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.first_row_index < b.first_row_index));
    let ends_inside = pages
        .last()
        .is_some_and(|page| page.first_row_index < rows.max(1));
    let inside = pages.iter().all(|page| {
        page.compressed_page_size > 0
            && span(page.offset, page.compressed_page_size.into())
                .is_some_and(|range| range.end <= size)
    });
    starts_first && ascending && ends_inside && inside
}
