//! From places to table names that can be written in SQL without quotes. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::discover::Place;

/// Words that cannot stand where a table is named.
const RESERVED: [&str; 24] = [
    "all",
    "and",
    "as",
    "case",
    "cross",
    "distinct",
    "else",
    "except",
    "from",
    "group",
    "having",
    "in",
    "intersect",
    "join",
    "limit",
    "not",
    "on",
    "or",
    "order",
    "select",
    "table",
    "union",
    "values",
    "where",
];

/// A name for each place. Places that had a name keep it; names in `taken` are not used. Of two
/// places that would be called alike, those in different folders are called by their whole path, and
/// what is still alike is numbered.
pub fn assign(
    places: &[Place],
    root: &str,
    known: &BTreeMap<String, String>,
    taken: &BTreeSet<String>,
) -> Vec<(Place, String)> {
    let mut used = taken.clone();
    let mut names = BTreeMap::new();
    for place in places {
        if let Some(name) = known.get(&place.relative())
            && used.insert(name.clone())
        {
            names.insert(place.clone(), name.clone());
        }
    }
    let mut short: BTreeMap<String, usize> = BTreeMap::new();
    for place in places {
        *short.entry(short_name(place, root)).or_default() += 1;
    }
    for place in places {
        if names.contains_key(place) {
            continue;
        }
        let name = short_name(place, root);
        let alone = short.get(&name) == Some(&1);
        let wanted = if alone || place.names().len() < 2 {
            name
        } else {
            usable(&long_name(place))
        };
        let name = free(&wanted, &used);
        used.insert(name.clone());
        names.insert(place.clone(), name);
    }
    names.into_iter().collect()
}

/// A name as SQL takes it without quotes: lower case, letters, digits and underscores, no digit first,
/// no reserved word.
pub fn usable(text: &str) -> String {
    let mut name = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            name.push(character);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    let starts_well = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    match name.trim_start_matches('_') {
        "" => "table_1".to_owned(),
        _ if !starts_well => format!("t_{name}"),
        word if RESERVED.contains(&word) => format!("{word}_table"),
        _ => name.to_owned(),
    }
}

fn short_name(place: &Place, root: &str) -> String {
    let last = place.names().last().map_or(root, String::as_str);
    match place {
        Place::Folder(_) => usable(last),
        Place::File(_) => usable(stem(last)),
    }
}

fn long_name(place: &Place) -> String {
    let path = place.names().join("_");
    match place {
        Place::Folder(_) => path,
        Place::File(_) => stem(&path).to_owned(),
    }
}

fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

fn free(wanted: &str, used: &BTreeSet<String>) -> String {
    if !used.contains(wanted) {
        return wanted.to_owned();
    }
    let numbered = (2..).map(|number: u64| format!("{wanted}_{number}"));
    numbered
        .into_iter()
        .find(|name| !used.contains(name))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &str) -> Place {
        Place::Folder(
            path.split('/')
                .filter(|n| !n.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }

    fn file(path: &str) -> Place {
        Place::File(path.split('/').map(str::to_owned).collect())
    }

    fn assigned(places: &[Place]) -> Vec<String> {
        let names = assign(places, "Web Shop", &BTreeMap::new(), &BTreeSet::new());
        names.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn names_can_be_written_without_quotes() {
        for (text, name) in [
            ("orders", "orders"),
            ("Orders 2024", "orders_2024"),
            ("2024-orders", "t_2024_orders"),
            ("my-table (old)", "my_table_old"),
            ("order", "order_table"),
            ("größe", "größe"),
            ("_x", "_x"),
            ("!!!", "table_1"),
            ("country=UK", "country_uk"),
        ] {
            assert_eq!(usable(text), name, "{text}");
        }
    }

    #[test]
    fn tables_are_named_after_their_folder_or_file() {
        let places = [
            folder("orders"),
            folder("sales/customers"),
            file("part-0.v2.parquet"),
        ];
        assert_eq!(assigned(&places), ["orders", "customers", "part_0_v2"]);
        assert_eq!(assigned(&[folder("")]), ["web_shop"]);
    }

    #[test]
    fn clashes_are_told_apart_by_path_and_then_by_number() {
        let deep = [
            folder("orders"),
            folder("sales/orders"),
            folder("web/orders"),
        ];
        assert_eq!(assigned(&deep), ["orders", "sales_orders", "web_orders"]);
        let flat = [
            folder("My-Table"),
            folder("my table"),
            file("my_table.parquet"),
        ];
        assert_eq!(assigned(&flat), ["my_table", "my_table_2", "my_table_3"]);
    }

    #[test]
    fn a_place_keeps_its_name_when_a_clash_comes_later() {
        let known = BTreeMap::from([("sales/orders".to_owned(), "orders".to_owned())]);
        let taken = BTreeSet::from(["web_orders".to_owned()]);
        let places = [folder("sales/orders"), folder("web/orders")];
        let names = assign(&places, "d", &known, &taken);
        assert_eq!(names[0].1, "orders");
        assert_eq!(names[1].1, "web_orders_2");
    }
}
