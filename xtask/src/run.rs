//! Runs other programs and keeps what their output says of test counts. It must not decide what to run.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a program on this terminal; an error names it when it cannot start or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = display(command);
    let status = command
        .status()
        .with_context(|| format!("cannot run `{name}`"))?;
    if !status.success() {
        bail!("`{name}` failed: {status}");
    }
    Ok(())
}

/// Runs a program, shows its output as it comes, and hands every line of it to `look` as well.
pub(crate) fn run_and_watch(command: &mut Command, mut look: impl FnMut(&str)) -> Result<()> {
    let name = display(command);
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot run `{name}`"))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.with_context(|| format!("cannot read the output of `{name}`"))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            look(&line);
        }
    }
    let status = child
        .wait()
        .with_context(|| format!("cannot wait for `{name}`"))?;
    if !status.success() {
        bail!("`{name}` failed: {status}");
    }
    Ok(())
}

/// The command as one would type it, without its folders.
fn display(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("/nowhere/no-such-program")).unwrap_err();
        assert!(
            format!("{error:#}").starts_with("cannot run `no-such-program`"),
            "{error:#}"
        );
    }

    #[test]
    fn a_failing_program_is_named_with_its_status() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(
            error.to_string().contains("`sh -c exit 3` failed"),
            "{error}"
        );
    }

    #[test]
    fn every_line_is_watched() {
        let mut lines = Vec::new();
        run_and_watch(Command::new("printf").arg("a\nb"), |line| {
            lines.push(line.to_owned());
        })
        .unwrap();
        assert_eq!(lines, ["a", "b"]);
    }
}
