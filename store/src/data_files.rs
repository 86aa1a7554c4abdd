//! Which objects are data files. Only names are looked at, and this is the only place that does.
//!
//! Names that begin with `_` or `.` are not data, nor is anything in folders of such names, except
//! `_key=value` folders. Of the others, those that end in `.parquet` or `.parq` are.

/// Endings of Parquet files, in lower case.
const ENDINGS: [&str; 2] = [".parquet", ".parq"];

/// Whether a path below a table's folder is that of a data file.
pub fn is_data_file(relative: &str) -> bool {
    !is_hidden(relative) && has_data_ending(relative)
}

/// Whether a path ends as Parquet files do.
pub fn has_data_ending(relative: &str) -> bool {
    let lower = relative.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// Whether a path is hidden, or lies in a hidden folder.
pub fn is_hidden(relative: &str) -> bool {
    let hidden = |name: &str| {
        name.is_empty() || name.starts_with('.') || name.starts_with('_') && !name.contains('=')
    };
    let (folders, name) = relative.rsplit_once('/').unwrap_or(("", relative));
    let in_hidden = !folders.is_empty() && folders.split('/').any(hidden);
    in_hidden || name.is_empty() || name.starts_with(['.', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_what_is_data() {
        let data = [
            "a.parquet",
            "A.PARQ",
            "x=1/a.parquet",
            "_k=1/a.parquet",
            "a b/ü%20.parquet",
        ];
        let not = [
            "_a.parquet",
            ".a.parquet",
            "_temporary/a.parquet",
            "x/.hidden/a.parquet",
            "_k=1.parquet",
            "a.csv",
            "_SUCCESS",
        ];
        assert!(data.iter().all(|path| is_data_file(path)));
        for path in not {
            assert!(!is_data_file(path), "{path}");
        }
    }
}
