//! Structures of the compact protocol taken apart into the bytes of their fields, and put together from
//! such. What a value means is not looked at, so that nothing of it changes on the way.

use super::parquet::wire;
use super::{Flaw, Value, Walk, narrow, zigzag};

/// A field of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) id: i16,
    pub(crate) wire: u8,
    /// The bytes of the value; none for a boolean.
    pub(crate) value: &'a [u8],
}

/// The fields of a structure, which the bytes begin with.
pub(crate) fn fields(bytes: &[u8]) -> Result<Vec<Field<'_>>, Flaw> {
    fields_and_length(bytes).map(|(fields, _)| fields)
}

/// The same, and how many bytes the structure has.
pub(crate) fn fields_and_length(bytes: &[u8]) -> Result<(Vec<Field<'_>>, usize), Flaw> {
    let mut walk = walk(bytes);
    let mut fields = Vec::new();
    let mut last: i16 = 0;
    loop {
        let head = walk.byte()?;
        let wire = head & 0x0f;
        if wire == wire::STOP {
            return Ok((fields, bytes.len() - walk.bytes.len()));
        }
        last = match i16::from(head >> 4) {
            0 => narrow(zigzag(walk.number()?)),
            delta => last.checked_add(delta).ok_or(Flaw::Type)?,
        };
        let value = if matches!(wire, wire::TRUE | wire::FALSE) {
            &[]
        } else {
            walk.whole(wire)?
        };
        fields.push(Field {
            id: last,
            wire,
            value,
        });
    }
}

/// The structures of a list.
pub(crate) fn structures(list: &[u8]) -> Result<Vec<&[u8]>, Flaw> {
    let mut walk = walk(list);
    let head = walk.byte()?;
    let count = match head >> 4 {
        15 => walk.number()?,
        short => u64::from(short),
    };
    if count > 0 && head & 0x0f != wire::STRUCT {
        return Err(Flaw::Type);
    }
    walk.fits(count)?;
    (0..count).map(|_| walk.whole(wire::STRUCT)).collect()
}

/// The number that a value of a number's type is.
pub(crate) fn number(value: &[u8]) -> Result<i64, Flaw> {
    walk(value).number().map(zigzag)
}

/// The bytes of a binary or text value.
pub(crate) fn binary(value: &[u8]) -> Result<&[u8], Flaw> {
    let mut walk = walk(value);
    let length = usize::try_from(walk.number()?).map_err(|_| Flaw::Short)?;
    walk.bytes.get(..length).ok_or(Flaw::Short)
}

fn walk(bytes: &[u8]) -> Walk<'_> {
    Walk {
        bytes,
        open: Vec::new(),
        children: Vec::new(),
    }
}

impl<'a> Walk<'a> {
    /// The bytes of the value of this type that comes next.
    fn whole(&mut self, wire: u8) -> Result<&'a [u8], Flaw> {
        let before = self.bytes;
        self.value(Value { wire, known: None })?;
        while let Some(open) = self.open.pop() {
            self.step(open)?;
        }
        let length = before.len() - self.bytes.len();
        before.get(..length).ok_or(Flaw::Short)
    }
}

/// A structure that is being written, its fields in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    bytes: Vec<u8>,
    last: i16,
}

impl Structure {
    /// Adds a field as it was.
    pub(crate) fn field(&mut self, field: Field<'_>) {
        let delta = field.id.checked_sub(self.last);
        let delta = delta.filter(|delta| (1..=15).contains(delta));
        if let Some(delta) = delta.and_then(|delta| u8::try_from(delta).ok()) {
            self.bytes.push(delta << 4 | field.wire);
        } else {
            self.bytes.push(field.wire);
            push_zigzag(&mut self.bytes, field.id.into());
        }
        self.last = field.id;
        self.bytes.extend_from_slice(field.value);
    }

    /// Adds a list of structures.
    pub(crate) fn structures(&mut self, id: i16, structures: &[&[u8]]) {
        let mut value = Vec::new();
        let short = u8::try_from(structures.len()).ok();
        if let Some(count) = short.filter(|count| *count < 15) {
            value.push(count << 4 | wire::STRUCT);
        } else {
            value.push(0xf0 | wire::STRUCT);
            push_number(&mut value, structures.len() as u64);
        }
        value.extend(structures.iter().copied().flatten());
        self.field(Field {
            id,
            wire: wire::LIST,
            value: &value,
        });
    }

    /// Adds a number of 32 bits.
    pub(crate) fn i32(&mut self, id: i16, number: i32) {
        let mut value = Vec::new();
        push_zigzag(&mut value, number.into());
        self.field(Field {
            id,
            wire: wire::I32,
            value: &value,
        });
    }

    /// Adds a structure.
    #[cfg(test)]
    pub(crate) fn structure(&mut self, id: i16, bytes: &[u8]) {
        self.field(Field {
            id,
            wire: wire::STRUCT,
            value: bytes,
        });
    }

    /// Adds bytes or text.
    pub(crate) fn binary(&mut self, id: i16, bytes: &[u8]) {
        let mut value = Vec::new();
        push_number(&mut value, bytes.len() as u64);
        value.extend_from_slice(bytes);
        self.field(Field {
            id,
            wire: wire::BINARY,
            value: &value,
        });
    }

    /// The bytes of the structure.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.push(wire::STOP);
        self.bytes
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
}

fn push_zigzag(bytes: &mut Vec<u8>, number: i64) {
    let folded = (number << 1) ^ (number >> 63);
    push_number(bytes, folded.cast_unsigned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_is_what_was_put_into_it() {
        let inner = |number| {
            let mut inner = Structure::default();
            inner.i32(3, number);
            inner.end()
        };
        let many: Vec<Vec<u8>> = (-9..9).map(inner).collect();
        let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        let mut whole = Structure::default();
        whole.binary(2, b"name");
        whole.structures(40, &many);
        whole.structures(41, &many[..2]);
        let whole = whole.end();
        let read = fields(&whole).unwrap();
        let ids: Vec<i16> = read.iter().map(|field| field.id).collect();
        assert_eq!(ids, [2, 40, 41]);
        assert_eq!(binary(read[0].value).unwrap(), b"name");
        assert_eq!(structures(read[1].value).unwrap(), many);
        assert_eq!(structures(read[2].value).unwrap(), many[..2]);
        let first = fields(many[0]).unwrap();
        assert_eq!(number(first[0].value).unwrap(), -9);
        let mut again = Structure::default();
        for field in read {
            again.field(field);
        }
        assert_eq!(again.end(), whole);
    }

    #[test]
    fn broken_bytes_are_refused() {
        assert_eq!(fields(&[]), Err(Flaw::Short));
        assert_eq!(fields(&[0x18, 9, 1, 2]), Err(Flaw::Short));
        assert_eq!(structures(&[0xff, 0xff, 0xff, 0x7f]), Err(Flaw::Type));
        assert_eq!(structures(&[0xfc, 0xff, 0xff, 0x7f]), Err(Flaw::List));
        assert_eq!(structures(&[0x15, 1]), Err(Flaw::Type));
    }
}
