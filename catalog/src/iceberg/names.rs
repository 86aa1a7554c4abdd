//! Names that Avro allows. Pure.

use std::fmt::Write;

use model::TableSchema;

/// The name of a column's partition: the column's own when it is an Avro name, because manifests
/// have a record with these fields; else one made as the spec makes names of columns, which no other column or partition has.
pub(super) fn partition_name(column: &str, table: &TableSchema, taken: &[String]) -> String {
    let mut name = avro_name(column);
    while name != column && (table.id_of(&name).is_some() || taken.contains(&name)) {
        name.push('_');
    }
    name
}

/// `_` before a leading digit, and `_x` with the code point in hexadecimal for what Avro lacks.
fn avro_name(name: &str) -> String {
    let mut avro = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '0'..='9' if avro.is_empty() => avro.extend(['_', letter]),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => avro.push(letter),
            other => {
                // Writing to a string cannot fail.
                let _ = write!(avro, "_x{:X}", u32::from(other));
            }
        }
    }
    avro
}
