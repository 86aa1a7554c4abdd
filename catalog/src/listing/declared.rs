//! Columns that the user declared, checked against the files. Pure.

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use store::infer::plain_type;
use store::widen::common_type;

use super::Source;
use super::columns::{Evidence, columns_error};
use crate::error::CatalogError;

/// The declared columns. Each that is not a partition column must be in some file, and in each file that
/// has it its type must be the declared one or narrower. A column may be declared as never null only
/// when every file proves it: filters are simplified by it before any row is read.
pub(super) fn fields(
    source: Source<'_>,
    declared: &Schema,
    evidence: &Evidence<'_>,
    partition_names: &[String],
) -> Result<Vec<Field>, CatalogError> {
    let mut fields = Vec::with_capacity(declared.fields().len());
    for field in declared.fields() {
        let kind = plain_type(field.data_type());
        let field = Field::new(field.name(), kind, field.is_nullable());
        if !partition_names.contains(field.name()) {
            check(source, &field, evidence)?;
            check_nulls(source, &field, evidence)?;
        }
        fields.push(field);
    }
    Ok(fields)
}

fn check(source: Source<'_>, field: &Field, evidence: &Evidence<'_>) -> Result<(), CatalogError> {
    let mut found = false;
    for (path, schema) in &evidence.schemas {
        let Ok(in_file) = schema.field_with_name(field.name()) else {
            continue;
        };
        found = true;
        if !accepts(field.data_type(), in_file.data_type()) {
            let (name, declared) = (field.name(), field.data_type());
            let reason = format!(
                "column {name:?} is declared as {declared} but is {} in {path}",
                in_file.data_type()
            );
            return Err(columns_error(source, reason));
        }
    }
    if found {
        return Ok(());
    }
    let reason = format!("column {:?} is declared but is in no file", field.name());
    Err(columns_error(source, reason))
}

fn check_nulls(
    source: Source<'_>,
    field: &Field,
    evidence: &Evidence<'_>,
) -> Result<(), CatalogError> {
    if field.is_nullable() {
        return Ok(());
    }
    let name = field.name();
    let mut files = evidence.files.iter();
    match files.find_map(|file| Some((file.path, file.may_be_null(name)?))) {
        None => Ok(()),
        Some((path, why)) => {
            let reason = format!("column {name:?} is declared NOT NULL but {why} in {path}");
            Err(columns_error(source, reason))
        }
    }
}

/// Whether every value of a file's type is a value of the declared type.
fn accepts(declared: &DataType, in_file: &DataType) -> bool {
    use DataType::{Binary, LargeBinary, LargeUtf8, Timestamp, Utf8};
    match (declared, in_file) {
        (Utf8 | LargeUtf8, Utf8 | LargeUtf8) | (Binary | LargeBinary, Binary | LargeBinary) => true,
        // A plain TIMESTAMP in SQL is one of nanoseconds; values that overflow fail when they are read.
        (Timestamp(to, zone), Timestamp(from, zone_in_file)) => {
            zone.is_some() == zone_in_file.is_some() && fineness(*from) <= fineness(*to)
        }
        _ => common_type(in_file, declared).as_ref() == Some(declared),
    }
}

fn fineness(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}
