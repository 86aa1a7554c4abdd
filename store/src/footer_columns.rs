//! Footers by column: a footer taken apart into one for each top-level column, and put together again
//! from those of the columns that somebody reads. Pure.
//!
//! Chunks are copied byte by byte, statistics and all, so that a scan decides the same whether it read
//! the footer or was given its columns. What a footer says beside them, such as metadata of writers, is
//! left out, except where it changes what a column's values are.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{FieldRef, Schema};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use model::{DataFile, FilePiece, FooterColumn};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use crate::error::StoreError;
use crate::fetched::Fetched;
use crate::footer::Footer;
use crate::guard::guarded;
use crate::infer::telling_hints;
use crate::page_index::{column_index, offset_index};
use crate::thrift::Flaw;
use crate::thrift::raw::{Field, Structure, binary, fields, number, structures};

// Ids of `FileMetaData`.
const VERSION: i16 = 1;
const SCHEMA: i16 = 2;
const ROWS: i16 = 3;
const ROW_GROUPS: i16 = 4;
const KEY_VALUES: i16 = 5;
const CREATED_BY: i16 = 6;
const COLUMN_ORDERS: i16 = 7;

// Ids of `SchemaElement`.
const TYPE: i16 = 1;
const NAME: i16 = 4;
const CHILDREN: i16 = 5;
const FIELD_ID: i16 = 9;

// Ids of `RowGroup`. What is not here says something of the columns together.
const CHUNKS: i16 = 1;
const GROUP_BYTES: i16 = 2;
const GROUP_ROWS: i16 = 3;

/// Bytes of a file's footer and page indexes that are worth keeping at most.
pub const MOST_KEPT: u64 = 4 * 1024 * 1024;

/// Takes a footer apart, together with the page indexes, which must have been read with it. `None` for a
/// footer that is too large to be kept, or that could be understood otherwise by column: of two columns
/// with one name, or where only some columns have ids.
pub fn split(footer: &Footer) -> Option<Vec<FooterColumn>> {
    if is_too_large(footer) {
        return None;
    }
    let end = footer.size.checked_sub(8)?;
    let start = footer.size.checked_sub(footer.footer_length)?;
    let bytes = footer.tail.get(&(start..end))?;
    let hints = guarded("", || telling_hints(&footer.metadata)).ok()?;
    let whole = Parts::of(&bytes).ok()?;
    let roots = whole.roots().ok()?;
    let leaves = footer.metadata.file_metadata().schema_descr();
    if !whole.is_sound(&roots, leaves.num_columns()) {
        return None;
    }
    let hints = match &hints {
        None => None,
        Some(schema) if schema.fields().len() == roots.len() => Some(schema.fields()),
        Some(_) => return None,
    };
    let column = |(position, root): (usize, &Root<'_>)| {
        let hint = hints.and_then(|fields| fields.get(position));
        Some(FooterColumn {
            name: root.name.to_owned(),
            field_id: root.id,
            footer: whole.columns(&[root], hint.map(std::slice::from_ref)),
            column_indexes: pieces(footer, root, column_index)?,
            offset_indexes: pieces(footer, root, offset_index)?,
        })
    };
    roots.iter().enumerate().map(column).collect()
}

/// Whether a footer is too large to be kept, with its page indexes.
pub fn is_too_large(footer: &Footer) -> bool {
    let indexes = footer.page_index.map_or(0, |span| span.length);
    footer.footer_length.saturating_add(indexes) > MOST_KEPT
}

/// The indexes of a column's chunks, or `None` when one was not read.
fn pieces(
    footer: &Footer,
    root: &Root<'_>,
    located: fn(&ColumnChunkMetaData) -> Option<Range<u64>>,
) -> Option<Vec<FilePiece>> {
    let groups = footer.metadata.row_groups().iter();
    let chunks =
        groups.flat_map(|group| group.columns().get(root.leaves.clone()).unwrap_or_default());
    // Where there is none, it has no bytes; one that lies elsewhere is none either.
    let ranges = chunks
        .filter_map(located)
        .filter(|range| !range.is_empty() && range.end <= footer.size);
    let piece = |range: Range<u64>| {
        let bytes = footer.tail.get(&range)?.to_vec();
        let start = range.start;
        Some(FilePiece { start, bytes })
    };
    ranges.map(piece).collect()
}

/// The footer of a file, with the page indexes, as far as these columns of it tell.
///
/// # Errors
/// When they do not fit together.
pub fn join(path: &str, file: &DataFile, columns: &[FooterColumn]) -> Result<Footer, StoreError> {
    let bytes = guarded(path, || {
        joined(columns).map_err(|flaw| format!("its known footer is broken: {flaw}"))
    })?;
    let pieces = columns
        .iter()
        .flat_map(|column| column.column_indexes.iter().chain(&column.offset_indexes));
    let pieces = pieces.map(|piece| (piece.start, Bytes::from(piece.bytes.clone())));
    let tail = Fetched::of(pieces.collect());
    Footer::decoded(
        path,
        file.size,
        file.footer_length.unwrap_or(0),
        &bytes,
        tail,
    )
}

/// Whether it is known where the pages of all chunks lie that have an offset index.
pub fn knows_pages(footer: &Footer) -> bool {
    let groups = footer.metadata.row_groups().iter();
    let mut ranges = groups
        .flat_map(RowGroupMetaData::columns)
        .filter_map(offset_index)
        .filter(|range| !range.is_empty() && range.end <= footer.size);
    ranges.all(|range| footer.tail.get(&range).is_some())
}

fn joined(columns: &[FooterColumn]) -> Result<Vec<u8>, Flaw> {
    let parts = columns.iter().map(|column| Parts::of(&column.footer));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let mut parts = parts.into_iter();
    let mut whole = parts.next().ok_or(Flaw::Short)?;
    let mut hints = whole.hints();
    for part in parts {
        let same = part.groups.len() == whole.groups.len()
            && part.orders.is_empty() == whole.orders.is_empty();
        if !same {
            return Err(Flaw::Schema);
        }
        hints = hints.zip(part.hints()).map(|(mut all, more)| {
            all.extend(more);
            all
        });
        whole.nodes.extend(part.nodes.iter().skip(1));
        whole.orders.extend(part.orders);
        for (group, more) in whole.groups.iter_mut().zip(part.groups) {
            group.chunks.extend(more.chunks);
        }
    }
    let roots = whole.roots()?;
    let roots: Vec<&Root<'_>> = roots.iter().collect();
    Ok(whole.columns(&roots, hints.as_deref()))
}

/// A footer in parts that are not decoded.
#[derive(Debug, Default)]
struct Parts<'a> {
    version: Option<Field<'a>>,
    rows: Option<Field<'a>>,
    created_by: Option<Field<'a>>,
    key_values: Vec<&'a [u8]>,
    /// Nodes of the schema in depth-first order.
    nodes: Vec<&'a [u8]>,
    groups: Vec<Group<'a>>,
    /// One for each leaf, or none.
    orders: Vec<&'a [u8]>,
}

#[derive(Debug, Default)]
struct Group<'a> {
    /// One for each leaf.
    chunks: Vec<&'a [u8]>,
    bytes: Option<Field<'a>>,
    rows: Option<Field<'a>>,
}

/// A top-level column.
#[derive(Debug)]
struct Root<'a> {
    name: &'a str,
    id: Option<i32>,
    nodes: Range<usize>,
    leaves: Range<usize>,
}

impl<'a> Parts<'a> {
    fn of(footer: &'a [u8]) -> Result<Self, Flaw> {
        let mut parts = Self::default();
        for field in fields(footer)? {
            match field.id {
                VERSION => parts.version = Some(field),
                SCHEMA => parts.nodes = structures(field.value)?,
                ROWS => parts.rows = Some(field),
                ROW_GROUPS => {
                    let groups = structures(field.value)?.into_iter().map(Group::of);
                    parts.groups = groups.collect::<Result<_, _>>()?;
                }
                KEY_VALUES => parts.key_values = structures(field.value)?,
                CREATED_BY => parts.created_by = Some(field),
                COLUMN_ORDERS => parts.orders = structures(field.value)?,
                _ => {}
            }
        }
        Ok(parts)
    }

    /// The top-level columns: the root's children in the order of the nodes.
    fn roots(&self) -> Result<Vec<Root<'a>>, Flaw> {
        let mut roots = Vec::new();
        let (mut node, mut leaf) = (1, 0);
        while node < self.nodes.len() {
            let first = Node::of(self.nodes.get(node).ok_or(Flaw::Schema)?)?;
            let (start, first_leaf) = (node, leaf);
            let mut open: i64 = 1;
            while open > 0 {
                let next = Node::of(self.nodes.get(node).ok_or(Flaw::Schema)?)?;
                open = next.children.checked_add(open - 1).ok_or(Flaw::Schema)?;
                leaf += usize::from(next.is_leaf);
                node += 1;
            }
            roots.push(Root {
                name: first.name,
                id: first.id,
                nodes: start..node,
                leaves: first_leaf..leaf,
            });
        }
        Ok(roots)
    }

    /// Whether there are columns, each of a name of its own, and all or none with ids, and everything is said
    /// of each of the leaves.
    fn is_sound(&self, roots: &[Root<'_>], leaves: usize) -> bool {
        let names: HashSet<&str> = roots.iter().map(|root| root.name).collect();
        let with_ids = roots.iter().filter(|root| root.id.is_some()).count();
        roots.last().is_some_and(|root| root.leaves.end == leaves)
            && self.groups.iter().all(|group| group.chunks.len() == leaves)
            && (self.orders.is_empty() || self.orders.len() == leaves)
            && (with_ids == 0 || with_ids == roots.len())
            && names.len() == roots.len()
    }

    /// The Arrow fields that are given along, when they are.
    fn hints(&self) -> Option<Vec<FieldRef>> {
        let [only] = self.key_values.as_slice() else {
            return None;
        };
        let value = fields(only).ok()?.into_iter().find(|field| field.id == 2)?;
        let message = BASE64_STANDARD.decode(binary(value.value).ok()?).ok()?;
        let schema = wire::schema::decode_schema(&message).ok()?;
        Some(schema.fields().iter().map(Arc::clone).collect())
    }

    /// A footer with these columns only.
    fn columns(&self, roots: &[&Root<'a>], hints: Option<&[FieldRef]>) -> Vec<u8> {
        fn all<'b, T>(
            of: &[&'b [u8]],
            roots: &[T],
            range: impl Fn(&T) -> Range<usize>,
        ) -> Vec<&'b [u8]> {
            let chosen = roots
                .iter()
                .flat_map(|root| of.get(range(root)).unwrap_or_default());
            chosen.copied().collect()
        }
        let mut file = Structure::default();
        let add = |file: &mut Structure, field: &Option<Field<'_>>| {
            if let Some(field) = field {
                file.field(*field);
            }
        };
        add(&mut file, &self.version);
        let top = self.root_node(roots.len());
        let mut nodes = vec![top.as_slice()];
        nodes.extend(all(&self.nodes, roots, |root| root.nodes.clone()));
        file.structures(SCHEMA, &nodes);
        add(&mut file, &self.rows);
        let groups = self.groups.iter().map(|group| {
            let mut written = Structure::default();
            let chunks = all(&group.chunks, roots, |root| root.leaves.clone());
            written.structures(CHUNKS, &chunks);
            add(&mut written, &group.bytes);
            add(&mut written, &group.rows);
            written.end()
        });
        let groups: Vec<Vec<u8>> = groups.collect();
        let groups: Vec<&[u8]> = groups.iter().map(Vec::as_slice).collect();
        file.structures(ROW_GROUPS, &groups);
        if let Some(hints) = hints {
            let schema = encode_arrow_schema(&Schema::new(hints.to_vec()));
            let mut pair = Structure::default();
            pair.binary(1, ARROW_SCHEMA_META_KEY.as_bytes());
            pair.binary(2, schema.as_bytes());
            file.structures(KEY_VALUES, &[&pair.end()]);
        }
        add(&mut file, &self.created_by);
        let orders = all(&self.orders, roots, |root| root.leaves.clone());
        if !orders.is_empty() {
            file.structures(COLUMN_ORDERS, &orders);
        }
        file.end()
    }

    /// The schema's first node with another number of children.
    fn root_node(&self, children: usize) -> Vec<u8> {
        let mut node = Structure::default();
        let before = self.nodes.first().and_then(|root| fields(root).ok());
        let name = before.into_iter().flatten().find(|field| field.id == NAME);
        if let Some(name) = name {
            node.field(name);
        }
        node.i32(CHILDREN, i32::try_from(children).unwrap_or(i32::MAX));
        node.end()
    }
}

impl<'a> Group<'a> {
    fn of(group: &'a [u8]) -> Result<Self, Flaw> {
        let mut parts = Self::default();
        for field in fields(group)? {
            match field.id {
                CHUNKS => parts.chunks = structures(field.value)?,
                GROUP_BYTES => parts.bytes = Some(field),
                GROUP_ROWS => parts.rows = Some(field),
                _ => {}
            }
        }
        Ok(parts)
    }
}

/// A node of the schema.
struct Node<'a> {
    name: &'a str,
    id: Option<i32>,
    children: i64,
    is_leaf: bool,
}

impl<'a> Node<'a> {
    fn of(node: &'a [u8]) -> Result<Self, Flaw> {
        let mut found = Self {
            name: "",
            id: None,
            children: 0,
            is_leaf: false,
        };
        for field in fields(node)? {
            match field.id {
                TYPE => found.is_leaf = true,
                NAME => {
                    let name = binary(field.value)?;
                    found.name = std::str::from_utf8(name).map_err(|_| Flaw::Type)?;
                }
                CHILDREN => found.children = number(field.value)?,
                FIELD_ID => found.id = i32::try_from(number(field.value)?).ok(),
                _ => {}
            }
        }
        if found.children < 0 {
            return Err(Flaw::Schema);
        }
        Ok(found)
    }
}

#[cfg(test)]
#[path = "footer_columns_tests.rs"]
mod tests;
