//! Which objects of a location are data files. Only names are looked at, and what they mean is said in
//! `store::data_files`; but a pattern may say itself how names end, and a location that is one file is
//! taken as it is, whatever its name.

use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};
use store::{Location, StoreError, has_data_ending, is_data_file, is_hidden, version_of};

use super::{formats, glob};
use crate::error::CatalogError;

/// A data file as a listing shows it.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// The file.
    pub(super) location: Location,
    /// Its path below the table's folder.
    pub(super) relative: String,
    /// Bytes.
    pub(super) size: u64,
    /// Etag or modification time.
    pub(super) version: String,
}

/// The data files of a location in the order of their URLs; never none.
pub(super) async fn data_files(location: &Location) -> Result<Vec<Listed>, CatalogError> {
    let mut files = match folder(location, location, is_data_file).await? {
        found if !found.is_empty() => found,
        _ => match single_file(location).await? {
            Some(file) => vec![file],
            None => pattern(location).await?,
        },
    };
    if files.is_empty() {
        return Err(CatalogError::NoFiles(location.url.clone()));
    }
    files.sort_by(|a, b| a.location.url.cmp(&b.location.url));
    Ok(files)
}

/// The files below a folder whose path below it `wanted` accepts.
async fn folder(
    named: &Location,
    folder: &Location,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Listed>, CatalogError> {
    let prefix = (!folder.path.as_ref().is_empty()).then_some(&folder.path);
    let objects: Vec<ObjectMeta> = folder
        .store
        .list(prefix)
        .try_collect()
        .await
        .map_err(|error| StoreError::of(&named.url, &error))?;
    let listed = objects.iter().filter_map(|object| {
        let relative = folder.relative(&object.location)?;
        wanted(relative).then(|| Listed::new(folder, relative.to_owned(), object))
    });
    let listed: Vec<Listed> = listed.collect();
    let below = objects
        .iter()
        .filter_map(|object| folder.relative(&object.location));
    let data = listed.iter().map(|file| file.relative.as_str());
    formats::refuse_described(folder, below, data)?;
    if !listed.is_empty() {
        formats::refuse_part(folder).await?;
    }
    Ok(listed)
}

/// The location itself, when it is a file; nothing when it is a folder or a pattern.
async fn single_file(location: &Location) -> Result<Option<Listed>, CatalogError> {
    match location.store.head(&location.path).await {
        Ok(object) => {
            let name = location.path.filename().unwrap_or_default().to_owned();
            Ok(Some(Listed::new(location, name, &object)))
        }
        Err(_) if is_local_folder(location) => Ok(None),
        Err(object_store::Error::NotFound { .. }) if glob::is_pattern(location.path.as_ref()) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::of(&location.url, &error).into()),
    }
}

/// The files that a pattern matches; none when the location is no pattern.
async fn pattern(location: &Location) -> Result<Vec<Listed>, CatalogError> {
    let path = location.path.as_ref();
    if !glob::is_pattern(path) {
        return Ok(Vec::new());
    }
    let (start, pattern) = glob::split(path);
    let start = Path::parse(start).map_err(|error| StoreError::InvalidUrl {
        url: location.url.clone(),
        reason: error.to_string(),
    })?;
    let any_ending = glob::fixes_ending(pattern);
    let wanted = |relative: &str| {
        !is_hidden(relative)
            && (any_ending || has_data_ending(relative))
            && glob::matches(pattern, relative)
    };
    folder(location, &location.at(start), wanted).await
}

impl Listed {
    fn new(near: &Location, relative: String, object: &ObjectMeta) -> Self {
        Self {
            location: near.at(object.location.clone()),
            relative,
            size: object.size,
            version: version_of(object),
        }
    }
}

/// Stores have no empty folders, but file systems do, and those exist.
fn is_local_folder(location: &Location) -> bool {
    location.url.starts_with("file://")
        && std::path::Path::new("/")
            .join(location.path.as_ref())
            .is_dir()
}
