//! The whole test run, in order: build, Rust tests, manifests, real clients. It must not hold a test itself.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::paths::Paths;
use crate::run::{run, run_and_watch};
use crate::summary::Summary;
use crate::venv;

/// Runs every test; with `clients`, also those that need Python.
pub(crate) fn test(paths: &Paths, clients: bool) -> Result<()> {
    let mut summary = Summary::default();
    let built = summary.step("build", || build(paths));
    if built {
        summary.step("rust", || rust(paths));
    }
    if clients {
        let mut python = PathBuf::new();
        let ready = summary.step("python", || {
            let requirements = paths.root.join("tests/clients/requirements.txt");
            python = venv::ensure(&paths.target.join("clients-venv"), &requirements)?;
            Ok(String::new())
        });
        if ready && built {
            summary.step("manifests", || pytest(paths, &python, "tests/deploy"));
            summary.step("clients", || pytest(paths, &python, "tests/clients"));
        }
    }
    summary.finish()
}

/// Builds the binary together with all tests, so that both resolve the same features and nothing is built twice.
fn build(paths: &Paths) -> Result<String> {
    run(cargo(paths).args(["build", "--workspace", "--bins", "--tests"]))?;
    let binary = paths.fulmar("debug");
    ensure!(binary.exists(), "{} was not built", binary.display());
    Ok(String::new())
}

fn rust(paths: &Paths) -> Result<String> {
    let mut counts = Counts::default();
    run_and_watch(
        cargo(paths).args(["test", "--workspace", "--no-fail-fast"]),
        |line| {
            counts.add(line);
        },
    )
    .map_err(|error| error.context(counts.to_string()))?;
    Ok(counts.to_string())
}

fn pytest(paths: &Paths, python: &Path, folder: &str) -> Result<String> {
    let mut last = String::new();
    let mut command = Command::new(python);
    command
        .args([
            "-m",
            "pytest",
            "--color=no",
            "-p",
            "no:cacheprovider",
            folder,
        ])
        .current_dir(&paths.root)
        .env("FULMAR_BIN", paths.fulmar("debug"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    run_and_watch(&mut command, |line| {
        if line.starts_with("===") {
            line.trim_matches(['=', ' ']).clone_into(&mut last);
        }
    })
    .map_err(|error| error.context(last.clone()))?;
    Ok(last)
}

/// The same cargo that runs this program, in the workspace, with the same target folder.
pub(crate) fn cargo(paths: &Paths) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Cargo describes this package to us in its environment. Build scripts of dependencies (ring's)
    // watch those variables: handed on, they would rebuild most of the tree at every turn between
    // `cargo xtask` and plain cargo.
    for (name, _) in std::env::vars_os().filter(|(name, _)| describes_package(name)) {
        command.env_remove(name);
    }
    command
        .current_dir(&paths.root)
        .env("CARGO_TARGET_DIR", &paths.target);
    command
}

/// Whether `cargo run` sets a variable for the program alone.
fn describes_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
        "CARGO_PRIMARY_",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// Sums of the `test result:` lines that test binaries print.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        let words: Vec<_> = result
            .split([' ', ';', '.'])
            .filter(|word| !word.is_empty())
            .collect();
        for pair in words.windows(2) {
            let [count, what] = pair else { continue };
            let Ok(count) = count.parse::<u64>() else {
                continue;
            };
            match *what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} ignored",
            self.passed, self.failed, self.ignored
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_started_by_us_is_not_told_of_our_package() {
        let paths = Paths {
            root: ".".into(),
            target: "target".into(),
        };
        let removed: Vec<_> = cargo(&paths)
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_owned())
            .collect();
        assert!(
            removed.iter().any(|name| name == "CARGO_MANIFEST_DIR"),
            "{removed:?}"
        );
        assert!(
            !removed.iter().any(|name| name == "CARGO_HOME"),
            "{removed:?}"
        );
    }

    #[test]
    fn results_of_all_test_binaries_are_summed() {
        let mut counts = Counts::default();
        counts.add("test a::b ... ok");
        counts.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.31s");
        counts.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1s");
        assert_eq!(
            counts,
            Counts {
                passed: 15,
                failed: 2,
                ignored: 1
            }
        );
    }
}
