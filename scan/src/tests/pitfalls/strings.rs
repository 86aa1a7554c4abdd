use std::sync::Arc;

use arrow::array::StringArray;

use super::{Case, check, small, texts};
use crate::tests::odd_file::{MAX, MAX_IS_EXACT, MIN, MIN_IS_EXACT};

/// Pitfall 4: a bound that was cut is no value of the column, and may be as long as the value it could not pass.
#[tokio::test]
async fn bounds_that_were_cut_are_outer_bounds() {
    let top = "\u{10ffff}\u{10ffff}\u{10ffff}";
    let values = [
        "aaaaaaaaaa",
        "aaaaaaaaab",
        "aaaaab",
        "aaaaaa",
        top,
        "\u{10ffff}",
        "zzzzzzzzzz",
        "zzzzzz",
        "ÿÿÿÿÿÿ",
        "ÿÿÿÿÿÿÿÿ",
        "",
        "a",
    ];
    let cut = small()
        .set_column_index_truncate_length(Some(6))
        .set_statistics_truncate_length(Some(6));
    let top_itself = format!("s = '{top}'");
    let above = "s > '\u{10ffff}\u{10ffff}'".to_owned();
    let filters = [
        "s = 'aaaaaaaaab'",
        "s > 'aaaaaa'",
        "s < 'aaaaab'",
        "s >= 'zzzzzzz'",
        "s <> 'aaaaaa'",
        "s LIKE 'aaaaaa%'",
        "s LIKE 'zzzzzz_%'",
        "s LIKE 'ÿÿÿÿÿÿÿ%'",
        "s = ''",
        "s > 'zzzzzz'",
        &top_itself,
        &above,
    ];
    check(vec![("s", texts(&values))], cut, &filters).await;
}

/// Pitfall 4: a bound that was cut may end within a character; it is compared as bytes, and never decoded.
#[tokio::test]
async fn truncated_bounds_may_end_within_a_character() {
    // Each begins with the byte c3, and that is all that the bounds tell.
    let values = ["éa", "éb", "é", "èz", "éz", "éé", "ê", "éa"];
    let case = Case::odd(vec![("s", texts(&values))], small(), |file| {
        for chunk in &mut file.chunks {
            chunk.set_bounds(&[0xc3], &[0xc4]);
            chunk.mark_bounds_as_cut();
        }
    });
    let case = case.await;
    let filters = [
        "s = 'éa'",
        "s <> 'é'",
        "s > 'é'",
        "s < 'éa'",
        "s >= 'ê'",
        "s <= 'è'",
        "s > 'z'",
        "s < 'Ā'",
        "s = 'a'",
        "s LIKE 'é%'",
        "s NOT LIKE 'é%'",
        "s LIKE 'éa'",
        "s LIKE '_a'",
        "s IN ('ê', 'x')",
    ];
    case.check(&filters).await;
    // What is refuted is told, in text.
    assert_eq!(
        case.counts("s = 'a'").await.row_groups_skipped_statistics,
        1
    );
}

/// Pitfall 4: a bound that could not be cut is missing, and then there is no limit on its side.
#[tokio::test]
async fn truncated_bounds_may_be_missing_on_one_side() {
    let values = ["aaa", "zzz", "\u{10ffff}x", "m", "b", "c", "d", ""];
    for (bound, is_exact) in [(MAX, MAX_IS_EXACT), (MIN, MIN_IS_EXACT)] {
        let case = Case::odd(vec![("s", texts(&values))], small(), |file| {
            for chunk in &mut file.chunks {
                chunk.statistics().remove(&bound);
                chunk.statistics().remove(&is_exact);
                chunk.forget_pages();
            }
        });
        let filters = [
            "s > 'zzz'",
            "s >= 'zzz'",
            "s = '\u{10ffff}x'",
            "s < 'b'",
            "s >= ''",
            "s <= 'zzz'",
            "s < 'aaa'",
            "s = ''",
            "s > 'a' AND s < 'c'",
            "s LIKE '\u{10ffff}%'",
            "s NOT LIKE 'a%'",
        ];
        case.await.check(&filters).await;
    }
}

/// Pitfall 9: text is ordered by its bytes.
#[tokio::test]
async fn strings_are_ordered_by_their_bytes() {
    // By UTF-16 units, an emoji comes before U+FFFD; by bytes it comes after.
    let values = [
        "\u{fffd}",
        "\u{1f600}",
        "\u{ffff}",
        "e",
        "é",
        "z",
        "\u{1f601}",
        "Z",
    ];
    let filters = [
        "s > '\u{fffd}'",
        "s < '\u{fffd}'",
        "s = '\u{1f600}'",
        "s >= '\u{ffff}'",
        "s > 'z'",
        "s < 'e'",
        "s LIKE '\u{1f600}%'",
    ];
    check(vec![("s", texts(&values))], small(), &filters).await;
}

/// Pitfall 9: bounds that cross by bytes were found in the order of UTF-16 units, and bound nothing.
#[tokio::test]
async fn strings_ordered_by_utf16_units_have_bounds_that_cross() {
    let (first, last) = ("\u{1f600}", "\u{fffd}");
    let values = [last, first, last, last, first, first, last, first];
    let case = Case::odd(vec![("s", texts(&values))], small(), |file| {
        for chunk in &mut file.chunks {
            chunk.set_bounds(first.as_bytes(), last.as_bytes());
        }
    });
    let filters = [
        "s = '\u{fffd}'",
        "s = '\u{1f600}'",
        "s > '\u{fffd}'",
        "s >= '\u{fffd}'",
        "s < '\u{1f600}'",
        "s <> '\u{1f600}'",
        "s LIKE '\u{1f600}%'",
        "s IN ('\u{fffd}', 'a')",
    ];
    case.await.check(&filters).await;
}

/// Pitfall 12: patterns have escapes and single characters, and no text comes after the last character.
#[tokio::test]
async fn patterns_have_escapes_and_ends() {
    let values = StringArray::from(vec![
        Some("100%"),
        Some("100"),
        None,
        Some("a_b"),
        Some("axb"),
        Some("\u{10ffff}"),
        Some("\u{10ffff}x"),
        Some(""),
        Some("A_B"),
        None,
        None,
        None,
    ]);
    let filters = [
        "s LIKE '100\\%'",
        "s LIKE '100%'",
        "s LIKE 'a\\_b'",
        "s LIKE 'a_b'",
        "s NOT LIKE 'a%'",
        "s NOT LIKE '100\\%'",
        "s LIKE '\u{10ffff}%'",
        "s LIKE ''",
        "s LIKE '%'",
        "s ILIKE 'a\\_b'",
        "s NOT LIKE '%'",
        "s LIKE NULL",
    ];
    check(vec![("s", Arc::new(values))], small(), &filters).await;
}

/// Pitfall 12: NOT LIKE over bounds that were cut proves nothing of what was cut off, and a null passes neither.
#[tokio::test]
async fn like_over_cut_bounds_keeps_what_was_cut_off() {
    let prefix = "aaaaaa";
    let long = |end: &str| Some(format!("{prefix}{end}"));
    let values = [
        long("b"),
        long("c"),
        None,
        long("d"),
        long(""),
        long(""),
        Some("aaaaab".to_owned()),
        None,
        long("b"),
        long("b"),
        long("%"),
        long("_"),
    ];
    let cut = small()
        .set_column_index_truncate_length(Some(6))
        .set_statistics_truncate_length(Some(6));
    let filters = [
        "s LIKE 'aaaaaa%'",
        "s NOT LIKE 'aaaaaa%'",
        "s LIKE 'aaaaaa'",
        "s NOT LIKE 'aaaaaa'",
        "s LIKE 'aaaaaab%'",
        "s NOT LIKE 'aaaaaab%'",
        "s LIKE 'aaaaaa_'",
        "s NOT LIKE 'aaaaaa_'",
        "s LIKE 'aaaaaa\\%'",
        "s LIKE 'aaaaaa\\_%'",
        "s NOT LIKE 'a%'",
    ];
    let values: StringArray = values.into_iter().collect();
    check(vec![("s", Arc::new(values))], cut, &filters).await;
}
