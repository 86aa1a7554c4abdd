//! Prepares benchmarks of the whole system: release binary, fixtures, Python. It must not measure anything itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::paths::Paths;
use crate::run::run;
use crate::suite::cargo;
use crate::venv;

/// The tables of orders that are measured.
const KINDS: [&str; 6] = [
    "orders-by-month",
    "orders-sorted",
    "orders-shuffled",
    "orders-paged",
    "orders-paged-dictionary",
    "orders-bloom",
];

/// Flags of the scans of an object store.
#[derive(Debug, clap::Args)]
pub(crate) struct Scan {
    /// Rows of each table of orders.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    rows: u64,
    /// Repetitions of each engine and network, interleaved.
    #[arg(long, value_name = "N", default_value_t = 5)]
    reps: u32,
    /// Only these queries; a wrong name lists them.
    #[arg(long, value_name = "A,B")]
    queries: Option<String>,
    /// Only these engines; a wrong name lists them.
    #[arg(long, value_name = "A,B")]
    engines: Option<String>,
    #[command(flatten)]
    report: Report,
}

/// Flags of the Flight servers.
#[derive(Debug, clap::Args)]
pub(crate) struct Flight {
    /// Repetitions of the full scan.
    #[arg(long, value_name = "N", default_value_t = 3)]
    reps: u32,
    /// Only these servers; a wrong name lists them.
    #[arg(long, value_name = "A,B")]
    servers: Option<String>,
    #[command(flatten)]
    report: Report,
}

/// Flags of the local files.
#[derive(Debug, clap::Args)]
pub(crate) struct Local {
    /// Rows of each table of orders.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    rows: u64,
    /// Repetitions of each engine, interleaved.
    #[arg(long, value_name = "N", default_value_t = 7)]
    reps: u32,
}

/// Flags of decoding in memory.
#[derive(Debug, clap::Args)]
pub(crate) struct Decode {
    /// Rows of the file.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    rows: u64,
    /// Seconds for each query and engine.
    #[arg(long, value_name = "S", default_value_t = 5)]
    seconds: u32,
    #[command(flatten)]
    report: Report,
}

/// Where a report goes.
#[derive(Debug, clap::Args)]
struct Report {
    /// The file whose section is replaced [default: docs/benchmarks.md when all is measured, else the terminal].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Report {
    /// Adds the flag to a benchmark that measures the `whole` or a part.
    fn add(&self, paths: &Paths, whole: bool, command: &mut Command) -> Result<()> {
        let default = || whole.then(|| paths.root.join("docs/benchmarks.md"));
        if let Some(out) = self.out.clone().or_else(default) {
            // Python starts in the root of the workspace.
            let out = std::path::absolute(&out);
            command
                .arg("--out")
                .arg(out.context("cannot tell the current folder")?);
        }
        Ok(())
    }
}

/// Measures the thirteen queries over an object store on every engine.
pub(crate) fn scan(paths: &Paths, flags: &Scan) -> Result<()> {
    let binary = release(paths)?;
    let mut command = benchmark(paths, "scan", &binary)?;
    command.args(["--reps", &flags.reps.to_string()]);
    command
        .arg("--fixtures")
        .arg(fixtures(paths, &binary, flags.rows)?);
    command.arg("--tpch").arg(tpch(paths));
    option(&mut command, "--queries", flags.queries.as_ref());
    option(&mut command, "--engines", flags.engines.as_ref());
    let whole = flags.queries.is_none() && flags.engines.is_none();
    flags.report.add(paths, whole, &mut command)?;
    run(&mut command)
}

/// Measures Flight servers over lineitem.
pub(crate) fn flight(paths: &Paths, flags: &Flight) -> Result<()> {
    let binary = release(paths)?;
    let mut command = benchmark(paths, "flight", &binary)?;
    command.args(["--reps", &flags.reps.to_string()]);
    command.arg("--tpch").arg(tpch(paths));
    match servers(paths) {
        Ok(programs) => {
            command.arg("--peers").arg(programs);
        }
        Err(error) => println!("skipping other servers: {error:#}"),
    }
    option(&mut command, "--servers", flags.servers.as_ref());
    flags
        .report
        .add(paths, flags.servers.is_none(), &mut command)?;
    run(&mut command)
}

/// Measures the fortnight query over local files on four engines.
pub(crate) fn local(paths: &Paths, flags: &Local) -> Result<()> {
    let binary = release(paths)?;
    let mut command = benchmark(paths, "local", &binary)?;
    command.args(["--reps", &flags.reps.to_string()]);
    command
        .arg("--fixtures")
        .arg(fixtures(paths, &binary, flags.rows)?);
    run(&mut command)
}

/// Measures decoding and filtering in memory beside DataFusion's own scan.
pub(crate) fn decode(paths: &Paths, flags: &Decode) -> Result<()> {
    let binary = release(paths)?;
    run(cargo(paths).args([
        "build",
        "--release",
        "--workspace",
        "--bin",
        "fulmar-decode-bench",
    ]))?;
    let mut command = benchmark(paths, "decode", &binary)?;
    command
        .args(["--seconds", &flags.seconds.to_string()])
        .arg("--fixtures")
        .arg(fixtures(paths, &binary, flags.rows)?)
        .args(["--rows", &flags.rows.to_string()]);
    flags.report.add(paths, true, &mut command)?;
    run(&mut command)
}

/// Builds the binary that is measured.
fn release(paths: &Paths) -> Result<PathBuf> {
    run(cargo(paths).args(["build", "--release", "--workspace", "--bin", "fulmar"]))?;
    let binary = paths.fulmar("release");
    ensure!(binary.exists(), "{} was not built", binary.display());
    Ok(binary)
}

/// A benchmark of the Python package, with the engines that it needs installed.
fn benchmark(paths: &Paths, name: &str, binary: &Path) -> Result<Command> {
    let requirements = paths.root.join("benches/requirements.txt");
    let python = venv::ensure(&paths.target.join("bench-venv"), &requirements)?;
    let mut command = Command::new(python);
    command
        .current_dir(&paths.root)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(["-m", "benches", name, "--fulmar"])
        .arg(binary);
    Ok(command)
}

fn option(command: &mut Command, name: &str, value: Option<&String>) {
    if let Some(value) = value {
        command.args([name, value]);
    }
}

/// Installs other Flight servers; the folder of their programs.
fn servers(paths: &Paths) -> Result<PathBuf> {
    let requirements = paths.root.join("benches/requirements-servers.txt");
    let python = venv::ensure(&paths.target.join("bench-servers-venv"), &requirements)?;
    let programs = python.parent().context("no folder of programs")?;
    Ok(programs.to_path_buf())
}

/// Where lineitem is kept once it was made.
fn tpch(paths: &Paths) -> PathBuf {
    paths.target.join("bench-fixtures/tpch-sf1")
}

/// Makes the tables of orders once per number of rows; each kind is a sub-folder, and so a table.
fn fixtures(paths: &Paths, binary: &Path, rows: u64) -> Result<PathBuf> {
    let folder = paths.target.join(format!("bench-fixtures/{rows}"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let known = kinds(binary)?;
    for kind in KINDS {
        let table = folder.join(kind.replace('-', "_"));
        if table.exists() {
            continue;
        }
        if !known.iter().any(|known| known == kind) {
            println!("skipping {kind}: this binary cannot make it");
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

/// The words of the help of `fulmar fixtures`, among which are the kinds that it makes.
fn kinds(binary: &Path) -> Result<Vec<String>> {
    let output = Command::new(binary).args(["fixtures", "--help"]).output();
    let output = output.with_context(|| format!("cannot run {}", binary.display()))?;
    let help = String::from_utf8_lossy(&output.stdout);
    let words = help.split(|c: char| !c.is_ascii_lowercase() && c != '-');
    Ok(words.map(str::to_owned).collect())
}
