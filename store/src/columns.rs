//! Which column of a file is which column of the table. Pure.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use arrow_schema::{DataType, SchemaRef};
use model::{ColumnMapping, FieldId, TableSchema};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;

use crate::error::StoreError;
use crate::infer::arrow_schema;

/// A file's columns as its table sees them.
#[derive(Clone, Debug)]
pub struct FileColumns {
    /// The file's own schema, see [`arrow_schema`].
    pub schema: SchemaRef,
    /// For each column of the table in its order, the file's column; `None` when the file lacks it.
    pub columns: Vec<Option<FileColumn>>,
}

/// A column of the table as one file holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumn {
    /// Its identity in the table.
    pub id: FieldId,
    /// The top-level column's position among the fields of the Parquet schema's root.
    pub root: usize,
    /// The column's leaves: chunks of each row group. One, unless the column is nested.
    pub leaves: Range<usize>,
    /// Whether the column is a plain value, so that its leaf's statistics are about the column.
    pub flat: bool,
    /// Its type in the file.
    pub file_type: DataType,
    /// Its type in the table.
    pub table_type: DataType,
}

/// Finds the table's columns in a file. Names match exactly. By field id, a file whose columns carry ids
/// is matched by them alone; one without any is matched by name.
///
/// # Errors
/// When the file has a column of a type that Arrow lacks. `path` is only named.
pub fn match_columns(
    path: &str,
    metadata: &ParquetMetaData,
    table: &TableSchema,
    mapping: ColumnMapping,
) -> Result<FileColumns, StoreError> {
    let schema = arrow_schema(path, metadata)?;
    Ok(match_columns_of(schema, metadata, table, mapping))
}

/// The same for a file whose Arrow schema is known.
pub fn match_columns_of(
    schema: SchemaRef,
    metadata: &ParquetMetaData,
    table: &TableSchema,
    mapping: ColumnMapping,
) -> FileColumns {
    let descriptor = metadata.file_metadata().schema_descr();
    let roots = roots(descriptor, &schema);
    let by_id = mapping == ColumnMapping::ByFieldId && roots.iter().any(|root| root.id.is_some());
    let mut named: HashMap<&str, &Root> = HashMap::new();
    let mut numbered: HashMap<i32, &Root> = HashMap::new();
    // Of several the first counts.
    for root in roots.iter().rev() {
        named.insert(&root.name, root);
        numbered.extend(root.id.map(|id| (id, root)));
    }
    let find = |(position, id): (usize, &FieldId)| {
        let field = table.arrow().fields().get(position)?;
        let root = if by_id {
            numbered.get(&id.0)?
        } else {
            named.get(field.name().as_str())?
        };
        Some(FileColumn {
            id: *id,
            root: root.position,
            leaves: root.leaves.clone(),
            flat: root.flat,
            file_type: root.data_type.clone(),
            table_type: field.data_type().clone(),
        })
    };
    let columns = table.ids().iter().enumerate().map(find).collect();
    FileColumns { schema, columns }
}

impl FileColumns {
    /// The file's column with this id.
    pub fn find(&self, id: FieldId) -> Option<&FileColumn> {
        self.columns.iter().flatten().find(|column| column.id == id)
    }
}

struct Root {
    position: usize,
    name: String,
    id: Option<i32>,
    data_type: DataType,
    leaves: Range<usize>,
    flat: bool,
}

/// The top-level columns that Arrow kept, in order. (It leaves out groups without any leaf.)
fn roots(descriptor: &SchemaDescriptor, schema: &SchemaRef) -> Vec<Root> {
    let mut leaves = vec![None::<Range<usize>>; descriptor.root_schema().get_fields().len()];
    for leaf in 0..descriptor.num_columns() {
        if let Some(range) = leaves.get_mut(descriptor.get_column_root_idx(leaf)) {
            range.get_or_insert(leaf..leaf).end = leaf + 1;
        }
    }
    let mut fields = schema.fields().iter();
    let mut seen = HashSet::new();
    let mut roots = Vec::new();
    for (position, root) in descriptor.root_schema().get_fields().iter().enumerate() {
        let Some(leaves) = leaves.get(position).cloned().flatten() else {
            continue;
        };
        let Some(field) = fields.find(|field| field.name() == root.name()) else {
            break;
        };
        let info = root.get_basic_info();
        // Of two columns with one name, the first counts, as for Arrow schemas.
        if !seen.insert(root.name().to_owned()) && !info.has_id() {
            continue;
        }
        let repeated =
            info.has_repetition() && info.repetition() == parquet::basic::Repetition::REPEATED;
        roots.push(Root {
            position,
            name: root.name().to_owned(),
            id: info.has_id().then(|| info.id()),
            data_type: field.data_type().clone(),
            leaves,
            flat: root.is_primitive() && !repeated,
        });
    }
    roots
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
