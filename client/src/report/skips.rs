//! Skipped units put together by what ruled them out, so that a thousand files need a few lines.

/// How many units of a group are named.
const NAMED: usize = 3;

/// Units that one test ruled out at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipGroup {
    /// The level, such as `bounds`.
    pub level: String,
    /// The test, such as `order_date >= 2024-03-01 AND < 2024-03-15`.
    pub test: String,
    /// How many units it ruled out.
    pub units: u64,
    /// The first of them, each with what was seen there.
    pub named: Vec<(String, String)>,
}

/// One unit that was ruled out.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// What was ruled out, such as a file's name.
    pub(crate) name: String,
    /// The level at which it was decided.
    pub(crate) level: String,
    /// Why, in words.
    pub(crate) reason: String,
    /// How many units this stands for.
    pub(crate) units: u64,
}

/// Groups in the order in which their first unit appears.
pub(crate) fn group(units: impl IntoIterator<Item = Unit>) -> Vec<SkipGroup> {
    let mut groups: Vec<SkipGroup> = Vec::new();
    for unit in units {
        let (test, seen) = parts(&unit.reason);
        let known = groups
            .iter()
            .position(|group| group.level == unit.level && group.test == test);
        let position = known.unwrap_or_else(|| {
            groups.push(SkipGroup {
                level: unit.level.clone(),
                test: test.to_owned(),
                units: 0,
                named: Vec::new(),
            });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(position) {
            group.units += unit.units;
            if group.named.len() < NAMED {
                group.named.push((unit.name, seen.to_owned()));
            }
        }
    }
    groups
}

/// The test and what was seen: a reason reads `test, but what was seen`. Several reasons together are
/// not taken apart.
fn parts(reason: &str) -> (&str, &str) {
    match reason.split_once(", but ") {
        Some((test, seen)) if !seen.contains(", but ") => (test, seen),
        _ => (reason, ""),
    }
}

/// The shortest name that still tells the file: its path below the longest folder that all of them
/// share, and at least its own folder.
pub(crate) fn short_names<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let Some(first) = paths.first() else {
        return Vec::new();
    };
    let folder = paths.iter().fold(parent(first), |folder, path| {
        let same = folder.bytes().zip(path.bytes());
        let length = same.take_while(|(left, right)| left == right).count();
        parent(folder.get(..length).unwrap_or_default())
    });
    let below = |folder: &str| -> Vec<&'a str> {
        let below = |path: &&'a str| path.get(folder.len()..).unwrap_or(path);
        paths.iter().map(below).collect()
    };
    let names = below(folder);
    // A file's name alone says little: `part-0.parquet`.
    if names.iter().any(|name| !name.contains('/')) {
        return below(parent(folder.trim_end_matches('/')));
    }
    names
}

/// Up to and with the last slash.
fn parent(path: &str) -> &str {
    path.rfind('/')
        .and_then(|slash| path.get(..=slash))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str, reason: &str) -> Unit {
        Unit {
            name: name.to_owned(),
            level: "bounds".to_owned(),
            reason: reason.to_owned(),
            units: 1,
        }
    }

    #[test]
    fn units_with_the_same_test_are_one_group_and_the_first_are_named() {
        let units = (1..=5).map(|file| {
            unit(
                &format!("f{file}"),
                &format!("a > 9, but values are 0 to {file}"),
            )
        });
        let other = unit(
            "g",
            "a > 9, but values are 1 to 2; b < 3, but values are 4 to 5",
        );
        let groups = group(units.chain([other]));
        assert_eq!(groups.len(), 2);
        assert_eq!((groups[0].test.as_str(), groups[0].units), ("a > 9", 5));
        assert_eq!(groups[0].named.len(), NAMED);
        assert_eq!(
            groups[0].named[0],
            ("f1".to_owned(), "values are 0 to 1".to_owned())
        );
        assert_eq!(groups[1].named[0].1, "");
    }

    #[test]
    fn names_are_paths_below_the_folder_that_all_share() {
        let paths = [
            "file:///d/orders/m=1/p.parquet",
            "file:///d/orders/m=12/p.parquet",
        ];
        assert_eq!(short_names(&paths), ["m=1/p.parquet", "m=12/p.parquet"]);
        assert_eq!(short_names(&["s3://b/t/p.parquet"]), ["t/p.parquet"]);
        assert_eq!(short_names(&["a", "b"]), ["a", "b"]);
    }
}
