//! Folders whose files do not all count, because a log or metadata of a table format says which do. Only
//! names are looked at.

use std::fmt;

/// A format of tables that lie in Parquet files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Delta Lake.
    Delta,
    /// Apache Iceberg.
    Iceberg,
    /// Apache Hudi.
    Hudi,
}

impl TableFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Delta, Self::Iceberg, Self::Hudi];

    /// The folder within a table that describes it.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Delta => "_delta_log",
            Self::Iceberg => "metadata",
            Self::Hudi => ".hoodie",
        }
    }

    /// Whether a file in that folder describes the table. A folder named `metadata` alone says nothing.
    fn has(self, name: &str) -> bool {
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match self {
            Self::Delta => ends(&[".json", ".checkpoint.parquet"]),
            Self::Iceberg => ends(&[".metadata.json", ".metadata.json.gz"]),
            Self::Hudi => name == "hoodie.properties",
        }
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delta => "a Delta table",
            Self::Iceberg => "an Iceberg table",
            Self::Hudi => "a Hudi table",
        })
    }
}

/// The folder that a file describes as a table, when it is of a log or of metadata. Both are paths below
/// the same folder, which itself is the empty path.
pub fn described(relative: &str) -> Option<(&str, TableFormat)> {
    let (folder, name) = relative.rsplit_once('/')?;
    let (table, folder) = folder.rsplit_once('/').unwrap_or(("", folder));
    let mut formats = TableFormat::ALL.into_iter();
    let format = formats.find(|format| folder == format.folder() && format.has(name))?;
    Some((table, format))
}

/// The folder of the whole table, should the folder at `path` be a part of one: above its partitions, and
/// above `data`. Nothing when the folder is neither.
pub fn whole_table(path: &str) -> Option<&str> {
    let mut whole = path;
    while let Some(above) = above(whole, |name| name.contains('=')) {
        whole = above;
    }
    let whole = above(whole, |name| name == "data").unwrap_or(whole);
    (whole.len() < path.len()).then_some(whole)
}

/// The folder above the last one, when that is `wanted`.
fn above(path: &str, wanted: impl Fn(&str) -> bool) -> Option<&str> {
    let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
    wanted(last).then_some(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_metadata_describe_the_folder_that_they_lie_in() {
        for (path, expected) in [
            (
                "_delta_log/00000000000000000000.json",
                Some(("", TableFormat::Delta)),
            ),
            (
                "a/t/_delta_log/00000000000000000010.checkpoint.parquet",
                Some(("a/t", TableFormat::Delta)),
            ),
            (
                "t/metadata/v1.metadata.json",
                Some(("t", TableFormat::Iceberg)),
            ),
            (
                "metadata/00001-x.gz.metadata.json",
                Some(("", TableFormat::Iceberg)),
            ),
            (
                "t/.hoodie/hoodie.properties",
                Some(("t", TableFormat::Hudi)),
            ),
            ("metadata/columns.json", None),
            ("metadata/a.parquet", None),
            ("v1.metadata.json", None),
            ("metadata/old/v1.metadata.json", None),
            ("my_delta_log/0.json", None),
            ("a.parquet", None),
        ] {
            assert_eq!(described(path), expected, "{path}");
        }
    }

    #[test]
    fn partitions_and_data_are_parts_of_a_table() {
        for (path, expected) in [
            ("lake/t/data", Some("lake/t")),
            ("lake/t/data/year=2024/month=1", Some("lake/t")),
            ("lake/t/year=2024", Some("lake/t")),
            ("data", Some("")),
            ("lake/t", None),
            ("data/t", None),
            ("", None),
        ] {
            assert_eq!(whole_table(path), expected, "{path}");
        }
    }
}
