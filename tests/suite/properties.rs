//! Random filters end to end: what is pruned and what is not give the same rows.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::flight::Connection;
use crate::plain::Rows;
use crate::processes::local;
use crate::tables;

const CASES: usize = 150;

/// Columns of `awkward` with literals that lie in, at and beyond their values.
const TESTS: [(&str, &[&str]); 12] = [
    ("id", &["-1", "0", "499", "500", "1000", "2999", "5000"]),
    ("int32", &["-2147483648", "0", "7", "2147483647"]),
    (
        "uint64",
        &["0", "9223372036854775808", "18446744073709551615"],
    ),
    (
        "float64",
        &[
            "0.0",
            "-0.0",
            "'NaN'::double",
            "'-Infinity'::double",
            "'Infinity'::double",
            "3.5",
        ],
    ),
    ("score", &["0.0", "10.05", "149.9", "1e9"]),
    ("money", &["-4999995.00", "0", "0.01", "4999999.99"]),
    (
        "date32",
        &[
            "DATE '1950-11-02'",
            "DATE '1970-01-01'",
            "DATE '2020-02-29'",
        ],
    ),
    (
        "timestamp_us",
        &[
            "TIMESTAMP '1960-05-05T05:05:05'",
            "TIMESTAMP '1970-01-01T00:00:00'",
        ],
    ),
    ("utf8", &["''", "'row 00007'", "'row 01500'", "'zebra'"]),
    (
        "long_prefix",
        &[
            "'ppp'",
            "'pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp01500'",
            "'q'",
        ],
    ),
    ("null_in_early_files", &["0", "1500", "2500"]),
    ("\"a.b\"", &["0", "1", "1500", "3000"]),
];

const OPERATORS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

fn leaf(random: &mut StdRng) -> String {
    let (column, literals) = TESTS.choose(random).unwrap();
    let literal = literals.choose(random).unwrap();
    let other = literals.choose(random).unwrap();
    match random.random_range(0..10) {
        0 => format!("{column} IS NULL"),
        1 => format!("{column} IS NOT NULL"),
        2 => format!("{column} IN ({literal}, {other})"),
        3 => format!("{column} NOT IN ({literal}, {other})"),
        4 => format!("{column} BETWEEN {literal} AND {other}"),
        _ => format!("{column} {} {literal}", OPERATORS.choose(random).unwrap()),
    }
}

fn filter(random: &mut StdRng, depth: u32) -> String {
    if depth == 0 {
        return leaf(random);
    }
    match random.random_range(0..4) {
        0 => format!("NOT ({})", filter(random, depth - 1)),
        1 => format!(
            "({} OR {})",
            filter(random, depth - 1),
            filter(random, depth - 1)
        ),
        2 => format!(
            "({} AND {})",
            filter(random, depth - 1),
            filter(random, depth - 1)
        ),
        _ => leaf(random),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_filters_give_the_rows_of_an_unpruned_scan() {
    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let service = local(dir.path(), &tables::folder());
    let mut fulmar = Connection::open(&service.location()).await;
    let plain = tables::plain().await;
    for case in 0..CASES {
        let filter = filter(&mut random, 3);
        let sql = format!("SELECT id FROM awkward WHERE {filter}");
        let answer = fulmar
            .query(&sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let answer = Rows::of(&answer.schema, &answer.batches).sorted();
        let expected = plain.query(&sql).await.sorted();
        assert_eq!(answer, expected, "seed {seed}, case {case}: {sql}");
    }
}
