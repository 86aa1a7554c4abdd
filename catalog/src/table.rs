//! Tables, snapshots and files as the catalog knows them. Owns no storage and no wire form.

use arrow_schema::SchemaRef;
use model::{
    ColumnBounds, ColumnMapping, DataFile, FieldId, FooterColumn, SnapshotId, TableName,
    TableSchema,
};

/// The identity of a table: a table that is dropped and made again is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableId(pub(crate) i64);

/// Who owns a table's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// Somebody else: the files under a location are the table.
    Listing,
    /// Fulmar: Iceberg metadata says which files are the table.
    Managed,
}

/// What the user fixed when the table was made, and which a refresh must honour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Declaration {
    /// The partition columns; when empty, every `key=value` folder is one.
    pub(crate) partition_columns: Vec<String>,
    /// The columns; when missing, the footers decide.
    pub(crate) schema: Option<SchemaRef>,
}

/// What is the same in all snapshots of a table.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The name.
    pub(crate) name: TableName,
    /// Who owns the files.
    pub(crate) kind: TableKind,
    /// Where the files are, as a canonical URL.
    pub(crate) location: String,
    /// How columns are found in files.
    pub(crate) mapping: ColumnMapping,
    /// What the user fixed.
    pub(crate) declaration: Declaration,
    /// Where other engines open a managed table.
    pub(crate) metadata_location: Option<String>,
}

/// A table as it is at one snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Its identity.
    pub(crate) id: TableId,
    /// What all snapshots share.
    pub(crate) definition: Definition,
    /// The largest field id that was ever given.
    pub(crate) last_field_id: i32,
    /// The snapshot.
    pub(crate) snapshot: Snapshot,
}

impl Table {
    /// The table's name.
    pub(crate) fn name(&self) -> &TableName {
        &self.definition.name
    }
}

/// One state of a table.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Its identity.
    pub(crate) id: SnapshotId,
    /// Its place in the table's history, from 1.
    pub(crate) sequence_number: i64,
    /// When it was committed.
    pub(crate) committed_unix_ms: i64,
    /// What made it.
    pub(crate) operation: String,
    /// The columns.
    pub(crate) columns: Columns,
    /// Files that it added.
    pub(crate) files_added: u64,
    /// Files that it removed.
    pub(crate) files_removed: u64,
    /// Files that it has.
    pub(crate) files: u64,
    /// Rows that it has.
    pub(crate) rows: u64,
    /// Bytes of its files.
    pub(crate) bytes: u64,
}

/// The columns of a table and which of them come from the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// All columns.
    pub(crate) schema: TableSchema,
    /// The partition columns, in the order of their folders.
    pub(crate) partition_fields: Vec<FieldId>,
}

/// What is known of a file from its path and its footer. It holds whatever the table's schema becomes:
/// bounds are keyed by the file's own columns, and partition values are not typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileFacts {
    /// The file.
    pub(crate) file: DataFile,
    /// The columns that the file holds.
    pub(crate) schema: SchemaRef,
    /// The `key=value` folders of its path, decoded; `None` is null.
    pub(crate) partitions: Vec<RawPartition>,
    /// Bounds by the position of a column in `schema`, counted from 1.
    pub(crate) bounds: Vec<(FieldId, ColumnBounds)>,
    /// The footer, column by column, when it may be kept; without any when it is too large for that.
    pub(crate) footer: Option<Vec<FooterColumn>>,
}

/// A partition value as the path spells it, decoded; `None` is null.
pub(crate) type RawPartition = (String, Option<String>);

/// A change from one snapshot to the next.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// What makes it, such as `create` or `refresh`.
    pub(crate) operation: &'static str,
    /// The columns from now on.
    pub(crate) columns: Columns,
    /// Files that come.
    pub(crate) added: Vec<FileFacts>,
    /// Paths of files that go. A file that changed goes and comes.
    pub(crate) removed: Vec<String>,
}

impl Change {
    /// The largest field id of the new columns.
    pub(crate) fn largest_field_id(&self) -> i32 {
        let ids = self.columns.schema.ids().iter();
        ids.map(|id| id.0).max().unwrap_or_default()
    }
}

/// How far a long piece of work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Files that are settled.
    pub(crate) files_done: u64,
    /// Files that there are.
    pub(crate) files_total: u64,
    /// Footers that were read.
    pub(crate) footers_read: u64,
}
