//! A footer as the bytes of its parts: taken apart, and put together for some of its columns. Knows where
//! parts are, and not what they mean.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{FieldRef, Schema};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};

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

/// One footer of the columns of several.
pub(super) fn joined<'a>(footers: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>, Flaw> {
    let parts = footers.map(Parts::of).collect::<Result<Vec<_>, _>>()?;
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
pub(super) struct Parts<'a> {
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
pub(super) struct Root<'a> {
    pub(super) name: &'a str,
    pub(super) id: Option<i32>,
    nodes: Range<usize>,
    pub(super) leaves: Range<usize>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(footer: &'a [u8]) -> Result<Self, Flaw> {
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
    pub(super) fn roots(&self) -> Result<Vec<Root<'a>>, Flaw> {
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
    pub(super) fn is_sound(&self, roots: &[Root<'_>], leaves: usize) -> bool {
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
    pub(super) fn columns(&self, roots: &[&Root<'a>], hints: Option<&[FieldRef]>) -> Vec<u8> {
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
