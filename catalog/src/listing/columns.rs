//! The columns of a listing table: what footers, paths and the user say of them, brought together.
//! Pure.
//!
//! A partition column that files hold as well is the path's: the file's values are not read. A file
//! whose path lacks a partition folder has null there, unless the user declared the column.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use model::schema::FIELD_ID_KEY;
use model::{FieldId, TableSchema};
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
    /// The path of each file with its `key=value` folders.
    pub(super) partitions: Vec<(&'a str, &'a [RawPartition])>,
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
            partitions: Vec::new(),
        };
        if let Some(before) = before {
            let kept = kept.iter().filter_map(|at| before.files.files.get(*at));
            for row in kept {
                let schema = before.files.schema_of(row)?;
                evidence.add(&row.file.path, schema, &row.partitions);
            }
        }
        for facts in added {
            evidence.add(&facts.file.path, &facts.schema, &facts.partitions);
        }
        Ok(evidence)
    }

    fn add(&mut self, path: &'a str, schema: &SchemaRef, partitions: &'a [RawPartition]) {
        let mut seen = self.schemas.iter().rev();
        if !seen.any(|(_, other)| Arc::ptr_eq(other, schema) || other == schema) {
            self.schemas.push((path.to_owned(), Arc::clone(schema)));
        }
        self.partitions.push((path, partitions));
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
        self.partitions.iter().map(move |(path, values)| {
            let value = values.iter().find(|(key, _)| key == name);
            (*path, value.and_then(|(_, value)| value.as_deref()))
        })
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
    for (path, values) in &evidence.partitions {
        let mut in_path = HashSet::new();
        for (key, _) in *values {
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
