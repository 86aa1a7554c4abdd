//! Patterns in locations: `*` and `?` within a name, `**` for any number of folders. Pure.

/// Whether a location has the form of a pattern.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// The folder that a pattern starts in, and the pattern below it.
pub(super) fn split(path: &str) -> (&str, &str) {
    let wild = path.find(['*', '?']).unwrap_or(path.len());
    let folder = path.get(..wild).and_then(|literal| literal.rfind('/'));
    match folder {
        Some(slash) => (
            path.get(..slash).unwrap_or_default(),
            path.get(slash + 1..).unwrap_or_default(),
        ),
        None => ("", path),
    }
}

/// Whether a pattern says itself how names end, so that the usual endings are not asked for.
pub(super) fn fixes_ending(pattern: &str) -> bool {
    let last = pattern.rsplit('/').next().unwrap_or_default();
    last.rsplit(['*', '?'])
        .next()
        .is_some_and(|tail| tail.contains('.'))
}

/// Whether a path below the pattern's folder matches it.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    folders_match(&pattern, &path)
}

fn folders_match(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            folders_match(rest, path)
                || path
                    .split_first()
                    .is_some_and(|(_, below)| folders_match(pattern, below))
        }
        (Some((first, rest)), Some((name, below))) => {
            name_matches(first, name) && folders_match(rest, below)
        }
        _ => false,
    }
}

/// Matches one name, going back to the last `*` when what follows it does not fit.
fn name_matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || name.get(n) == Some(c) => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after, taken)) = star else {
                    return false;
                };
                star = Some((after, taken + 1));
                (p, n) = (after, taken + 1);
            }
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_and_folders() {
        let cases = [
            ("*.parquet", "a.parquet", true),
            ("*.parquet", "x/a.parquet", false),
            ("**/*.parquet", "x/y/a.parquet", true),
            ("**/*.parquet", "a.parquet", true),
            ("y=*/m=0?/part-*", "y=1/m=01/part-7", true),
            ("y=*/m=0?/part-*", "y=1/m=11/part-7", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("ü?", "üß", true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_pattern_starts_in_the_folder_before_its_first_wildcard() {
        assert_eq!(split("a/b/c*/d"), ("a/b", "c*/d"));
        assert_eq!(split("*.parquet"), ("", "*.parquet"));
        assert!(fixes_ending("a/*.pq") && !fixes_ending("a/*") && !fixes_ending("a.b/**"));
    }
}
