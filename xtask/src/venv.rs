//! Keeps a Python virtual environment equal to a requirements file. It must not run anything but pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::run;

/// Makes or refreshes the environment in `folder`; returns its Python. Does nothing when a stamp says that the same
/// requirements were installed by the same Python before.
pub(crate) fn ensure(folder: &Path, requirements: &Path) -> Result<PathBuf> {
    let wanted = fs::read_to_string(requirements);
    let wanted = wanted.with_context(|| format!("cannot read {}", requirements.display()))?;
    let wanted = format!("{}\n{wanted}", python_version()?);
    let python = folder.join("bin/python");
    let stamp = folder.join("requirements.stamp");
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    install(folder, &python, requirements)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(python)
}

fn install(folder: &Path, python: &Path, requirements: &Path) -> Result<()> {
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(folder))
    .context("cannot make a virtual environment: is python3-venv installed?")?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ];
    run(Command::new(python).args(pip).arg(requirements))
        .with_context(|| format!("cannot install {}", requirements.display()))
}

/// The version line of `python3`; the error says what to install.
fn python_version() -> Result<String> {
    let output = Command::new("python3").arg("--version").output();
    let output = output.context("python3 is missing: install it, or pass --no-clients")?;
    if !output.status.success() {
        bail!("`python3 --version` failed: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
