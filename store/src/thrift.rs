//! Whether bytes that claim to be a Parquet structure are safe to decode. Decodes nothing itself.
//!
//! The Parquet crate makes room for as many elements as a list says it has, follows a schema as deep as
//! it goes, and takes booleans in lists that it skips to have no bytes at all. Written by somebody
//! hostile, a few bytes would take all memory, all stack or all time, and none of these is a panic that
//! could be caught. So the bytes are walked once before, without recursion. The decoder reads a field it
//! knows as the type it expects, whatever type the bytes say; the walk knows the same fields and refuses
//! other types, so that both read the same lengths.

mod parquet;
pub(crate) mod raw;

use parquet::{Fields, Kind, PAGE_HEADER, wire};

/// The structures that are checked.
pub(crate) use parquet::{COLUMN_INDEX, FILE, OFFSET_INDEX};

/// How deep structures and schemas may nest; the decoder skips no deeper either.
const DEEPEST: usize = 64;

/// Most elements of a list that is decoded: more row groups, columns or pages than any sound file has.
const MOST_ELEMENTS: u64 = 1 << 20;

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    #[error("it ends in the middle of a value")]
    Short,
    #[error("it holds a value of an unknown or unexpected type")]
    Type,
    #[error("a list in it is said to be longer than can be")]
    List,
    #[error("it nests deeper than {DEEPEST} levels")]
    Depth,
    #[error("its schema is not a tree")]
    Schema,
}

/// Refuses the header of a page, which the bytes begin with, when it is not safe to decode.
///
/// # Errors
/// What is wrong with it.
pub fn check_page_header(bytes: &[u8]) -> Result<(), String> {
    check(bytes, PAGE_HEADER).map_err(|flaw| format!("a page header is broken: {flaw}"))
}

/// Checks the structure of these fields that the bytes begin with.
pub(crate) fn check(bytes: &[u8], fields: Fields) -> Result<(), Flaw> {
    let mut walk = Walk {
        bytes,
        open: vec![Open::Struct {
            fields: Some(fields),
            last: 0,
        }],
        children: Vec::new(),
    };
    while let Some(open) = walk.open.pop() {
        walk.step(open)?;
    }
    tree(&walk.children)
}

/// A walk through bytes.
struct Walk<'a> {
    /// What is left of them.
    bytes: &'a [u8],
    /// The values within which the walk is, outermost first.
    open: Vec<Open>,
    /// Numbers of children of the schema's nodes, in their order.
    children: Vec<i64>,
}

/// A value of which more is to come.
#[derive(Clone, Copy)]
enum Open {
    Struct {
        /// The fields that the decoder knows; `None` when it skips the whole.
        fields: Option<Fields>,
        last: i16,
    },
    List {
        element: Value,
        left: u64,
    },
    Map {
        key: Value,
        value: Value,
        /// Keys and values that are left.
        left: u64,
    },
}

/// A value that comes next: its type in the bytes, and what the decoder takes it for.
#[derive(Clone, Copy)]
struct Value {
    wire: u8,
    known: Option<&'static Kind>,
}

impl Walk<'_> {
    fn step(&mut self, open: Open) -> Result<(), Flaw> {
        match open {
            Open::Struct { fields, last } => self.field(fields, last),
            Open::List { left: 0, .. } | Open::Map { left: 0, .. } => Ok(()),
            Open::List { element, left } => {
                let left = left - 1;
                self.open.push(Open::List { element, left });
                self.element(element)
            }
            Open::Map { key, value, left } => {
                let next = if left.is_multiple_of(2) { key } else { value };
                let left = left - 1;
                self.open.push(Open::Map { key, value, left });
                self.element(next)
            }
        }
    }

    fn field(&mut self, fields: Option<Fields>, last: i16) -> Result<(), Flaw> {
        let head = self.byte()?;
        let wire = head & 0x0f;
        if wire == wire::STOP {
            return Ok(());
        }
        let id = match i16::from(head >> 4) {
            0 => narrow(zigzag(self.number()?)),
            delta => last.checked_add(delta).ok_or(Flaw::Type)?,
        };
        let known = fields.and_then(|fields| fields.iter().find(|(field, _)| *field == id));
        self.open.push(Open::Struct { fields, last: id });
        if matches!(wire, wire::TRUE | wire::FALSE) {
            return match known {
                None | Some((_, Kind::Bool)) => Ok(()),
                Some(_) => Err(Flaw::Type),
            };
        }
        self.value(Value {
            wire,
            known: known.map(|(_, kind)| kind),
        })
    }

    /// An element of a collection. A boolean has a byte there, which the decoder forgets when it skips.
    fn element(&mut self, value: Value) -> Result<(), Flaw> {
        match (value.wire, value.known) {
            (wire::TRUE | wire::FALSE, Some(Kind::Bool)) => self.skip(1),
            (wire::TRUE | wire::FALSE, _) => Err(Flaw::Type),
            _ => self.value(value),
        }
    }

    fn value(&mut self, value: Value) -> Result<(), Flaw> {
        if value.known.is_some_and(|kind| kind.wire() != value.wire) {
            return Err(Flaw::Type);
        }
        match value.wire {
            wire::BYTE => self.skip(1),
            wire::I16 | wire::I32 | wire::I64 => {
                let number = zigzag(self.number()?);
                if let (Some(Kind::Children), Some(children)) =
                    (value.known, self.children.last_mut())
                {
                    *children = number;
                }
                Ok(())
            }
            wire::DOUBLE => self.skip(8),
            wire::BINARY => {
                let length = self.number()?;
                self.skip(length)
            }
            wire::LIST | wire::SET => self.list(value.known),
            wire::MAP => self.map(),
            wire::STRUCT => {
                if let Some(Kind::Node(_)) = value.known {
                    self.children.push(0);
                }
                let fields = value.known.and_then(Kind::fields);
                self.enter(Open::Struct { fields, last: 0 })
            }
            wire::UUID => self.skip(16),
            _ => Err(Flaw::Type),
        }
    }

    fn list(&mut self, known: Option<&'static Kind>) -> Result<(), Flaw> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(());
        }
        let left = match head >> 4 {
            15 => self.number()?,
            short => u64::from(short),
        };
        let known = match known {
            Some(Kind::List(element)) => Some(*element),
            _ => None,
        };
        let element = Value {
            wire: head & 0x0f,
            known,
        };
        self.fits(left)?;
        if known.is_some() && left > MOST_ELEMENTS {
            return Err(Flaw::List);
        }
        self.enter(Open::List { element, left })
    }

    fn map(&mut self) -> Result<(), Flaw> {
        let pairs = self.number()?;
        if pairs == 0 {
            return Ok(());
        }
        self.fits(pairs)?;
        let kinds = self.byte()?;
        let value = |wire| Value { wire, known: None };
        self.enter(Open::Map {
            key: value(kinds >> 4),
            value: value(kinds & 0x0f),
            left: pairs.saturating_mul(2),
        })
    }

    /// Every element has a byte at least.
    fn fits(&self, elements: u64) -> Result<(), Flaw> {
        if elements > self.bytes.len() as u64 {
            return Err(Flaw::List);
        }
        Ok(())
    }

    fn enter(&mut self, open: Open) -> Result<(), Flaw> {
        if self.open.len() >= DEEPEST {
            return Err(Flaw::Depth);
        }
        self.open.push(open);
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Flaw> {
        let (first, rest) = self.bytes.split_first().ok_or(Flaw::Short)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn skip(&mut self, length: u64) -> Result<(), Flaw> {
        let length = usize::try_from(length).map_err(|_| Flaw::Short)?;
        self.bytes = self.bytes.get(length..).ok_or(Flaw::Short)?;
        Ok(())
    }

    /// A number of seven bits per byte, lowest first.
    fn number(&mut self) -> Result<u64, Flaw> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Flaw::Type)
    }
}

fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// A field id as the decoder takes it from a longer number.
#[allow(clippy::cast_possible_truncation)]
fn narrow(number: i64) -> i16 {
    number as i16
}

/// Whether numbers of children in depth-first order are those of a tree that is not too deep. Several
/// trees after one another are left for the decoder to refuse.
fn tree(children: &[i64]) -> Result<(), Flaw> {
    let mut open: Vec<i64> = Vec::new();
    let mut after = children.len();
    for number in children {
        after -= 1;
        if let Some(siblings) = open.last_mut() {
            *siblings -= 1;
        }
        if usize::try_from(*number).map_or(true, |number| number > after) {
            return Err(Flaw::Schema);
        }
        if *number > 0 {
            open.push(*number);
        }
        if open.len() > DEEPEST {
            return Err(Flaw::Depth);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
