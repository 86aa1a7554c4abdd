//! A file whose footer is here: its columns as the table sees them, and the page indexes read so far.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::datatypes::SchemaRef;
use model::{ColumnMapping, Predicate, TableSchema};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use store::columns::{FileColumns, match_columns_of};
use store::footer::Footer;
use store::page_bounds::{page_bounds, page_rows};
use store::page_index::{ChunkIndex, IndexesWanted, column_index, offset_index, read_page_indexes};
use store::{Fetched, Ledger, arrow_schema};

use crate::error::ScanError;
use crate::footers::Account;
use crate::pages::{ColumnPages, Page};

/// A file's footer and the indexes that were read with it. Knows no table.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    path: String,
    footer: Footer,
    /// Its columns as Arrow has them, once somebody asked.
    schema: OnceLock<SchemaRef>,
    /// Page indexes that came with a task.
    given: Fetched,
    indexes: Mutex<HashMap<(usize, usize), Known>>,
    /// Bytes of memory of the footer and the indexes, about.
    memory: AtomicU64,
    account: Option<Account>,
}

/// What is known of the indexes of one chunk.
#[derive(Clone, Debug)]
struct Known {
    /// Whether the column index was asked for too.
    judged: bool,
    index: Option<Arc<ChunkIndex>>,
}

/// Indexes by row group and leaf column.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    chunks: HashMap<(usize, usize), Arc<ChunkIndex>>,
    /// Bytes that were decoded for them now.
    pub(crate) bytes: u64,
}

impl Indexes {
    pub(crate) fn get(&self, row_group: usize, leaf: usize) -> Option<&ChunkIndex> {
        self.chunks.get(&(row_group, leaf)).map(Arc::as_ref)
    }
}

impl OpenedFile {
    /// A file whose footer has been read. Bytes beside the footer are let go.
    pub(crate) fn new(path: &str, footer: &Footer) -> Self {
        Self {
            path: path.to_owned(),
            footer: footer.without_tail(),
            schema: OnceLock::new(),
            given: Fetched::default(),
            indexes: Mutex::default(),
            memory: AtomicU64::new(footer.metadata.memory_size() as u64),
            account: None,
        }
    }

    /// A file whose footer came with a task, and page indexes with it.
    pub(crate) fn given(path: &str, footer: &Footer) -> Self {
        Self {
            given: footer.tail.clone(),
            ..Self::new(path, footer)
        }
    }

    /// The same, which says there when it has grown.
    pub(crate) fn with_account(self, account: Account) -> Self {
        let account = Some(account);
        Self { account, ..self }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Where columns end, and page indexes or the footer begin.
    pub(crate) fn columns_end(&self) -> u64 {
        let footer = self.footer.size.saturating_sub(self.footer.footer_length);
        self.footer.page_index.map_or(footer, |span| span.start)
    }

    pub(crate) fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.footer.metadata
    }

    /// Where the columns of a table are in this file.
    ///
    /// # Errors
    /// When the file has a column of a type that Arrow lacks.
    pub(crate) fn columns(
        &self,
        table: &TableSchema,
        mapping: ColumnMapping,
    ) -> Result<FileColumns, ScanError> {
        let metadata = self.metadata();
        let schema = if let Some(schema) = self.schema.get() {
            schema
        } else {
            let schema = arrow_schema(&self.path, metadata)?;
            self.schema.get_or_init(|| schema)
        };
        Ok(match_columns_of(
            Arc::clone(schema),
            metadata,
            table,
            mapping,
        ))
    }

    /// Bytes of memory, about.
    pub(crate) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// The indexes of the wanted chunks: those known, and the rest from `tail` or in one wave.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) async fn indexes(
        &self,
        ledger: &Ledger,
        tail: &Fetched,
        wanted: IndexesWanted<'_>,
    ) -> Result<Indexes, ScanError> {
        let mut indexes = self.known(wanted);
        let row_groups: Vec<usize> = wanted
            .row_groups
            .iter()
            .copied()
            .filter(|row_group| self.lacks(*row_group, wanted))
            .collect();
        if row_groups.is_empty() {
            return Ok(indexes);
        }
        let missing = IndexesWanted {
            row_groups: &row_groups,
            ..wanted
        };
        let footer = Footer {
            tail: tail.and(&self.given),
            ..self.footer.clone()
        };
        let read = read_page_indexes(ledger, &footer, missing).await?;
        for (row_group, leaf, judged) in chunks(missing) {
            let index = read.chunk(row_group, leaf).cloned();
            if let Some(index) = &index {
                indexes.bytes += self.read_bytes(row_group, leaf, index);
                indexes.chunks.insert((row_group, leaf), Arc::clone(index));
            }
            self.keep((row_group, leaf), Known { judged, index });
        }
        if let Some(account) = &self.account {
            account.weigh(self.memory());
        }
        Ok(indexes)
    }

    fn keep(&self, chunk: (usize, usize), known: Known) {
        let memory = |known: &Known| {
            let index = known.index.as_ref();
            index.map_or(0, |index| self.index_memory(chunk, index))
        };
        let more = memory(&known);
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let before = indexes.insert(chunk, known);
        let less = before.as_ref().map_or(0, memory);
        self.memory.fetch_add(more, Ordering::Relaxed);
        self.memory.fetch_sub(less, Ordering::Relaxed);
    }

    /// Bytes of memory of a chunk's indexes, about: what they are decoded from, and a few words for each
    /// page.
    fn index_memory(&self, (row_group, leaf): (usize, usize), index: &ChunkIndex) -> u64 {
        let pages = index.pages.page_locations().len() as u64;
        let words = if index.columns.is_some() { 15 } else { 3 };
        self.index_bytes(row_group, leaf, index) + pages * words * 8
    }

    fn known(&self, wanted: IndexesWanted<'_>) -> Indexes {
        let known = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let chunks = chunks(wanted).filter_map(|(row_group, leaf, judged)| {
            let known = known.get(&(row_group, leaf))?;
            let enough = known.judged || !judged;
            let index = known.index.clone().filter(|_| enough)?;
            Some(((row_group, leaf), index))
        });
        Indexes {
            chunks: chunks.collect(),
            bytes: 0,
        }
    }

    fn lacks(&self, row_group: usize, wanted: IndexesWanted<'_>) -> bool {
        let known = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let one = IndexesWanted {
            row_groups: &[row_group],
            ..wanted
        };
        chunks(one).any(|(row_group, leaf, judged)| {
            !known
                .get(&(row_group, leaf))
                .is_some_and(|known| known.judged || !judged)
        })
    }

    fn index_bytes(&self, row_group: usize, leaf: usize, index: &ChunkIndex) -> u64 {
        let length = |length: Option<i32>| length.map_or(0, |length| length.unsigned_abs().into());
        self.chunk(row_group, leaf).map_or(0, |chunk| {
            let columns = index.columns.as_ref().and(chunk.column_index_length());
            length(chunk.offset_index_length()) + length(columns)
        })
    }

    /// The bytes of a chunk's indexes that did not come with a task.
    fn read_bytes(&self, row_group: usize, leaf: usize, index: &ChunkIndex) -> u64 {
        let Some(chunk) = self.chunk(row_group, leaf) else {
            return 0;
        };
        let columns = index.columns.as_ref().and_then(|_| column_index(chunk));
        let ranges = offset_index(chunk).into_iter().chain(columns);
        ranges
            .filter(|range| self.given.get(range).is_none())
            .map(|range| range.end - range.start)
            .sum()
    }

    /// The pages of the predicate's columns in a row group, where a column index judges them.
    pub(crate) fn judged_pages(
        &self,
        row_group: usize,
        predicate: &Predicate,
        columns: &FileColumns,
        indexes: &Indexes,
    ) -> Vec<ColumnPages> {
        let judged = predicate.fields().into_iter().filter_map(|field| {
            let column = columns.find(field)?;
            let index = indexes
                .get(row_group, column.leaves.start)
                .filter(|_| column.flat)?;
            let bounds = page_bounds(self.metadata(), row_group, column, index)?;
            let rows = page_rows(&index.pages, self.rows(row_group));
            let pages = rows.into_iter().zip(bounds).map(|(rows, bounds)| Page {
                rows: rows.start..rows.end,
                bounds,
            });
            Some(ColumnPages {
                field,
                pages: pages.collect(),
            })
        });
        judged.collect()
    }

    /// A column chunk.
    pub(crate) fn chunk(&self, row_group: usize, leaf: usize) -> Option<&ColumnChunkMetaData> {
        self.metadata()
            .row_groups()
            .get(row_group)?
            .columns()
            .get(leaf)
    }

    /// The file's size.
    pub(crate) fn size(&self) -> u64 {
        self.footer.size
    }

    /// The name of a leaf column, for messages.
    pub(crate) fn column_name(&self, leaf: usize) -> String {
        let schema = self.metadata().file_metadata().schema_descr();
        let column = schema.columns().get(leaf);
        column.map_or_else(|| leaf.to_string(), |column| column.path().string())
    }

    /// The rows of a row group.
    pub(crate) fn rows(&self, row_group: usize) -> u64 {
        let group = self.metadata().row_groups().get(row_group);
        group.map_or(0, |group| group.num_rows().unsigned_abs())
    }
}

/// Every wanted chunk once, and whether its pages are judged.
fn chunks(wanted: IndexesWanted<'_>) -> impl Iterator<Item = (usize, usize, bool)> {
    wanted.row_groups.iter().flat_map(move |row_group| {
        let judged = wanted.judged.iter().map(|leaf| (*row_group, *leaf, true));
        let read = wanted
            .read
            .iter()
            .filter(move |leaf| !wanted.judged.contains(leaf));
        judged.chain(read.map(|leaf| (*row_group, *leaf, false)))
    })
}
