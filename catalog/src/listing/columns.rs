//! The columns of a listing table: what footers, paths and the user say of them, brought together.
//! Pure.
//!
//! A partition column that files hold as well is the path's: the file's values are not read. A file
//! whose path lacks a partition folder has null there, unless the user declared the column.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use model::schema::FIELD_ID_KEY;
use model::{ColumnBounds, FieldId, TableSchema};
use store::infer::plain_type;
use store::{Merger, hive};

use super::declared;
use super::{Before, Source};
use crate::error::CatalogError;
use crate::table::{Columns, FileFacts, RawPartition};

/// What the files of a table say of its columns.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// The distinct schemas of the files, each with the first file that has it.
    pub(super) schemas: Vec<(String, SchemaRef)>,
    /// What each file says of itself.
    pub(super) files: Vec<FileEvidence<'a>>,
}

/// What one file says of its columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileEvidence<'a> {
    /// Its URL.
    pub(super) path: &'a str,
    /// The columns that it holds.
    pub(super) schema: &'a Schema,
    /// The `key=value` folders of its path.
    pub(super) partitions: &'a [RawPartition],
    /// Bounds by the position of a column in `schema`, counted from 1.
    pub(super) bounds: &'a [(FieldId, ColumnBounds)],
    /// Its rows.
    pub(super) rows: Option<u64>,
}

impl<'a> Evidence<'a> {
    /// What the kept files of `before` and the added files say.
    pub(super) fn gather(
        before: Option<&'a Before>,
        kept: &[usize],
        added: &'a [FileFacts],
    ) -> Result<Self, CatalogError> {
        let mut evidence = Self {
            schemas: Vec::new(),
            files: Vec::new(),
        };
        if let Some(before) = before {
            let kept = kept.iter().filter_map(|at| before.files.files.get(*at));
            for row in kept {
                let schema = before.files.schema_of(row)?;
                evidence.add(
                    schema,
                    FileEvidence {
                        path: &row.file.path,
                        schema,
                        partitions: &row.partitions,
                        bounds: &row.bounds,
                        rows: row.file.record_count,
                    },
                );
            }
        }
        for facts in added {
            evidence.add(
                &facts.schema,
                FileEvidence {
                    path: &facts.file.path,
                    schema: &facts.schema,
                    partitions: &facts.partitions,
                    bounds: &facts.bounds,
                    rows: facts.file.record_count,
                },
            );
        }
        Ok(evidence)
    }

    fn add(&mut self, schema: &SchemaRef, file: FileEvidence<'a>) {
        let mut seen = self.schemas.iter().rev();
        if !seen.any(|(_, other)| Arc::ptr_eq(other, schema) || other == schema) {
            let path = file.path.to_owned();
            self.schemas.push((path, Arc::clone(schema)));
        }
        self.files.push(file);
    }

    /// The columns that fit all files.
    fn merged(&self) -> Result<SchemaRef, CatalogError> {
        let mut merger = Merger::default();
        for (path, schema) in &self.schemas {
            merger.add(path, schema)?;
        }
        Ok(merger.finish())
    }

    /// The value of a partition column in each file; missing folders are null.
    fn values<'s>(
        &'s self,
        name: &'s str,
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + 's {
        self.files.iter().map(move |file| {
            let value = file.partitions.iter().find(|(key, _)| key == name);
            (file.path, value.and_then(|(_, value)| value.as_deref()))
        })
    }
}

impl FileEvidence<'_> {
    /// Why the file may hold a null in a column; nothing when it surely holds none.
    pub(super) fn may_be_null(&self, name: &str) -> Option<&'static str> {
        if self.rows == Some(0) {
            return None;
        }
        let Some((position, field)) = self.schema.column_with_name(name) else {
            return Some("is missing");
        };
        if !field.is_nullable() {
            return None;
        }
        let id = i32::try_from(position).ok().map(|at| FieldId(at + 1));
        let known = self.bounds.iter().find(|(field, _)| Some(*field) == id);
        match known.and_then(|(_, bounds)| bounds.null_count) {
            Some(0) => None,
            Some(_) => Some("holds nulls"),
            None => Some("may hold nulls, because the footer does not count them,"),
        }
    }
}

/// The columns of a table. Columns that `before` had under the same name keep their ids; others get ids
/// that no column ever had.
pub(super) fn derive(
    source: Source<'_>,
    evidence: &Evidence<'_>,
    before: Option<(&Columns, i32)>,
) -> Result<Columns, CatalogError> {
    let names = partition_names(source, evidence)?;
    let merged = evidence.merged()?;
    let mut partition_fields = Vec::with_capacity(names.len());
    for name in &names {
        partition_fields.push(partition_field(source, evidence, &merged, name)?);
    }
    let mut fields = if let Some(schema) = &source.declaration.schema {
        declared::fields(source, schema, evidence, &names)?
    } else {
        let in_file = merged.fields().iter();
        let in_file = in_file.filter(|field| !names.contains(field.name()));
        in_file.map(|field| field.as_ref().clone()).collect()
    };
    for field in partition_fields {
        match fields.iter_mut().find(|known| known.name() == field.name()) {
            Some(declared) => *declared = field,
            None => fields.push(field),
        }
    }
    check_names(source, &fields)?;
    with_ids(fields, &names, before)
}

/// The partition columns: those declared, else every key, outermost first.
fn partition_names(
    source: Source<'_>,
    evidence: &Evidence<'_>,
) -> Result<Vec<String>, CatalogError> {
    let declared = &source.declaration.partition_columns;
    let mut names = declared.clone();
    let mut known: HashSet<&str> = HashSet::new();
    for FileEvidence {
        path, partitions, ..
    } in &evidence.files
    {
        let mut in_path = HashSet::new();
        for (key, _) in *partitions {
            if !in_path.insert(key.as_str()) {
                let reason = format!("folder {key:?} occurs twice in {path}");
                return Err(columns_error(source, reason));
            }
            if declared.is_empty() && known.insert(key.as_str()) {
                names.push(key.clone());
            }
        }
        if let Some(missing) = declared
            .iter()
            .find(|name| !in_path.contains(name.as_str()))
        {
            let reason = format!("partition column {missing:?} is not in the path of {path}");
            return Err(columns_error(source, reason));
        }
    }
    Ok(names)
}

/// A partition column with its type: as declared, else as the files hold it if they do and every value
/// fits, else as the values look.
fn partition_field(
    source: Source<'_>,
    evidence: &Evidence<'_>,
    merged: &Schema,
    name: &str,
) -> Result<Field, CatalogError> {
    let fits = |kind: &DataType| {
        let mut values = evidence.values(name);
        values.all(|(_, value)| value.is_none_or(|text| hive::parse_value(text, kind).is_some()))
    };
    let declared = source.declaration.schema.as_ref();
    let declared = declared.and_then(|schema| schema.field_with_name(name).ok());
    let kind = match (declared, merged.field_with_name(name)) {
        (Some(field), _) => plain_type(field.data_type()),
        (None, Ok(in_file)) if fits(in_file.data_type()) => in_file.data_type().clone(),
        _ => hive::infer_type(evidence.values(name).map(|(_, value)| value)),
    };
    let odd = evidence.values(name).find_map(|(path, value)| {
        let text = value?;
        hive::parse_value(text, &kind)
            .is_none()
            .then_some((path, text))
    });
    match odd {
        None => Ok(Field::new(name, kind, true)),
        Some((path, text)) => {
            let reason = format!("partition column {name:?}: {text:?} is no {kind} in {path}");
            Err(columns_error(source, reason))
        }
    }
}

fn check_names(source: Source<'_>, fields: &[Field]) -> Result<(), CatalogError> {
    let mut names = HashSet::new();
    match fields.iter().find(|field| !names.insert(field.name())) {
        None if fields.is_empty() => Err(columns_error(source, "it has no column".to_owned())),
        None => Ok(()),
        Some(twice) => {
            let reason = format!("column {:?} occurs twice", twice.name());
            Err(columns_error(source, reason))
        }
    }
}

fn with_ids(
    fields: Vec<Field>,
    partition_names: &[String],
    before: Option<(&Columns, i32)>,
) -> Result<Columns, CatalogError> {
    let mut last = before.map_or(0, |(_, last)| last);
    let known = |name: &str| before.and_then(|(columns, _)| columns.schema.id_of(name));
    let mut numbered = Vec::with_capacity(fields.len());
    for field in fields {
        let id = known(field.name()).unwrap_or_else(|| {
            last += 1;
            FieldId(last)
        });
        let metadata = [(FIELD_ID_KEY.to_owned(), id.0.to_string())];
        numbered.push(field.with_metadata(metadata.into()));
    }
    let schema = TableSchema::try_new(Arc::new(Schema::new(numbered)))
        .map_err(CatalogError::stored("schema"))?;
    let partition_fields = partition_names.iter();
    let partition_fields = partition_fields.filter_map(|name| schema.id_of(name));
    Ok(Columns {
        partition_fields: partition_fields.collect(),
        schema,
    })
}

/// An error about the columns of a table.
pub(super) fn columns_error(source: Source<'_>, reason: String) -> CatalogError {
    CatalogError::Columns {
        table: source.name.clone(),
        reason,
    }
}
