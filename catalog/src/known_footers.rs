//! Which parts of which footers go along with a plan, so that scans need not read them first.

use std::collections::HashSet;

use model::{FieldId, FooterColumn, TableSchema};
use store::StoreProfile;

use crate::database::{Database, FileId};
use crate::plan::PlanPart;

/// Files whose footers go along. Of more files than these, a scan opens some while it reads others.
const MOST_FILES: usize = 256;

/// What of footers is wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct FootersWanted {
    /// The columns that are read.
    pub(crate) read: Vec<FieldId>,
    /// Those of which bounds of pages are of use.
    pub(crate) judged: Vec<FieldId>,
    /// Whether it is of use to know where pages lie.
    pub(crate) pages: bool,
    /// Bytes of all of them together.
    pub(crate) most_bytes: usize,
}

/// What is known of a file's footer.
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

/// Adds known footers to the files of a plan until there is enough.
#[derive(Debug)]
pub(crate) struct KnownFooters {
    database: Database,
    wanted: FootersWanted,
    schema: TableSchema,
    files_left: usize,
}

impl KnownFooters {
    /// Those of a table's files.
    pub(crate) fn new(database: Database, wanted: FootersWanted, schema: TableSchema) -> Self {
        let files_left = if wanted.most_bytes > 0 { MOST_FILES } else { 0 };
        Self {
            database,
            wanted,
            schema,
            files_left,
        }
    }

    /// Adds what is known to the files among these.
    pub(crate) async fn add(&mut self, parts: &mut [PlanPart]) {
        let files = parts.iter().filter_map(wanting);
        let files: HashSet<FileId> = files.take(self.files_left).collect();
        if files.is_empty() {
            return;
        }
        self.files_left -= files.len();
        let mut known = match self.database.footers(files.iter().copied()).await {
            Ok(known) => known,
            Err(error) => {
                // Scans can do without.
                tracing::warn!(error = %wire::status::chain(&error), "no footers for a plan");
                return;
            }
        };
        for part in parts {
            let file = wanting(part).filter(|file| files.contains(file));
            let (Some(file), PlanPart::File { footer, .. }) = (file, part) else {
                continue;
            };
            let Some(columns) = known.remove(&file) else {
                *footer = Known::Wanted;
                continue;
            };
            let chosen = choose(columns, &self.wanted, &self.schema);
            let size: usize = chosen.iter().map(FooterColumn::size).sum();
            if let Some(left) = self.wanted.most_bytes.checked_sub(size) {
                self.wanted.most_bytes = left;
                *footer = Known::Here(chosen);
            }
        }
    }
}

/// The file of a part that is to be scanned, when its footer is worth knowing.
fn wanting(part: &PlanPart) -> Option<FileId> {
    let PlanPart::File {
        index, position, ..
    } = part
    else {
        return None;
    };
    let file = index.files.get(*position)?;
    file.id
        .filter(|_| worth_keeping(&file.file.path, file.file.size))
}

/// The parts of a footer that a scan of the wanted columns needs. A column is found by its name or its
/// id, whichever the table goes by; a file that holds none of them still says how many rows it has.
fn choose(
    columns: Vec<FooterColumn>,
    wanted: &FootersWanted,
    schema: &TableSchema,
) -> Vec<FooterColumn> {
    let is = |column: &FooterColumn, field: &FieldId| {
        let named = schema.field(*field).map(|(_, field)| field.name());
        column.field_id == Some(field.0) || named == Some(&column.name)
    };
    let first = columns.first().cloned();
    let mut chosen = columns;
    chosen.retain(|column| wanted.read.iter().any(|field| is(column, field)));
    if chosen.is_empty() {
        chosen.extend(first);
    }
    for column in &mut chosen {
        if !wanted.judged.iter().any(|field| is(column, field)) {
            column.column_indexes.clear();
        }
        if !wanted.pages {
            column.column_indexes.clear();
            column.offset_indexes.clear();
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};
    use model::FilePiece;

    use super::*;

    fn column(name: &str, field_id: Option<i32>) -> FooterColumn {
        let piece = |start| FilePiece {
            start,
            bytes: vec![0; 10],
        };
        FooterColumn {
            name: name.to_owned(),
            field_id,
            footer: vec![0; 100],
            column_indexes: vec![piece(1)],
            offset_indexes: vec![piece(2)],
        }
    }

    fn chosen(columns: &[FooterColumn], wanted: &FootersWanted) -> Vec<(String, usize, usize)> {
        let names = ["a", "b", "c"].map(|name| Field::new(name, DataType::Int64, true));
        let schema = TableSchema::numbered(&Schema::new(names.to_vec()));
        let chosen = choose(columns.to_vec(), wanted, &schema);
        let indexes = |column: FooterColumn| {
            let (columns, offsets) = (column.column_indexes, column.offset_indexes);
            (column.name, columns.len(), offsets.len())
        };
        chosen.into_iter().map(indexes).collect()
    }

    #[test]
    fn only_what_the_scan_needs_goes_along() {
        let named = [column("a", None), column("b", None), column("x", None)];
        let mut wanted = FootersWanted {
            read: vec![FieldId(1), FieldId(2)],
            judged: vec![FieldId(2)],
            pages: true,
            most_bytes: 1_000,
        };
        let one = |name: &str, columns, offsets| (name.to_owned(), columns, offsets);
        assert_eq!(chosen(&named, &wanted), [one("a", 0, 1), one("b", 1, 1)]);
        // An older name of the second column, and one that the file lacks.
        let numbered = [column("x", Some(9)), column("old", Some(2))];
        assert_eq!(chosen(&numbered, &wanted), [one("old", 1, 1)]);
        wanted.pages = false;
        wanted.read = vec![FieldId(3)];
        assert_eq!(chosen(&named, &wanted), [one("a", 0, 0)]);
    }

    #[test]
    fn footers_of_near_and_of_small_files_are_not_kept() {
        assert!(worth_keeping("s3://lake/orders/1.parquet", 10_000_000));
        assert!(!worth_keeping("s3://lake/orders/1.parquet", 10_000));
        assert!(!worth_keeping("file:///lake/orders/1.parquet", 10_000_000));
    }
}
