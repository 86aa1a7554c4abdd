//! How the columns of a file become columns of its table: by name. Bounds that may not
//! hold for the table's type are left out, which only costs pruning.

use std::collections::HashSet;

use arrow_schema::{DataType, Schema};
use model::{ColumnBounds, FieldId};
use store::widen::comparable;

use crate::table::Columns;

/// The columns of files of one schema as seen from a table's.
#[derive(Debug)]
pub(super) struct FileColumns {
    /// For each column of the file, what it is in the table.
    columns: Vec<Option<Resolved>>,
    /// Columns of the table that the files lack: null in every row.
    absent: Vec<FieldId>,
}

#[derive(Debug)]
struct Resolved {
    field: FieldId,
    from: DataType,
    to: DataType,
}

impl FileColumns {
    /// Finds the columns of a file in a table. A column that the path gives is not read from the file.
    pub(super) fn resolve(file: &Schema, table: &Columns) -> Self {
        let in_path: HashSet<FieldId> = table.partition_fields.iter().copied().collect();
        let resolve = |name: &str, from: &DataType| {
            let field = table.schema.id_of(name)?;
            let (_, column) = table.schema.field(field)?;
            (!in_path.contains(&field)).then(|| Resolved {
                field,
                from: from.clone(),
                to: column.data_type().clone(),
            })
        };
        let fields = file.fields().iter();
        let columns: Vec<_> = fields
            .map(|field| resolve(field.name(), field.data_type()))
            .collect();
        let present: HashSet<FieldId> = columns.iter().flatten().map(|known| known.field).collect();
        let ids = table.schema.ids().iter().copied();
        let absent = ids.filter(|id| !in_path.contains(id) && !present.contains(id));
        Self {
            absent: absent.collect(),
            columns,
        }
    }

    /// The bounds of a file by the table's field ids; `bounds` are by the file's positions from 1.
    pub(super) fn bounds(
        &self,
        bounds: Vec<(FieldId, ColumnBounds)>,
        rows: Option<u64>,
    ) -> Vec<(FieldId, ColumnBounds)> {
        let known = bounds.into_iter().filter_map(|(position, bounds)| {
            let position = usize::try_from(position.0).ok()?.checked_sub(1)?;
            let column = self.columns.get(position)?.as_ref()?;
            Some((column.field, column.widened(bounds)))
        });
        let absent = self.absent.iter().map(|field| {
            let bounds = ColumnBounds {
                null_count: rows,
                row_count: rows,
                ..ColumnBounds::default()
            };
            (*field, bounds)
        });
        known.chain(absent).collect()
    }
}

impl Resolved {
    /// Bounds hold for the table's type when values stay the same in it.
    fn widened(&self, bounds: ColumnBounds) -> ColumnBounds {
        if comparable(&self.from, &self.to) {
            return bounds;
        }
        ColumnBounds {
            lower: None,
            upper: None,
            ..bounds
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;
    use model::{Bound, Datum, TableSchema};

    use super::*;

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        let fields = fields.iter();
        let fields = fields.map(|(name, kind)| Field::new(*name, kind.clone(), true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    #[test]
    fn a_column_that_the_file_lacks_is_null_and_one_of_the_path_is_not_the_files() {
        let table = Columns {
            schema: TableSchema::numbered(&schema(&[
                ("a", DataType::Int64),
                ("later", DataType::Utf8),
                ("part", DataType::Int32),
            ])),
            partition_fields: vec![FieldId(3)],
        };
        let file = schema(&[("part", DataType::Int32), ("a", DataType::Int32)]);
        let one = ColumnBounds {
            lower: Some(Bound::exact(Datum::Int(1))),
            row_count: Some(9),
            ..ColumnBounds::default()
        };
        let columns = FileColumns::resolve(&file, &table);
        let bounds = columns.bounds(
            vec![(FieldId(1), one.clone()), (FieldId(2), one.clone())],
            Some(9),
        );
        let absent = ColumnBounds {
            null_count: Some(9),
            row_count: Some(9),
            ..ColumnBounds::default()
        };
        assert_eq!(bounds, [(FieldId(1), one), (FieldId(2), absent)]);
    }

    #[test]
    fn bounds_are_kept_only_when_the_tables_type_has_every_value_of_the_files() {
        let bounds = ColumnBounds {
            upper: Some(Bound::exact(Datum::Int(1))),
            null_count: Some(2),
            ..ColumnBounds::default()
        };
        let cases = [
            (DataType::Int32, DataType::Int64, true),
            (DataType::Int64, DataType::Int32, false),
            (DataType::Int64, DataType::Float64, false),
        ];
        for (from, to, kept) in cases {
            let column = Resolved {
                field: FieldId(1),
                from,
                to,
            };
            let widened = column.widened(bounds.clone());
            assert_eq!(widened.upper.is_some(), kept, "{column:?}");
            assert_eq!(widened.null_count, Some(2));
        }
    }
}
