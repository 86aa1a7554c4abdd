//! The one form of a location: `scheme://authority/key`, as text, never percent-encoded.
//!
//! A location is the exact name of a thing in its store, as in Iceberg metadata and Hadoop paths. A
//! space, `%`, `=` or `ü` in a name stands for itself, so `%20` in a location is three characters of the
//! name. Nothing is decoded here; only Hive partition values are, when they are parsed.

use std::path::{Component, PathBuf};

/// A location taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// Lower-case scheme, with aliases replaced (`s3a` is `s3`).
    pub scheme: String,
    /// Bucket or container, empty for local files.
    pub authority: String,
    /// The name within the store, without slashes at its ends.
    pub key: String,
}

impl Split {
    /// The part that names the store: `file://`, `s3://bucket`.
    pub(crate) fn root(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }
}

/// Takes a URL or a local path apart; a relative path is resolved against the working directory.
pub(crate) fn split(text: &str) -> Result<Split, String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    match scheme_of(text) {
        Some((scheme, rest)) => split_url(&scheme, rest),
        None => local(text),
    }
}

fn scheme_of(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = match text.split_once("://") {
        Some(parts) => parts,
        None => ("file", text.strip_prefix("file:")?),
    };
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '+';
    (!scheme.is_empty() && scheme.chars().all(letters)).then(|| (scheme.to_ascii_lowercase(), rest))
}

fn split_url(scheme: &str, rest: &str) -> Result<Split, String> {
    let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
    let scheme = match scheme {
        "file" => return local_url(authority, key),
        "memory" => "memory",
        "s3" | "s3a" | "s3n" => "s3",
        "gs" | "gcs" => "gs",
        "az" | "azure" | "adl" => "az",
        "abfs" => "abfs",
        "abfss" => "abfss",
        other => return Err(format!("the scheme {other:?} is not known")),
    };
    if authority.is_empty() && scheme != "memory" {
        return Err("it names no bucket or container".to_owned());
    }
    Ok(Split {
        scheme: scheme.to_owned(),
        authority: authority.to_owned(),
        key: key.trim_matches('/').to_owned(),
    })
}

fn local_url(authority: &str, key: &str) -> Result<Split, String> {
    if !matches!(authority, "" | "localhost") {
        return Err(format!("{authority:?} is not this machine"));
    }
    local(&format!("/{key}"))
}

fn local(text: &str) -> Result<Split, String> {
    let absolute = std::path::absolute(text).map_err(|error| error.to_string())?;
    let mut clean = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::Normal(name) => clean.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let key = clean.to_str().ok_or("it is not valid Unicode")?.to_owned();
    Ok(Split {
        scheme: "file".to_owned(),
        authority: String::new(),
        key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<String, String> {
        split(text).map(|split| format!("{}/{}", split.root(), split.key))
    }

    #[test]
    fn locations_take_one_form() {
        let cases = [
            (
                "/data/a b/x=1/ü%20.parquet",
                "file:///data/a b/x=1/ü%20.parquet",
            ),
            ("file:///data/x.parquet", "file:///data/x.parquet"),
            ("file:/data//x.parquet", "file:///data/x.parquet"),
            ("file://localhost/data/./y/../x", "file:///data/x"),
            ("/data/folder/", "file:///data/folder"),
            ("/", "file:///"),
            ("S3://bucket/a/b?c#d", "s3://bucket/a/b?c#d"),
            ("s3a://bucket", "s3://bucket/"),
            ("s3://bucket/a%3Db/", "s3://bucket/a%3Db"),
            ("gs://bucket/k", "gs://bucket/k"),
            (
                "abfss://c@acc.dfs.core.windows.net/k",
                "abfss://c@acc.dfs.core.windows.net/k",
            ),
            ("memory:///k", "memory:///k"),
        ];
        for (given, expected) in cases {
            assert_eq!(whole(given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn relative_paths_start_at_the_working_directory() {
        let here = std::env::current_dir().unwrap();
        let expected = format!("file://{}/x.parquet", here.display());
        assert_eq!(whole("x.parquet").unwrap(), expected);
    }

    #[test]
    fn unusable_locations_say_why() {
        for (given, reason) in [
            ("", "empty"),
            ("ftp://host/x", "\"ftp\" is not known"),
            ("s3:///x", "no bucket"),
            ("file://other/x", "not this machine"),
        ] {
            let error = whole(given).unwrap_err();
            assert!(error.contains(reason), "{given}: {error}");
        }
    }
}
