//! Parquet files that no writer of ours makes: of a sound file, the footer and the page indexes are changed
//! field by field. They only describe the pages, so the rows stay the same.
//!
//! Fields have the numbers of parquet.thrift.

use super::compact::{Fields, Value, decoded, encoded, list};

/// In `FileMetaData`: the row groups, and the orders of the columns.
const ROW_GROUPS: i16 = 4;
pub(crate) const COLUMN_ORDERS: i16 = 7;
/// In `RowGroup`.
const CHUNKS: i16 = 1;
/// In `ColumnChunk`.
const META: i16 = 3;
const OFFSET_INDEX: [i16; 2] = [4, 5];
const COLUMN_INDEX: [i16; 2] = [6, 7];
/// In `ColumnMetaData`.
const STATISTICS: i16 = 12;
pub(crate) const ENCODING_STATS: i16 = 13;
/// In `Statistics`.
pub(crate) const OLD_MAX: i16 = 1;
pub(crate) const OLD_MIN: i16 = 2;
pub(crate) const NULL_COUNT: i16 = 3;
pub(crate) const MAX: i16 = 5;
pub(crate) const MIN: i16 = 6;
pub(crate) const MAX_IS_EXACT: i16 = 7;
pub(crate) const MIN_IS_EXACT: i16 = 8;
/// In `ColumnIndex`.
pub(crate) const NULL_PAGES: i16 = 1;
const PAGE_MINS: i16 = 2;
const PAGE_MAXS: i16 = 3;
pub(crate) const PAGE_NULL_COUNTS: i16 = 5;
/// In `OffsetIndex`, and in each of its locations.
pub(crate) const LOCATIONS: i16 = 1;
pub(crate) const FIRST_ROW: i16 = 3;

/// A file whose descriptions can be changed.
#[derive(Debug)]
pub(crate) struct OddFile {
    /// The file up to its footer. The indexes that it had stay there, and nothing refers to them any more.
    pages: Vec<u8>,
    /// `FileMetaData`, without what is in `chunks`.
    pub(crate) footer: Fields,
    /// The column chunks, row group by row group.
    pub(crate) chunks: Vec<OddChunk>,
}

/// What a file says of a column chunk.
#[derive(Debug)]
pub(crate) struct OddChunk {
    pub(crate) row_group: usize,
    /// The column's position among the leaves.
    pub(crate) leaf: usize,
    /// `ColumnMetaData`.
    pub(crate) meta: Fields,
    /// `ColumnIndex`.
    pub(crate) columns: Option<Fields>,
    /// `OffsetIndex`.
    pub(crate) offsets: Option<Fields>,
}

impl OddFile {
    /// Takes a sound file apart.
    pub(crate) fn of(file: &[u8]) -> Self {
        let (rest, tail) = file.split_at(file.len() - 8);
        let length = u32::from_le_bytes(*tail.first_chunk().unwrap());
        let (pages, footer) = rest.split_at(rest.len() - usize::try_from(length).unwrap());
        let mut footer = decoded(footer);
        let mut chunks = Vec::new();
        for (row_group, group) in structs(&mut footer, ROW_GROUPS).enumerate() {
            for (leaf, chunk) in structs(group, CHUNKS).enumerate() {
                let offsets = taken_index(chunk, OFFSET_INDEX, file);
                let columns = taken_index(chunk, COLUMN_INDEX, file);
                let Some(Value::Struct(meta)) = chunk.remove(&META) else {
                    panic!("a chunk is not described");
                };
                chunks.push(OddChunk {
                    row_group,
                    leaf,
                    meta,
                    columns,
                    offsets,
                });
            }
        }
        Self {
            pages: pages.to_vec(),
            footer,
            chunks,
        }
    }

    /// Adds bytes behind the pages and says where they begin.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> i64 {
        let start = self.pages.len();
        self.pages.extend(bytes);
        i64::try_from(start).unwrap()
    }

    /// The file with its new descriptions.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let Self {
            pages: mut file,
            mut footer,
            chunks,
        } = self;
        let mut chunks = chunks.into_iter();
        for group in structs(&mut footer, ROW_GROUPS) {
            for shell in structs(group, CHUNKS) {
                let chunk = chunks.next().unwrap();
                shell.insert(META, Value::Struct(chunk.meta));
                for (index, place) in [(chunk.offsets, OFFSET_INDEX), (chunk.columns, COLUMN_INDEX)]
                {
                    let Some(index) = index else { continue };
                    let start = file.len();
                    file.extend(encoded(&index));
                    let length = file.len() - start;
                    shell.insert(place[0], Value::Int(6, i64::try_from(start).unwrap()));
                    shell.insert(place[1], Value::Int(5, i64::try_from(length).unwrap()));
                }
            }
        }
        let start = file.len();
        file.extend(encoded(&footer));
        let length = u32::try_from(file.len() - start).unwrap();
        file.extend(length.to_le_bytes());
        file.extend(b"PAR1");
        file
    }
}

impl OddChunk {
    /// The statistics of the whole chunk.
    pub(crate) fn statistics(&mut self) -> &mut Fields {
        let statistics = self.meta.entry(STATISTICS);
        statistics
            .or_insert_with(|| Value::Struct(Fields::new()))
            .fields()
    }

    /// Puts these bounds in the place of those of the chunk, and of each page that is not all null.
    pub(crate) fn set_bounds(&mut self, min: &[u8], max: &[u8]) {
        let statistics = self.statistics();
        statistics.insert(MIN, Value::Bytes(min.to_vec()));
        statistics.insert(MAX, Value::Bytes(max.to_vec()));
        let Some(columns) = &mut self.columns else {
            return;
        };
        let null_pages = list(columns, NULL_PAGES).clone();
        for (id, bound) in [(PAGE_MINS, min), (PAGE_MAXS, max)] {
            for (page, is_null) in list(columns, id).iter_mut().zip(&null_pages) {
                if *is_null == Value::Bool(false) {
                    *page = Value::Bytes(bound.to_vec());
                }
            }
        }
    }

    /// Leaves out that the bounds of the chunk are values of it.
    pub(crate) fn mark_bounds_as_cut(&mut self) {
        let statistics = self.statistics();
        statistics.remove(&MIN_IS_EXACT);
        statistics.remove(&MAX_IS_EXACT);
    }

    /// Leaves out both page indexes, so that the chunk is judged as a whole.
    pub(crate) fn forget_pages(&mut self) {
        self.columns = None;
        self.offsets = None;
    }
}

fn structs(fields: &mut Fields, id: i16) -> impl Iterator<Item = &mut Fields> {
    list(fields, id).iter_mut().map(Value::fields)
}

fn taken_index(chunk: &mut Fields, place: [i16; 2], file: &[u8]) -> Option<Fields> {
    let [start, length] = place.map(|id| match chunk.remove(&id) {
        Some(Value::Int(_, number)) => usize::try_from(number).ok(),
        _ => None,
    });
    let (start, length) = (start?, length?);
    Some(decoded(&file[start..start + length]))
}
