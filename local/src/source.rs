//! The user's files: where they are, and which tables their paths make. Lists names, opens nothing.

use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use object_store::ObjectStoreExt;
use store::{Location, Stores, is_data_file};

use crate::discover::{self, Place};
use crate::error::LocalError;

/// The data folder and the tables in it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The folder of the tables.
    root: Location,
    /// What the user named: the folder or the one file of it.
    whole: Location,
    given: String,
    places: Vec<Place>,
}

impl Source {
    /// Lists a folder, a prefix or one file.
    ///
    /// # Errors
    /// When there is no such place, it cannot be listed, or it holds no Parquet file.
    pub async fn find(data: &str) -> Result<Self, LocalError> {
        let failed = |reason: String| LocalError::List {
            data: data.to_owned(),
            reason,
        };
        let root = Stores::from_env()
            .resolve(data)
            .map_err(|error| failed(wire::status::chain(&error)))?;
        if let Some(path) = local_path(&root)
            && !path.exists()
        {
            return Err(LocalError::NoData(data.to_owned()));
        }
        if is_data_file(last_name(&root)) && is_file(&root).await {
            return Ok(Self::of_file(root, data));
        }
        let paths: Vec<String> = root
            .store
            .list(Some(&root.path))
            .try_filter_map(async |object| Ok(root.relative(&object.location).map(str::to_owned)))
            .try_collect()
            .await
            .map_err(|error| failed(wire::status::chain(&error)))?;
        let places = discover::tables(paths.iter().map(String::as_str));
        if places.is_empty() {
            return Err(LocalError::NoTables(data.to_owned()));
        }
        Ok(Self {
            whole: root.clone(),
            root,
            given: data.to_owned(),
            places,
        })
    }

    /// One file is the one table of its folder.
    fn of_file(file: Location, data: &str) -> Self {
        let mut names: Vec<&str> = file.path.as_ref().split('/').collect();
        let name = names.pop().unwrap_or_default().to_owned();
        let folder = object_store::path::Path::from_iter(names);
        Self {
            root: file.at(folder),
            whole: file,
            given: data.to_owned(),
            places: vec![Place::File(vec![name])],
        }
    }

    /// The data as the user named it.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// The full URL of what the user named.
    pub fn url(&self) -> &str {
        &self.whole.url
    }

    /// The folder's own name.
    pub fn name(&self) -> &str {
        match last_name(&self.root) {
            "" => "data",
            name => name,
        }
    }

    /// The folder or file on this machine, if it is on this machine.
    pub fn local_path(&self) -> Option<PathBuf> {
        local_path(&self.whole)
    }

    /// The tables.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The URL of a table's files, by their path below the folder.
    pub fn location(&self, relative: &str) -> String {
        match relative {
            "" => self.root.url.clone(),
            _ => format!("{}/{relative}", self.root.url.trim_end_matches('/')),
        }
    }

    /// Whether a table that the catalog has at `location` is the one of these files.
    pub fn is_at(&self, relative: &str, location: &str) -> bool {
        let own = self.location(relative);
        // The catalog keeps URLs in their one form.
        own == location
            || Stores::from_env()
                .resolve(&own)
                .is_ok_and(|own| own.url == location)
    }
}

fn last_name(location: &Location) -> &str {
    location
        .path
        .as_ref()
        .rsplit('/')
        .next()
        .unwrap_or_default()
}

fn local_path(location: &Location) -> Option<PathBuf> {
    let path = location.url.strip_prefix("file://")?;
    Some(Path::new(path).to_owned())
}

async fn is_file(location: &Location) -> bool {
    match local_path(location) {
        Some(path) => path.is_file(),
        None => location.store.head(&location.path).await.is_ok(),
    }
}
