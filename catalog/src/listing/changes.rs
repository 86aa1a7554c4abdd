//! What came, went and stayed between a snapshot and a listing. Pure.

use std::collections::HashMap;

use super::objects::Listed;
use crate::database::FileRow;
use crate::table::Progress;

/// The difference between a listing and a snapshot.
#[derive(Debug)]
pub(super) struct Changes {
    /// Files whose footers must be read: new ones and those of another size or version.
    pub(super) fresh: Vec<Listed>,
    /// Paths that are gone or have changed.
    pub(super) removed: Vec<String>,
    /// Positions, in the snapshot, of the files that are the same.
    pub(super) kept: Vec<usize>,
}

impl Changes {
    /// Whether the listing shows the snapshot.
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.removed.is_empty()
    }

    /// How far the work is when so many footers have been read.
    pub(super) fn progress(&self, footers_read: u64) -> Progress {
        progress(self.kept.len(), self.fresh.len(), footers_read)
    }
}

/// How far the work is when so many of the fresh footers have been read.
pub(super) fn progress(kept: usize, fresh: usize, footers_read: u64) -> Progress {
    Progress {
        files_done: kept as u64 + footers_read,
        files_total: (kept + fresh) as u64,
        footers_read,
    }
}

/// Compares a listing with the files of a snapshot by path, size and version.
pub(super) fn compare(listed: Vec<Listed>, known: &[FileRow]) -> Changes {
    let positions = known.iter().enumerate();
    let mut left: HashMap<&str, usize> = positions
        .map(|(position, row)| (row.file.path.as_str(), position))
        .collect();
    let (mut fresh, mut removed, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for file in listed {
        let position = left.remove(file.location.url.as_str());
        let row = position.and_then(|position| known.get(position));
        match (position, row) {
            (Some(position), Some(row)) if is_same(row, &file) => kept.push(position),
            (Some(_), Some(row)) => {
                removed.push(row.file.path.clone());
                fresh.push(file);
            }
            _ => fresh.push(file),
        }
    }
    removed.extend(left.into_keys().map(str::to_owned));
    removed.sort();
    Changes {
        fresh,
        removed,
        kept,
    }
}

fn is_same(row: &FileRow, listed: &Listed) -> bool {
    row.file.size == listed.size && row.file.version.as_ref() == Some(&listed.version)
}

#[cfg(test)]
mod tests {
    use model::DataFile;
    use store::Stores;

    use super::*;
    use crate::database::FileId;

    fn listed(name: &str, version: &str) -> Listed {
        Listed {
            location: Stores::from_env()
                .resolve(&format!("memory:///{name}"))
                .unwrap(),
            relative: name.to_owned(),
            size: 1,
            version: version.to_owned(),
        }
    }

    fn known(name: &str, version: &str) -> FileRow {
        FileRow {
            id: FileId(1),
            file: DataFile {
                path: format!("memory:///{name}"),
                size: 1,
                version: Some(version.to_owned()),
                record_count: None,
                footer_length: None,
                page_index: None,
            },
            schema: 1,
            partitions: Vec::new(),
            bounds: Vec::new(),
        }
    }

    #[test]
    fn only_new_and_changed_files_are_fresh() {
        let before = [
            known("same", "1"),
            known("changed", "1"),
            known("gone", "1"),
        ];
        let now = vec![
            listed("same", "1"),
            listed("changed", "2"),
            listed("new", "1"),
        ];
        let changes = compare(now, &before);
        let fresh: Vec<_> = changes
            .fresh
            .iter()
            .map(|file| file.relative.as_str())
            .collect();
        assert_eq!(fresh, ["changed", "new"]);
        assert_eq!(changes.removed, ["memory:///changed", "memory:///gone"]);
        assert_eq!(changes.kept, [0]);
        assert!(compare(vec![listed("same", "1")], &before[..1]).is_empty());
    }
}
