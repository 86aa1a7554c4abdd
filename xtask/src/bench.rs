//! Prepares benchmarks of the whole system: release binary, fixtures, Python. It must not measure anything itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::paths::Paths;
use crate::run::run;
use crate::suite::cargo;
use crate::venv;

/// The fixtures that the fortnight is measured on.
const KINDS: [&str; 5] = [
    "orders-by-month",
    "orders-sorted",
    "orders-shuffled",
    "orders-paged",
    "orders-paged-dictionary",
];

/// Measures the fortnight query on Fulmar and on three engines over the same files.
pub(crate) fn scan(paths: &Paths, rows: u64, reps: u32) -> Result<()> {
    run(cargo(paths).args(["build", "--release", "--workspace", "--bin", "fulmar"]))?;
    let requirements = paths.root.join("benches/requirements.txt");
    let python = venv::ensure(&paths.target.join("bench-venv"), &requirements)?;
    let binary = paths.fulmar("release");
    let data = fixtures(paths, &binary, rows)?;
    run(Command::new(python)
        .arg(paths.root.join("benches/scan.py"))
        .arg("--data")
        .arg(data)
        .arg("--fulmar")
        .arg(binary)
        .args(["--reps", &reps.to_string()]))
}

/// Makes the fixtures once per number of rows; each kind is a sub-folder, and so a table.
fn fixtures(paths: &Paths, binary: &Path, rows: u64) -> Result<PathBuf> {
    let folder = paths.target.join(format!("bench-fixtures/{rows}"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for kind in KINDS {
        let table = folder.join(kind.replace('-', "_"));
        if table.exists() {
            continue;
        }
        // Made under another name first: an interrupted run must not leave half a table behind.
        let unfinished = folder.join(format!(".{kind}"));
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).context("cannot remove an unfinished fixture")?;
        }
        run(Command::new(binary)
            .args(["fixtures", "--kind", kind, "--rows", &rows.to_string()])
            .arg(&unfinished))?;
        fs::rename(&unfinished, &table)
            .with_context(|| format!("cannot rename {}", unfinished.display()))?;
    }
    Ok(folder)
}
