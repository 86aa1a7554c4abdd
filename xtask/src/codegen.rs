//! Generates the Rust code of the wire protocol. It must not depend on protoc, nor on anything but the `.proto` files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail, ensure};

/// Generated files by name, one per protobuf package.
type Generated = BTreeMap<String, String>;

/// Regenerates the committed code, and removes files whose package is gone.
pub(crate) fn write(root: &Path) -> Result<()> {
    let generated = generate(root)?;
    let folder = committed_folder(root);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for name in read_folder(&folder)?
        .keys()
        .filter(|name| !generated.contains_key(*name))
    {
        fs::remove_file(folder.join(name)).with_context(|| format!("cannot remove {name}"))?;
    }
    for (name, text) in &generated {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
        println!("wrote {}", folder.join(name).display());
    }
    Ok(())
}

/// Fails, naming the files, when the committed code is not what generation gives.
pub(crate) fn check(root: &Path) -> Result<()> {
    let stale = differences(&generate(root)?, &read_folder(&committed_folder(root))?);
    ensure!(
        stale.is_empty(),
        "wire/src/generated is stale ({}): run `cargo xtask codegen`",
        stale.join(", ")
    );
    Ok(())
}

/// Compiles every `.proto` file under wire/proto and formats the result.
pub(crate) fn generate(root: &Path) -> Result<Generated> {
    let protos = root.join("wire/proto");
    let files = proto_files(&protos)?;
    ensure!(
        !files.is_empty(),
        "no .proto file under {}",
        protos.display()
    );
    // Protox names file, line and column only in its debug form.
    let descriptors = protox::compile(&files, [&protos])
        .map_err(|error| anyhow!("wire/proto does not compile: {error:?}"))?;
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    tonic_prost_build::configure()
        .out_dir(scratch.path())
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors)
        .context("cannot generate code from wire/proto")?;
    format(root, scratch.path())?;
    read_folder(scratch.path())
}

fn committed_folder(root: &Path) -> PathBuf {
    root.join("wire/src/generated")
}

/// Every `.proto` file below a folder, sorted, so that the output never depends on the file system.
fn proto_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(proto_files(&path)?);
        } else if path.extension() == Some(OsStr::new("proto")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Runs rustfmt with the workspace's settings, so that `cargo fmt --check` agrees however a file is included.
fn format(root: &Path, folder: &Path) -> Result<()> {
    let status = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root.join("rustfmt.toml"))
        .args(read_folder(folder)?.keys().map(|name| folder.join(name)))
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("rustfmt failed on generated code: {status}"),
        Err(error) => {
            Err(error).context("cannot run rustfmt: `rustup component add rustfmt` brings it")
        }
    }
}

/// The `.rs` files of a folder by name; none when the folder does not exist. `mod.rs` is written by hand.
fn read_folder(folder: &Path) -> Result<Generated> {
    let mut files = Generated::new();
    if !folder.exists() {
        return Ok(files);
    }
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(OsStr::to_str) else {
            continue;
        };
        if path.extension() == Some(OsStr::new("rs")) && name != "mod.rs" {
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(name.to_owned(), text);
        }
    }
    Ok(files)
}

/// What would change, as `name missing`, `name differs` or `name has no package`.
fn differences(wanted: &Generated, committed: &Generated) -> Vec<String> {
    let mut stale = Vec::new();
    for (name, text) in wanted {
        match committed.get(name) {
            None => stale.push(format!("{name} missing")),
            Some(other) if other != text => stale.push(format!("{name} differs")),
            Some(_) => {}
        }
    }
    let orphans = committed.keys().filter(|name| !wanted.contains_key(*name));
    stale.extend(orphans.map(|name| format!("{name} has no package")));
    stale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::workspace_root;

    fn generated(files: &[(&str, &str)]) -> Generated {
        files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn committed_code_is_what_the_protos_generate() {
        check(&workspace_root()).unwrap();
    }

    #[test]
    fn every_kind_of_staleness_is_named() {
        let wanted = generated(&[("a.rs", "1"), ("b.rs", "2"), ("c.rs", "3")]);
        let committed = generated(&[("a.rs", "1"), ("b.rs", "0"), ("d.rs", "4")]);
        let stale = ["b.rs differs", "c.rs missing", "d.rs has no package"];
        assert_eq!(differences(&wanted, &committed), stale);
        assert!(differences(&wanted, &wanted).is_empty());
    }

    #[test]
    fn writing_generates_messages_and_services_and_then_passes_the_check() {
        let root = tempfile::tempdir().unwrap();
        let protos = root.path().join("wire/proto/nested");
        fs::create_dir_all(&protos).unwrap();
        fs::copy(
            workspace_root().join("rustfmt.toml"),
            root.path().join("rustfmt.toml"),
        )
        .unwrap();
        let proto = "syntax = \"proto3\"; package a.v1; message M { string name = 1; }
            service S { rpc Get(M) returns (stream M); }";
        fs::write(protos.join("a.proto"), proto).unwrap();
        fs::create_dir_all(committed_folder(root.path())).unwrap();
        fs::write(committed_folder(root.path()).join("gone.v1.rs"), "").unwrap();
        let stale = check(root.path()).unwrap_err().to_string();
        assert!(
            stale.contains("(a.v1.rs missing, gone.v1.rs has no package)"),
            "{stale}"
        );
        write(root.path()).unwrap();
        check(root.path()).unwrap();
        let text = fs::read_to_string(committed_folder(root.path()).join("a.v1.rs")).unwrap();
        assert!(
            text.contains("pub struct M") && text.contains("pub mod s_client"),
            "{text}"
        );
    }

    #[test]
    fn a_proto_that_does_not_parse_is_named_with_its_file() {
        let root = tempfile::tempdir().unwrap();
        let protos = root.path().join("wire/proto");
        fs::create_dir_all(&protos).unwrap();
        fs::write(protos.join("bad.proto"), "syntax = \"proto3\"; message {").unwrap();
        let error = format!("{:#}", generate(root.path()).unwrap_err());
        assert!(error.contains("wire/proto does not compile"), "{error}");
        assert!(error.contains("bad.proto:1:28"), "{error}");
    }
}
