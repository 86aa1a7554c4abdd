//! LIKE patterns as sets of values.

use model::interval::End;
use model::{Datum, Interval, Predicate, ValueSet};

use super::operand::Operand;

/// The rows in which `column LIKE pattern` is `wanted`. Escapes are read as the row filter reads them:
/// a backslash takes the next character as it is, and itself at the end.
pub(super) fn rows(column: &Operand<'_>, pattern: &str, wanted: bool) -> Predicate {
    let (prefix, rest) = split(pattern);
    let values = match rest {
        Rest::Nothing => ValueSet::points([Datum::text(&prefix)]),
        Rest::Anything | Rest::More => ValueSet::starting_with(prefix.as_bytes()),
    };
    match (rest, wanted) {
        (Rest::More, true) => Predicate::and([column.passes(values, false), Predicate::Unknown]),
        (Rest::More, false) => Predicate::Unknown,
        (_, true) => column.passes(values, false),
        (Rest::Nothing, false) => column.passes(ValueSet::all_but(Datum::text(&prefix)), false),
        (Rest::Anything, false) => column.passes(outside(&values), false),
    }
}

/// What follows the characters that a pattern begins with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rest {
    Nothing,
    /// One or more `%` and nothing else.
    Anything,
    More,
}

fn split(pattern: &str) -> (String, Rest) {
    let mut prefix = String::new();
    let mut chars = pattern.chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => prefix.push(chars.next().unwrap_or('\\')),
            '%' if chars.all(|c| c == '%') => return (prefix, Rest::Anything),
            '%' | '_' => return (prefix, Rest::More),
            other => prefix.push(other),
        }
    }
    (prefix, Rest::Nothing)
}

/// The values outside of a single interval.
fn outside(values: &ValueSet) -> ValueSet {
    let sides = values.intervals().iter().flat_map(|interval| {
        let below = mirrored(interval.lower()).and_then(|end| Interval::new(End::Unbounded, end));
        let above = mirrored(interval.upper()).and_then(|end| Interval::new(end, End::Unbounded));
        [below, above]
    });
    // The least string is the empty one, so nothing is below it.
    let least = |interval: &Interval| *interval.upper() == End::Exclusive(Datum::Bytes(Vec::new()));
    ValueSet::of(
        sides
            .flatten()
            .filter(|interval| !least(interval))
            .collect::<Vec<_>>(),
    )
}

fn mirrored(end: &End) -> Option<End> {
    match end {
        End::Unbounded => None,
        End::Inclusive(value) => Some(End::Exclusive(value.clone())),
        End::Exclusive(value) => Some(End::Inclusive(value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_begin_with_what_is_not_special_or_escaped() {
        let cases = [
            ("abc", "abc", Rest::Nothing),
            ("", "", Rest::Nothing),
            ("ab%", "ab", Rest::Anything),
            ("ab%%", "ab", Rest::Anything),
            ("%", "", Rest::Anything),
            ("a%b", "a", Rest::More),
            ("a_", "a", Rest::More),
            ("_%", "", Rest::More),
            (r"50\%%", "50%", Rest::Anything),
            (r"50\%", "50%", Rest::Nothing),
            (r"50\_x%", "50_x", Rest::Anything),
            (r"a\\%", r"a\", Rest::Anything),
            (r"a\", r"a\", Rest::Nothing),
            (r"a\bc", "abc", Rest::Nothing),
        ];
        for (pattern, prefix, rest) in cases {
            assert_eq!(split(pattern), (prefix.to_owned(), rest), "{pattern}");
        }
    }

    #[test]
    fn what_does_not_start_with_a_prefix_is_below_or_above() {
        let values = outside(&ValueSet::starting_with(b"b"));
        for (text, inside) in [
            ("", true),
            ("a", true),
            ("b", false),
            ("bz", false),
            ("c", true),
        ] {
            let text = Datum::text(text);
            let covered = values.surely_covers(Some(&text), Some(&text));
            assert_eq!(covered, inside, "{text}");
        }
        assert!(outside(&ValueSet::starting_with(b"")).is_empty());
    }
}
