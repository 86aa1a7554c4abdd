//! Reading footers: each once, many at a time, and only what they say of the file is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{StreamExt, TryStreamExt, stream};
use model::{ColumnMapping, DataFile, FooterColumn, TableSchema};
use store::footer::{Footer, FooterHint, read_footer, read_footer_and_indexes};
use store::footer_columns::{MOST_KEPT, is_too_large, split};
use store::{Ledger, arrow_schema, file_bounds, hive, match_columns};

use super::Report;
use super::changes::progress;
use super::objects::Listed;
use crate::error::CatalogError;
use crate::known_footers::worth_keeping;
use crate::table::FileFacts;

/// Footers under way at once.
const PARALLEL: usize = 32;

/// Bytes of footers that are kept at most of files that are read together.
const MOST_OF_ALL: usize = 256 * 1024 * 1024;

/// Reads the footers of files; `kept` files count as done already. The first file, in the given order,
/// that cannot be read ends the work.
pub(super) async fn read(
    files: Vec<Listed>,
    kept: usize,
    report: Report<'_>,
) -> Result<Vec<FileFacts>, CatalogError> {
    let fresh = files.len();
    report(progress(kept, fresh, 0));
    let room = Arc::new(AtomicUsize::new(MOST_OF_ALL));
    let mut reads = stream::iter(files)
        .map(|file| Reading(tokio::spawn(read_one(file, Arc::clone(&room)))))
        .map(Reading::finished)
        .buffered(PARALLEL);
    let mut facts: Vec<FileFacts> = Vec::with_capacity(fresh);
    while let Some(mut next) = reads.try_next().await? {
        // Most files share one schema; one copy of it is enough.
        if let Some(same) = facts.last().filter(|last| last.schema == next.schema) {
            next.schema = Arc::clone(&same.schema);
        }
        facts.push(next);
        report(progress(kept, fresh, facts.len() as u64));
    }
    Ok(facts)
}

/// A footer read on a thread of its own, given up when nobody waits for it any more.
struct Reading(tokio::task::JoinHandle<Result<FileFacts, CatalogError>>);

impl Reading {
    async fn finished(mut self) -> Result<FileFacts, CatalogError> {
        match (&mut self.0).await {
            Ok(facts) => facts,
            Err(error) => Err(CatalogError::Interrupted(error.to_string())),
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reads a footer and, while there is room for more to be kept, the page indexes with it.
async fn read_one(file: Listed, room: Arc<AtomicUsize>) -> Result<FileFacts, CatalogError> {
    let ledger = Ledger::new(file.location).expecting(Some(file.version.clone()));
    let hint = FooterHint::default();
    let is_kept = worth_keeping(ledger.url(), file.size) && room.load(Ordering::Relaxed) > 0;
    let footer = if is_kept {
        read_footer_and_indexes(&ledger, Some(file.size), hint, MOST_KEPT).await?
    } else {
        read_footer(&ledger, Some(file.size), hint).await?
    };
    let (path, metadata) = (ledger.url(), &footer.metadata);
    let schema = arrow_schema(path, metadata)?;
    let own = TableSchema::numbered(&schema);
    let columns = match_columns(path, metadata, &own, ColumnMapping::ByName)?;
    Ok(FileFacts {
        file: DataFile {
            path: path.to_owned(),
            size: footer.size,
            version: Some(file.version),
            record_count: Some(footer.rows()),
            footer_length: Some(footer.footer_length),
            page_index: footer.page_index,
        },
        partitions: hive::partition_values(&file.relative),
        bounds: file_bounds(metadata, &columns),
        footer: is_kept.then(|| kept(&footer, &room)).flatten(),
        schema,
    })
}

/// The columns of a footer, none of one that is too large to be kept; nothing when there is no room, or when
/// the page indexes were not read: whoever scans the file tells.
fn kept(footer: &Footer, room: &AtomicUsize) -> Option<Vec<FooterColumn>> {
    if is_too_large(footer) {
        return Some(Vec::new());
    }
    let columns = split(footer)?;
    let size = columns.iter().map(FooterColumn::size).sum();
    let take = |left: usize| left.checked_sub(size).or(Some(0));
    let left = room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    left.is_ok_and(|left| left >= size).then_some(columns)
}
