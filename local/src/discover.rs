//! From the paths of files to tables. Pure: it sees names, never a store.
//!
//! A file at the root is a table. A folder that holds Parquet files is a table with everything below
//! it, and so is a folder whose sub-folders are its partitions: one of them `key=value`, or all of them
//! named by a number or date such as `2024/03` or `2024-03-01`. Other folders are looked into. A root
//! that consists of partitions is itself the one table. So is a folder that a Delta log or the like
//! describes: the catalog refuses it as a whole, and its parts must not become tables instead.

use std::collections::BTreeMap;

use store::{described, is_data_file};

/// Where the files of a table are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A folder with everything below it, as names from the root; the root itself when empty.
    Folder(Vec<String>),
    /// One file, as names from the root.
    File(Vec<String>),
}

impl Place {
    /// The names from the root.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Folder(names) | Self::File(names) => names,
        }
    }

    /// The path below the root.
    pub fn relative(&self) -> String {
        self.names().join("/")
    }
}

/// The tables among the paths of all files below a root, sorted. Hidden files and folders (`.x`,
/// `_x`) are not looked at, but for those that describe a table of another format.
pub fn tables<'a>(paths: impl IntoIterator<Item = &'a str, IntoIter: Clone>) -> Vec<Place> {
    let paths = paths.into_iter();
    let mut root = Folder::default();
    for path in paths.clone().filter(|path| is_data_file(path)) {
        root.add(path);
    }
    for (table, _) in paths.filter_map(described) {
        root.mark(table);
    }
    let mut places = root.as_root();
    places.sort();
    places
}

#[derive(Debug, Default)]
struct Folder {
    files: Vec<String>,
    folders: BTreeMap<String, Folder>,
    /// Whether a table format says which of the files count.
    described: bool,
}

impl Folder {
    fn add(&mut self, path: &str) {
        match path.split_once('/') {
            Some((folder, rest)) => self.folders.entry(folder.to_owned()).or_default().add(rest),
            None => self.files.push(path.to_owned()),
        }
    }

    /// Marks a folder as described; one without data files is none.
    fn mark(&mut self, path: &str) {
        if path.is_empty() {
            self.described = true;
            return;
        }
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        if let Some(folder) = self.folders.get_mut(name) {
            folder.mark(rest);
        }
    }

    fn as_root(&self) -> Vec<Place> {
        let partitions = self.folders.keys().all(|name| is_partition(name));
        let partitions = self.files.is_empty() && !self.folders.is_empty() && partitions;
        let is_empty = self.files.is_empty() && self.folders.is_empty();
        if partitions || (self.described && !is_empty) {
            return vec![Place::Folder(Vec::new())];
        }
        let files = self
            .files
            .iter()
            .map(|name| Place::File(vec![name.clone()]));
        let mut places: Vec<Place> = files.collect();
        for (name, folder) in &self.folders {
            folder.collect(&mut vec![name.clone()], &mut places);
        }
        places
    }

    fn collect(&self, names: &mut Vec<String>, places: &mut Vec<Place>) {
        if self.is_table() {
            places.push(Place::Folder(names.clone()));
            return;
        }
        for (name, folder) in &self.folders {
            names.push(name.clone());
            folder.collect(names, places);
            names.pop();
        }
    }

    fn is_table(&self) -> bool {
        // Table formats keep their data files in `data`, beside their metadata.
        let data = self.folders.get("data").is_some_and(Self::is_table);
        let hive = self.folders.keys().any(|name| is_hive(name));
        let dates = !self.folders.is_empty() && self.folders.keys().all(|name| is_date(name));
        !self.files.is_empty() || data || hive || dates || self.described
    }
}

fn is_partition(name: &str) -> bool {
    is_hive(name) || is_date(name)
}

fn is_hive(name: &str) -> bool {
    name.split_once('=').is_some_and(|(key, _)| !key.is_empty())
}

/// A number or a date. Names of tables begin with a digit, too (`2024-orders`), but hold more.
fn is_date(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .chars()
            .all(|each| each.is_ascii_digit() || each == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str]) -> Vec<String> {
        let shown = tables(paths.iter().copied());
        let shown = shown.iter().map(|place| match place {
            Place::Folder(_) => format!("{}/", place.relative()),
            Place::File(_) => place.relative(),
        });
        shown.collect()
    }

    #[test]
    fn folders_and_files_at_the_root_are_tables() {
        for (paths, expected) in [
            (
                vec!["orders/a.parquet", "orders/b.parquet"],
                vec!["orders/"],
            ),
            (
                vec!["a.parquet", "b.PARQ", "c.csv"],
                vec!["a.parquet", "b.PARQ"],
            ),
            (
                vec!["orders/a.parquet", "a.parquet"],
                vec!["orders/", "a.parquet"],
            ),
            (
                vec!["o/month=1/a.parquet", "o/month=2/x=3/a.parquet"],
                vec!["o/"],
            ),
            (
                vec!["o/2024/01/a.parquet", "o/2024/02/a.parquet"],
                vec!["o/"],
            ),
            (
                vec!["o/2024-03-01/a.parquet", "o/2024-03-02/a.parquet"],
                vec!["o/"],
            ),
            (
                vec!["s/2024-orders/a.parquet", "s/3d-models/a.parquet"],
                vec!["s/2024-orders/", "s/3d-models/"],
            ),
            (
                vec!["2023_sales/a.parquet", "2024_sales/a.parquet"],
                vec!["2023_sales/", "2024_sales/"],
            ),
            (
                vec!["s/2024/a.parquet", "s/orders/a.parquet"],
                vec!["s/2024/", "s/orders/"],
            ),
            (vec!["o/a.parquet", "o/late/b.parquet"], vec!["o/"]),
            (
                vec!["sales/o/a.parquet", "sales/c/a.parquet"],
                vec!["sales/c/", "sales/o/"],
            ),
            (vec!["o/data/a.parquet", "o/metadata/x.avro"], vec!["o/"]),
            (
                vec!["data/o/a.parquet", "data/c/a.parquet"],
                vec!["data/c/", "data/o/"],
            ),
            (vec!["notes.txt"], vec![]),
        ] {
            assert_eq!(found(&paths), expected, "{paths:?}");
        }
    }

    #[test]
    fn a_root_of_partitions_is_one_table() {
        assert_eq!(found(&["c=UK/a.parquet", "c=US/m=1/a.parquet"]), ["/"]);
        assert_eq!(found(&["2024/01/a.parquet", "2025/01/a.parquet"]), ["/"]);
        let mixed = ["c=UK/a.parquet", "orders/a.parquet"];
        assert_eq!(found(&mixed), ["c=UK/", "orders/"]);
    }

    #[test]
    fn a_folder_that_a_table_format_describes_stays_whole() {
        for (paths, expected) in [
            (
                vec!["a.parquet", "_delta_log/00000000000000000000.json"],
                vec!["/"],
            ),
            (
                vec!["data/a.parquet", "metadata/v1.metadata.json"],
                vec!["/"],
            ),
            (
                vec![
                    "s/t/data/0110/a.parquet",
                    "s/t/data/1010/b.parquet",
                    "s/t/metadata/v1.metadata.json",
                    "s/o/a.parquet",
                ],
                vec!["s/o/", "s/t/"],
            ),
            (
                vec!["o/a.parquet", "w/main/o/1/metadata/0.metadata.json"],
                vec!["o/"],
            ),
            (vec!["t/metadata/v1.metadata.json"], vec![]),
            (vec!["metadata/v1.metadata.json"], vec![]),
        ] {
            assert_eq!(found(&paths), expected, "{paths:?}");
        }
    }

    #[test]
    fn hidden_files_and_folders_are_not_looked_at() {
        let hidden = [
            "o/_delta_log/1.checkpoint.parquet",
            "o/.tmp/a.parquet",
            "_staging/a.parquet",
            ".a.parquet",
            "o/_a.parquet",
        ];
        assert_eq!(found(&hidden), [""; 0]);
        assert_eq!(found(&["o/_k=1/a.parquet"]), ["o/"]);
    }
}
