//! Refuses folders that a log or metadata of another table format describes. Some of their files, or rows of
//! them, may have been deleted, and only what describes them tells which.

use std::collections::HashMap;

use futures::TryStreamExt;
use object_store::Error as Object;
use object_store::path::Path;
use store::{Location, StoreError, TableFormat, described, whole_table};

use crate::error::CatalogError;

/// Fails when one of the data files lies in a folder that one of the files describes. Both are paths below
/// `folder`.
pub(super) fn refuse_described<'a>(
    folder: &Location,
    files: impl Iterator<Item = &'a str>,
    mut data: impl Iterator<Item = &'a str>,
) -> Result<(), CatalogError> {
    let tables: HashMap<&str, TableFormat> = files.filter_map(described).collect();
    if tables.is_empty() {
        return Ok(());
    }
    let refused = data.find_map(|path| folders(path).find_map(|at| tables.get_key_value(at)));
    refused.map_or(Ok(()), |(table, format)| {
        Err(refusal(folder, table, *format))
    })
}

/// Fails when a folder is the data or a partition of a table that a folder above it describes.
pub(super) async fn refuse_part(folder: &Location) -> Result<(), CatalogError> {
    let Some(whole) = whole_table(folder.path.as_ref()) else {
        return Ok(());
    };
    let whole = Path::parse(whole).map_err(|error| StoreError::InvalidUrl {
        url: folder.url.clone(),
        reason: error.to_string(),
    })?;
    let whole = folder.at(whole);
    for format in TableFormat::ALL {
        if has(&whole, format).await? {
            return Err(refusal(&whole, "", format));
        }
    }
    Ok(())
}

/// Whether a table is described in a format. Who may not look there may have no more than the data.
async fn has(table: &Location, format: TableFormat) -> Result<bool, CatalogError> {
    let place = table.join(format.folder())?;
    let mut objects = place.store.list(Some(&place.path));
    loop {
        match objects.try_next().await {
            Ok(Some(object)) => {
                let found = table.relative(&object.location).and_then(described);
                if found == Some(("", format)) {
                    return Ok(true);
                }
            }
            Ok(None) | Err(Object::PermissionDenied { .. } | Object::Unauthenticated { .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(StoreError::of(&place.url, &error).into()),
        }
    }
}

/// The folders that a file lies in, the innermost first.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.rmatch_indices('/');
    let above = slashes.filter_map(|(slash, _)| path.get(..slash));
    above.chain([""])
}

fn refusal(folder: &Location, table: &str, format: TableFormat) -> CatalogError {
    let url = format!("{}/{table}", folder.url);
    CatalogError::Unsupported(format!(
        "{} is {format}, which says itself which rows of its files count, and is not supported: write its \
         rows to a folder of Parquet files and make the table of those",
        url.trim_end_matches('/')
    ))
}
