//! The fixtures that most tests share, made once per test run.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::plain::Plain;

/// Rows of each layout of `orders`.
pub(crate) const ROWS: u64 = 24_000;

/// Every table with its partition columns.
pub(crate) const TABLES: [(&str, &[&str]); 9] = [
    ("orders_by_month", &["month"]),
    ("orders_sorted", &[]),
    ("orders_shuffled", &[]),
    ("orders_bloom", &[]),
    ("orders_paged", &[]),
    ("orders_paged_dictionary", &[]),
    ("orders_by_country", &["country"]),
    ("customers", &[]),
    ("awkward", &[]),
];

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    // A new build may write other tables.
    let built = std::env::current_exe()
        .unwrap()
        .metadata()
        .unwrap()
        .modified()
        .unwrap();
    let built = built
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tables-{built}"));
    if !folder.join("complete").exists() {
        // Tests are processes of their own: make the tables aside, and let the first one win.
        let aside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let made = aside.path().join("tables");
        fixtures::write_tables(&made, ROWS).unwrap();
        std::fs::write(made.join("complete"), "").unwrap();
        if std::fs::rename(&made, &folder).is_err() {
            assert!(folder.join("complete").exists());
        }
        remove_those_of_other_builds(&folder);
    }
    folder
});

fn remove_those_of_other_builds(own: &Path) {
    for entry in std::fs::read_dir(env!("CARGO_TARGET_TMPDIR")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("tables-") && path != own {
            // Another process may be removing it, too.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// The folder that holds them, one folder per table.
pub(crate) fn folder() -> PathBuf {
    FOLDER.clone()
}

/// The judge over the same files.
pub(crate) async fn plain() -> Plain {
    let plain = Plain::new();
    for (table, partitions) in TABLES {
        plain
            .register(table, &folder().join(table), partitions)
            .await;
    }
    plain
}
