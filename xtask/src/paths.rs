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

/// The root of the workspace. Cargo says it when it runs this program; what was compiled in comes second, because clones
/// that share a target folder overwrite each other's binaries.
pub(crate) fn workspace_root() -> PathBuf {
    let compiled_in = || env!("CARGO_MANIFEST_DIR").into();
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(compiled_in));
    own.parent().unwrap_or(&own).to_path_buf()
}
