//! The state folder: the catalog's database, the warehouse, the ticket key, and which tables were
//! made here. Locked while it is used, and bound to the data it was made for.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wire::TicketKeys;

use crate::error::LocalError;
use crate::names::usable;
use crate::source::Source;

/// An open state folder.
#[derive(Debug)]
pub struct State {
    folder: PathBuf,
    made: Made,
    // Held for as long as the services run.
    _lock: File,
}

/// The tables that were made for the user's files.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Made {
    data: String,
    /// Names by place below the data folder.
    tables: BTreeMap<String, String>,
}

impl State {
    /// Opens the state of some data; in the default place when no folder is named.
    ///
    /// # Errors
    /// When the folder cannot be used, is in use, or belongs to other data.
    pub fn open(folder: Option<&Path>, source: &Source) -> Result<Self, LocalError> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => default_folder(source)?,
        };
        fs::create_dir_all(&folder).map_err(LocalError::state(&folder))?;
        let lock = lock(&folder)?;
        let mut state = Self {
            made: read_made(&folder.join("tables.json"))?,
            folder,
            _lock: lock,
        };
        if state.made.data.is_empty() {
            source.url().clone_into(&mut state.made.data);
            state.save()?;
        }
        if state.made.data != source.url() {
            return Err(LocalError::OtherData {
                path: state.folder,
                owner: state.made.data,
            });
        }
        Ok(state)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The catalog's database.
    pub fn database(&self) -> String {
        self.folder.join("catalog.sqlite").display().to_string()
    }

    /// Where managed tables keep their metadata.
    pub fn warehouse(&self) -> String {
        self.folder.join("warehouse").display().to_string()
    }

    /// The names of tables that were made here, by place.
    pub fn tables(&self) -> &BTreeMap<String, String> {
        &self.made.tables
    }

    /// Remembers which tables were made here.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn set_tables(&mut self, tables: BTreeMap<String, String>) -> Result<(), LocalError> {
        if self.made.tables == tables {
            return Ok(());
        }
        self.made.tables = tables;
        self.save()
    }

    /// The key that signs tickets: made once, so that tickets outlive a restart.
    ///
    /// # Errors
    /// When it cannot be read or made.
    pub fn ticket_keys(&self) -> Result<TicketKeys, LocalError> {
        let path = self.folder.join("ticket.key");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => make_key(&path)?,
            Err(error) => return Err(LocalError::state(&path)(error)),
        };
        TicketKeys::parse(text.trim()).map_err(|error| LocalError::Damaged {
            path,
            reason: error.to_string(),
        })
    }

    fn save(&self) -> Result<(), LocalError> {
        let path = self.folder.join("tables.json");
        let text = serde_json::to_vec_pretty(&self.made).map_err(|error| LocalError::Damaged {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        replace(&path, &text).map_err(LocalError::state(&path))
    }
}

fn read_made(path: &Path) -> Result<Made, LocalError> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| LocalError::Damaged {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Made::default()),
        Err(error) => Err(LocalError::state(path)(error)),
    }
}

fn lock(folder: &Path) -> Result<File, LocalError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(LocalError::state(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LocalError::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(LocalError::state(&path)(error)),
    }
}

fn make_key(path: &Path) -> Result<String, LocalError> {
    let key: [u8; 32] = rand::random();
    let hex: Vec<String> = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!("local:{}\n", hex.concat());
    replace(path, text.as_bytes()).map_err(LocalError::state(path))?;
    Ok(text)
}

/// Writes a file that only its owner may read, whole or not at all.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let partial = path.with_extension("partial");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&partial)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&partial, path)
}

/// A hidden folder beside the data when that can be written, else one under the user's data directory.
fn default_folder(source: &Source) -> Result<PathBuf, LocalError> {
    let beside = source.local_path().and_then(|path| beside(&path));
    let own = dirs::data_dir().map(|folder| folder.join("fulmar").join(usable(source.url())));
    let candidates = [beside, own];
    let mut candidates = candidates.into_iter().flatten();
    candidates
        .find(|folder| is_writable(folder))
        .ok_or_else(|| LocalError::NoState(source.given().to_owned()))
}

fn beside(data: &Path) -> Option<PathBuf> {
    let name = data.file_name()?.to_string_lossy();
    Some(data.parent()?.join(format!(".fulmar-{name}")))
}

fn is_writable(folder: &Path) -> bool {
    fs::create_dir_all(folder).is_ok() && {
        let probe = folder.join("probe.partial");
        let written = File::create(&probe).is_ok();
        let _ = fs::remove_file(&probe);
        written
    }
}
