//! The files that an adoption has written, until a table refers to them: removed again when none will,
//! on disk for good before one does.

use std::io;
use std::path::{Path, PathBuf};

use object_store::{ObjectStoreExt, PutMode, PutOptions};
use store::{Location, StoreError};
use tokio::runtime::Handle;

use crate::error::CatalogError;

/// Written files. Dropped before [`Written::keep`], they are removed.
#[derive(Debug)]
pub(crate) struct Written {
    /// The folder that they are in, which is theirs alone.
    folder: Location,
    files: Vec<Location>,
}

impl Written {
    /// Nothing yet, in a folder that nobody used before.
    pub(super) fn new(folder: Location) -> Self {
        let files = Vec::new();
        Self { folder, files }
    }

    /// Writes a file that must not exist.
    pub(super) async fn put(
        &mut self,
        location: Location,
        bytes: bytes::Bytes,
    ) -> Result<(), CatalogError> {
        let options = PutOptions::from(PutMode::Create);
        // Noted first: a write that is broken off may leave the file.
        self.files.push(location.clone());
        let put = location
            .store
            .put_opts(&location.path, bytes.into(), options);
        match put.await {
            Ok(_) => Ok(()),
            Err(error) => Err(StoreError::of(&location.url, &error).into()),
        }
    }

    /// Waits until the files and the folders that name them are on disk, when they are local; other
    /// stores acknowledge nothing before. `above` is the folder that was there before.
    pub(super) async fn sync(&self, above: &Location) -> Result<(), CatalogError> {
        let Some(top) = local_path(above) else {
            return Ok(());
        };
        let files: Vec<PathBuf> = self.files.iter().filter_map(local_path).collect();
        let synced = tokio::task::spawn_blocking(move || sync_all(&files, &top)).await;
        let synced = synced.map_err(|error| CatalogError::Interrupted(error.to_string()))?;
        synced.map_err(|error| {
            let error = object_store::Error::Generic {
                store: "LocalFileSystem",
                source: Box::new(error),
            };
            StoreError::of(&self.folder.url, &error).into()
        })
    }

    /// Lets the files be: a table refers to them.
    pub(crate) fn keep(mut self) {
        self.files.clear();
    }

    /// Removes the files: no table will refer to them.
    pub(crate) async fn remove(mut self) {
        remove(std::mem::take(&mut self.files), self.folder.clone()).await;
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if !self.files.is_empty()
            && let Ok(runtime) = Handle::try_current()
        {
            let files = std::mem::take(&mut self.files);
            runtime.spawn(remove(files, self.folder.clone()));
        }
    }
}

/// The last first: whoever finds the metadata finds all that it names.
async fn remove(files: Vec<Location>, folder: Location) {
    for file in files.iter().rev() {
        match file.store.delete(&file.path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => {
                tracing::warn!(file = %file, %error, "file of a failed adoption could not be removed");
            }
        }
    }
    let Some(top) = local_path(&folder) else {
        return;
    };
    let folders = files
        .iter()
        .filter_map(local_path)
        .filter_map(|file| Some(file.parent()?.to_owned()));
    for inner in folders.chain([top]) {
        // Each but the first file's folder is gone already.
        let _ = tokio::fs::remove_dir(inner).await;
    }
}

fn sync_all(files: &[PathBuf], top: &Path) -> io::Result<()> {
    let mut folders: Vec<&Path> = files
        .iter()
        .flat_map(|file| file.ancestors().skip(1))
        .filter(|folder| folder.starts_with(top))
        .collect();
    folders.sort_unstable();
    folders.dedup();
    for path in files.iter().map(PathBuf::as_path).chain(folders) {
        std::fs::File::open(path)?.sync_all()?;
    }
    Ok(())
}

fn local_path(location: &Location) -> Option<PathBuf> {
    location.url.strip_prefix("file://").map(PathBuf::from)
}
