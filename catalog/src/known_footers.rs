//! Which parts of which footers go along with a plan, so that scans need not read them first, and which of
//! those that scans send are believed.

use model::{DataFile, FieldId, FooterColumn, LearnedFooter, TableSchema};
use store::StoreProfile;
use store::footer_columns::join;

use crate::database::{ColumnsWanted, Database, FileId, KnownFooter};
use crate::index::TableIndex;
use crate::plan::PlanPart;

/// Files whose footers go along. Of more files than these, a scan opens some while it reads others.
const MOST_FILES: usize = 256;

/// Files whose footers are looked up at once: what is found may be more than there is room for.
const FILES_AT_ONCE: usize = 16;

/// Bytes of one file: a ticket has room for some files of this size.
const MOST_OF_A_FILE: usize = 256 * 1024;

/// What of footers is wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct FootersWanted {
    /// The columns that are read.
    pub(crate) read: Vec<FieldId>,
    /// Those of which bounds of pages are of use.
    pub(crate) judged: Vec<FieldId>,
    /// Bytes of all of them together.
    pub(crate) most_bytes: usize,
}

/// What a plan says of a file's footer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing that would be of use.
    #[default]
    Nothing,
    /// Nothing, but whoever reads it should tell.
    Wanted,
    /// What the scan needs.
    Here(Vec<FooterColumn>),
}

/// Whether reading a file's footer costs a scan more than being given it: not where it comes with the
/// rest of the file, nor from this machine's own disk.
pub(crate) fn worth_keeping(path: &str, size: u64) -> bool {
    let profile = StoreProfile::default_of(path);
    profile.waits_long() && size > profile.small_file()
}

/// Whether what a scan has sent can be the footer of a file as the table has it now.
pub(crate) fn is_plausible(index: &TableIndex, learned: &LearnedFooter) -> bool {
    let mut files = index.files.iter().map(|file| &file.file);
    let is_same = |file: &&DataFile| {
        file.path == learned.path
            && file.size == learned.size
            && file.version.as_ref() == Some(&learned.version)
    };
    let Some(file) = files.find(is_same) else {
        return false;
    };
    if !worth_keeping(&file.path, file.size) {
        return false;
    }
    let of_all_rows = |rows: u64| file.record_count.is_none_or(|count| count == rows);
    // Without columns it says that it is too large.
    learned.columns.is_empty()
        || join(&file.path, file, &learned.columns).is_ok_and(|footer| of_all_rows(footer.rows()))
}

/// Adds known footers to the files of a plan until there is enough.
#[derive(Debug)]
pub(crate) struct KnownFooters {
    database: Database,
    columns: ColumnsWanted,
    bytes_left: usize,
    files_left: usize,
}

impl KnownFooters {
    /// Those of a table's files. A column is found by its name or its id, whichever the table goes by.
    pub(crate) fn new(database: Database, wanted: &FootersWanted, schema: &TableSchema) -> Self {
        let ids = |fields: &[FieldId]| fields.iter().map(|field| field.0).collect();
        let names = |fields: &[FieldId]| {
            let known = fields.iter().filter_map(|field| schema.field(*field));
            known.map(|(_, field)| field.name().clone()).collect()
        };
        Self {
            database,
            columns: ColumnsWanted {
                names: names(&wanted.read),
                ids: ids(&wanted.read),
                judged: (names(&wanted.judged), ids(&wanted.judged)),
            },
            bytes_left: wanted.most_bytes,
            files_left: MOST_FILES,
        }
    }

    /// Adds what is known to the files among these.
    pub(crate) async fn add(&mut self, parts: &mut [PlanPart]) {
        let mut wanting = parts.iter_mut().filter_map(wanting);
        while self.bytes_left > 0 && self.files_left > 0 {
            let files = wanting.by_ref().take(FILES_AT_ONCE.min(self.files_left));
            let files: Vec<Wanting<'_>> = files.collect();
            if files.is_empty() {
                return;
            }
            self.files_left -= files.len();
            if let Err(error) = self.add_to(files).await {
                // Scans can do without.
                let error = wire::status::chain(&error);
                tracing::warn!(error, "no footers for a plan");
                return;
            }
        }
    }

    async fn add_to(&mut self, files: Vec<Wanting<'_>>) -> Result<(), crate::error::CatalogError> {
        let asked: Vec<_> = files.iter().map(|file| (file.id, &file.file)).collect();
        let mut known = self.database.footers(&asked, &self.columns).await?;
        for file in files {
            *file.known = match known.remove(&file.id) {
                None => Known::Wanted,
                Some(KnownFooter::TooLarge) => Known::Nothing,
                Some(KnownFooter::Columns(columns)) => self.taken(columns),
            };
        }
        Ok(())
    }

    /// The columns, when there is room for them.
    fn taken(&mut self, columns: Vec<FooterColumn>) -> Known {
        let size: usize = columns.iter().map(FooterColumn::size).sum();
        let left = self.bytes_left.checked_sub(size);
        match left.filter(|_| size > 0 && size <= MOST_OF_A_FILE) {
            Some(left) => {
                self.bytes_left = left;
                Known::Here(columns)
            }
            None => Known::Nothing,
        }
    }
}

/// A file that is to be scanned, whose footer is worth knowing.
struct Wanting<'a> {
    id: FileId,
    file: DataFile,
    known: &'a mut Known,
}

fn wanting(part: &mut PlanPart) -> Option<Wanting<'_>> {
    let PlanPart::File {
        index,
        position,
        footer,
        ..
    } = part
    else {
        return None;
    };
    let file = index.files.get(*position)?;
    if !worth_keeping(&file.file.path, file.file.size) {
        return None;
    }
    Some(Wanting {
        id: file.id?,
        file: file.file.clone(),
        known: footer,
    })
}
