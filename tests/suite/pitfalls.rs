//! The thirty places where pruning goes wrong: that each has a test which names it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where the tests are.
const FOLDERS: [&str; 3] = [
    "scan/src/tests",
    "planner/tests/engine",
    "catalog/src/tests",
];

/// The numbers in lines such as `/// Pitfalls 25 and 30: …`.
fn numbers(line: &str) -> Vec<u32> {
    let named = line.trim_start().strip_prefix("/// Pitfall");
    let named = named.and_then(|named| named.split_once(':'));
    let words = named.map_or("", |(numbers, _)| numbers);
    let words = words.split(|letter: char| !letter.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}

fn collect(folder: &Path, named: &mut BTreeSet<u32>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, named);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            named.extend(text.lines().flat_map(numbers));
        }
    }
}

#[test]
fn every_pitfall_is_named_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut named);
    }
    assert_eq!(named, (1..=30).collect());
}
