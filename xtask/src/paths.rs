//! Where things are: the workspace and the target folder. It must not create anything.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folders that every step works in.
#[derive(Debug)]
pub(crate) struct Paths {
    /// The root of the workspace.
    pub(crate) root: PathBuf,
    /// Cargo's target folder, wherever a variable or a configuration file put it.
    pub(crate) target: PathBuf,
}

impl Paths {
    /// Finds the folders from where this very program lies: `<target>/<profile>/xtask`.
    pub(crate) fn find() -> Result<Self> {
        let own = std::env::current_exe().context("cannot tell where xtask itself lies")?;
        let target = own
            .parent()
            .and_then(Path::parent)
            .with_context(|| format!("{} does not lie in a target folder", own.display()))?;
        Ok(Self {
            root: workspace_root(),
            target: target.to_path_buf(),
        })
    }

    /// The `fulmar` binary of a profile, `debug` or `release`.
    pub(crate) fn fulmar(&self, profile: &str) -> PathBuf {
        let name = format!("fulmar{}", std::env::consts::EXE_SUFFIX);
        self.target.join(profile).join(name)
    }
}

/// The root of the workspace this program was built from.
pub(crate) fn workspace_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}
