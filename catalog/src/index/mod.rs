//! The files of one snapshot in memory, typed for the snapshot's schema and ready to be judged. Built
//! once per snapshot, never changed, shared by all requests.

mod cache;
mod columns;

use std::borrow::Cow;
use std::collections::HashMap;

use model::{ColumnBounds, DataFile, FieldId, PartitionValue, ScanTask, StatsSource, TableSchema};

pub(crate) use cache::IndexCache;
use columns::FileColumns;

use crate::database::{FileId, FileRow, SnapshotFiles};
use crate::error::CatalogError;
use crate::iceberg::ManagedFile;
use crate::table::{Columns, RawPartition, Table};

/// What is charged for a file or a bound when memory is counted.
const FILE_BYTES: usize = 256;
const BOUND_BYTES: usize = 224;

/// A table at one snapshot with all of its files.
#[derive(Debug)]
pub(crate) struct TableIndex {
    /// The table.
    pub(crate) table: Table,
    /// The files in path order.
    pub(crate) files: Vec<IndexedFile>,
}

/// A file with what is known of its columns.
#[derive(Debug)]
pub(crate) struct IndexedFile {
    /// The file.
    pub(crate) file: DataFile,
    /// Its row in the database, when it has one.
    pub(crate) id: Option<FileId>,
    /// The partition columns with their values.
    partitions: Vec<PartitionValue>,
    /// The same as bounds, by field id.
    partition_bounds: Vec<(FieldId, ColumnBounds)>,
    /// Bounds of the other columns, by field id.
    bounds: Vec<(FieldId, ColumnBounds)>,
}

impl TableIndex {
    /// Types the facts of a snapshot's files for its schema.
    pub(crate) fn build(table: Table, files: SnapshotFiles) -> Result<Self, CatalogError> {
        let columns = &table.snapshot.columns;
        let mut resolved: HashMap<i64, FileColumns> = HashMap::new();
        for (id, schema) in &files.schemas {
            resolved.insert(*id, FileColumns::resolve(schema, columns));
        }
        let mut indexed = Vec::with_capacity(files.files.len());
        for file in files.files {
            let known = resolved.get(&file.schema);
            let missing = || CatalogError::stored("schema of a file")(&file.file.path);
            let file_columns = known.ok_or_else(missing)?;
            indexed.push(IndexedFile::new(file, file_columns, columns)?);
        }
        Ok(Self {
            table,
            files: indexed,
        })
    }

    /// The files of a managed table as its manifests describe them, with what `known` remembers of how
    /// to open them.
    pub(crate) fn managed(table: Table, files: Vec<ManagedFile>, known: SnapshotFiles) -> Self {
        let known = known.files.into_iter();
        let mut known: HashMap<String, (FileId, DataFile)> = known
            .map(|row| (row.file.path.clone(), (row.id, row.file)))
            .collect();
        let files = files.into_iter().map(|managed| {
            let remembered = known.remove(&managed.path);
            IndexedFile::managed(managed, remembered)
        });
        Self {
            files: files.collect(),
            table,
        }
    }

    /// About how much memory it takes.
    pub(crate) fn memory(&self) -> usize {
        let bounds = |file: &IndexedFile| file.bounds.len() + 2 * file.partitions.len();
        let bounds: usize = self.files.iter().map(bounds).sum();
        let paths: usize = self.files.iter().map(|file| file.file.path.len()).sum();
        self.files.len() * FILE_BYTES + bounds * BOUND_BYTES + paths
    }
}

impl IndexedFile {
    fn new(
        row: FileRow,
        file_columns: &FileColumns,
        columns: &Columns,
    ) -> Result<Self, CatalogError> {
        let fields = columns.partition_fields.iter();
        let partitions = fields
            .map(|field| typed_value(*field, &row.partitions, &columns.schema))
            .collect::<Result<Vec<_>, _>>()?;
        let mut bounds = file_columns.bounds(row.bounds, row.file.record_count);
        bounds.sort_by_key(|(field, _)| *field);
        Ok(Self {
            partition_bounds: partition_bounds(&partitions, row.file.record_count),
            file: row.file,
            id: Some(row.id),
            partitions,
            bounds,
        })
    }

    fn managed(managed: ManagedFile, remembered: Option<(FileId, DataFile)>) -> Self {
        let (id, remembered) = remembered
            .filter(|(_, file)| file.size == managed.size)
            .unzip();
        let file = DataFile {
            path: managed.path,
            size: managed.size,
            record_count: Some(managed.record_count),
            version: remembered.as_ref().and_then(|file| file.version.clone()),
            footer_length: remembered.as_ref().and_then(|file| file.footer_length),
            page_index: remembered.and_then(|file| file.page_index),
        };
        let partitions = managed.partitions;
        let in_path = |field: FieldId| partitions.iter().any(|value| value.field == field);
        let mut bounds = managed.bounds;
        bounds.retain(|(field, _)| !in_path(*field));
        bounds.sort_by_key(|(field, _)| *field);
        Self {
            partition_bounds: partition_bounds(&partitions, file.record_count),
            partitions,
            bounds,
            file,
            id,
        }
    }

    /// What a Flight server must know to scan the file.
    pub(crate) fn task(&self) -> ScanTask {
        ScanTask {
            file: self.file.clone(),
            rows: None,
            partition_values: self.partitions.clone(),
            footer: Vec::new(),
            footer_wanted: false,
        }
    }

    /// The value of each partition column.
    pub(crate) fn partition_values(&self) -> &[PartitionValue] {
        &self.partitions
    }

    /// Bounds of the columns that are not partition columns, by field id.
    pub(crate) fn column_bounds(&self) -> &[(FieldId, ColumnBounds)] {
        &self.bounds
    }

    /// The partition values as statistics.
    pub(crate) fn partition_stats(&self) -> PartitionStats<'_> {
        PartitionStats(self)
    }
}

/// The bounds of a column that holds one value in each of `rows` rows.
fn constant_bounds(value: &PartitionValue, rows: Option<u64>) -> ColumnBounds {
    let one = ColumnBounds::constant(value.value.clone());
    let Some(rows) = rows else {
        return one;
    };
    let times = |count: Option<u64>| count.map(|count| count * rows);
    ColumnBounds {
        null_count: times(one.null_count),
        nan_count: times(one.nan_count),
        row_count: Some(rows),
        ..one
    }
}

/// Partition values as bounds, by field id.
fn partition_bounds(values: &[PartitionValue], rows: Option<u64>) -> Vec<(FieldId, ColumnBounds)> {
    let constant = |value: &PartitionValue| (value.field, constant_bounds(value, rows));
    let mut bounds: Vec<_> = values.iter().map(constant).collect();
    bounds.sort_by_key(|(field, _)| *field);
    bounds
}

/// A partition value as its column's type; a path that lacks the folder gives null.
fn typed_value(
    field: FieldId,
    raw: &[RawPartition],
    schema: &TableSchema,
) -> Result<PartitionValue, CatalogError> {
    let column = schema.field(field).map(|(_, column)| column);
    let column = column.ok_or_else(|| CatalogError::stored("partition column")(field.0))?;
    let spelled = raw.iter().find(|(name, _)| name == column.name());
    let spelled = spelled.and_then(|(_, value)| value.as_deref());
    let parse = |text: &str| {
        let value = store::hive::parse_value(text, column.data_type());
        value.ok_or_else(|| CatalogError::stored("partition value")(text))
    };
    Ok(PartitionValue {
        field,
        value: spelled.map(parse).transpose()?,
    })
}

impl StatsSource for IndexedFile {
    /// Bounds from the footer, or the value from the path.
    fn bounds(&self, field: FieldId) -> Option<Cow<'_, ColumnBounds>> {
        find(&self.partition_bounds, field).or_else(|| find(&self.bounds, field))
    }
}

/// What the path alone says of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionStats<'a>(&'a IndexedFile);

impl StatsSource for PartitionStats<'_> {
    fn bounds(&self, field: FieldId) -> Option<Cow<'_, ColumnBounds>> {
        find(&self.0.partition_bounds, field)
    }
}

fn find(sorted: &[(FieldId, ColumnBounds)], field: FieldId) -> Option<Cow<'_, ColumnBounds>> {
    let position = sorted.binary_search_by_key(&field, |(id, _)| *id).ok()?;
    sorted
        .get(position)
        .map(|(_, bounds)| Cow::Borrowed(bounds))
}
