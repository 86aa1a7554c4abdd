//! What must be read of a file's footer before Iceberg metadata may name it, beyond what the catalog
//! keeps: sizes of columns, offsets of row groups, and that no reader would find other columns in it.

use model::{ColumnMapping, DataFile, Datum, FieldId, PartitionValue, TableName};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::Type;
use store::{FileColumns, FooterHint, Ledger, Stores, file_bounds, match_columns, read_footer};

use super::types::reads_as;
use crate::error::CatalogError;
use crate::table::Columns;

/// What a footer says for a manifest entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Compressed bytes of each column.
    pub(super) column_sizes: Vec<(FieldId, u64)>,
    /// Where the row groups begin, ascending.
    pub(super) split_offsets: Vec<i64>,
}

/// Reads a file's footer and checks that other engines read the columns from it that Fulmar reads.
pub(super) async fn read_layout(
    stores: &Stores,
    table: &TableName,
    columns: &Columns,
    file: &DataFile,
    partitions: &[PartitionValue],
) -> Result<Layout, CatalogError> {
    let location = stores.resolve(&file.path)?;
    let ledger = Ledger::new(location).expecting(file.version.clone());
    let hint = FooterHint {
        footer_length: file.footer_length,
        ..FooterHint::default()
    };
    let footer = read_footer(&ledger, Some(file.size), hint).await?;
    let metadata = &footer.metadata;
    let found = match_columns(&file.path, metadata, &columns.schema, ColumnMapping::ByName)?;
    let refuse = |reason: String| CatalogError::Columns {
        table: table.clone(),
        reason: format!("{reason} in {}", file.path),
    };
    check_ids(metadata, columns).map_err(&refuse)?;
    check_types(columns, &found).map_err(&refuse)?;
    check_partitions(metadata, columns, &found, partitions).map_err(&refuse)?;
    Ok(layout(metadata, &found))
}

fn layout(metadata: &ParquetMetaData, found: &FileColumns) -> Layout {
    let size = |leaves: std::ops::Range<usize>| -> u64 {
        let chunks = metadata.row_groups().iter();
        let chunks =
            chunks.flat_map(|group| group.columns().get(leaves.clone()).unwrap_or_default());
        chunks
            .filter_map(|chunk| u64::try_from(chunk.compressed_size()).ok())
            .sum()
    };
    let sizes = found
        .columns
        .iter()
        .flatten()
        .map(|column| (column.id, size(column.leaves.clone())));
    let starts = metadata.row_groups().iter().filter_map(|group| {
        let first = group.columns().first()?;
        let data = first.data_page_offset();
        Some(
            first
                .dictionary_page_offset()
                .map_or(data, |offset| offset.min(data)),
        )
    });
    let mut split_offsets: Vec<i64> = starts.collect();
    split_offsets.sort_unstable();
    split_offsets.dedup();
    Layout {
        column_sizes: sizes.collect(),
        split_offsets,
    }
}

/// Readers of Iceberg trust field ids in a file over names, so ids of another writer must be the
/// table's or absent.
fn check_ids(metadata: &ParquetMetaData, columns: &Columns) -> Result<(), String> {
    let root = metadata.file_metadata().schema_descr().root_schema();
    if !root.get_fields().iter().any(|field| has_id(field)) {
        return Ok(());
    }
    for field in root.get_fields() {
        let info = field.get_basic_info();
        let id = info.has_id().then(|| FieldId(info.id()));
        if !field.is_primitive() || id.is_none() || id != columns.schema.id_of(field.name()) {
            return Err(format!(
                "column {:?} carries a field id that is not the table's",
                field.name()
            ));
        }
    }
    Ok(())
}

/// Fulmar widens more types than readers of Iceberg do.
fn check_types(columns: &Columns, found: &FileColumns) -> Result<(), String> {
    let mut known = found.columns.iter().flatten();
    let odd = known.find(|column| !reads_as(&column.file_type, &column.table_type));
    match odd {
        None => Ok(()),
        Some(column) => {
            let name = columns.schema.field(column.id);
            let name = name.map_or("", |(_, field)| field.name());
            Err(format!(
                "column {name:?} is {}, which Iceberg cannot read as {},",
                column.file_type, column.table_type
            ))
        }
    }
}

fn has_id(field: &Type) -> bool {
    let below = |field: &Type| field.get_fields().iter().any(|inner| has_id(inner));
    field.get_basic_info().has_id() || field.is_group() && below(field)
}

/// Fulmar takes a partition column from the path; readers of Iceberg take it from a file that holds it.
fn check_partitions(
    metadata: &ParquetMetaData,
    columns: &Columns,
    found: &FileColumns,
    partitions: &[PartitionValue],
) -> Result<(), String> {
    let bounds = file_bounds(metadata, found);
    for partition in partitions {
        let Some(column) = found.find(partition.field) else {
            continue;
        };
        let stated = bounds.iter().find(|(id, _)| *id == column.id);
        let same = stated.is_some_and(|(_, bounds)| match &partition.value {
            None => bounds.all_null(),
            Some(value) => {
                let is = |bound: &Option<model::Bound>| {
                    bound
                        .as_ref()
                        .is_some_and(|bound| equals(&bound.value, value))
                };
                bounds.no_null() && is(&bounds.lower) && is(&bounds.upper)
            }
        });
        if !same {
            let name = columns
                .schema
                .field(partition.field)
                .map(|(_, field)| field.name());
            let name = name.map_or("", String::as_str);
            return Err(format!(
                "partition column {name:?} is held by the file too, perhaps with other values,"
            ));
        }
    }
    Ok(())
}

fn equals(a: &Datum, b: &Datum) -> bool {
    a.compare(b).is_some_and(std::cmp::Ordering::is_eq)
}
