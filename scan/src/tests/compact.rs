//! Thrift structures as trees of fields by their numbers, and back to bytes, as the compact protocol writes
//! them. Knows no structure of Parquet.

use std::collections::BTreeMap;

/// The fields of a structure by their numbers.
pub(crate) type Fields = BTreeMap<i16, Value>;

/// A value of the compact protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Bool(bool),
    Byte(u8),
    /// The protocol's type, 4 to 6, and the number.
    Int(u8, i64),
    Double([u8; 8]),
    Bytes(Vec<u8>),
    /// The protocol's type of the elements.
    List(u8, Vec<Value>),
    Struct(Fields),
}

impl Value {
    /// The fields of a structure.
    pub(crate) fn fields(&mut self) -> &mut Fields {
        match self {
            Self::Struct(fields) => fields,
            other => panic!("{other:?} is no structure"),
        }
    }

    /// The protocol's type; a boolean field has its value there.
    fn kind(&self) -> u8 {
        match self {
            Self::Bool(true) => 1,
            Self::Bool(false) => 2,
            Self::Byte(_) => 3,
            Self::Int(kind, _) => *kind,
            Self::Double(_) => 7,
            Self::Bytes(_) => 8,
            Self::List(..) => 9,
            Self::Struct(_) => 12,
        }
    }
}

/// The elements of a list.
pub(crate) fn list(fields: &mut Fields, id: i16) -> &mut Vec<Value> {
    match fields.get_mut(&id) {
        Some(Value::List(_, elements)) => elements,
        other => panic!("field {id} is no list but {other:?}"),
    }
}

/// The structure that the bytes begin with.
pub(crate) fn decoded(bytes: &[u8]) -> Fields {
    Input(bytes).fields()
}

/// A structure as bytes.
pub(crate) fn encoded(fields: &Fields) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_fields(fields, &mut bytes);
    bytes
}

/// Bytes that are still to be read.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap();
        self.0 = rest;
        *first
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        let (head, rest) = self.0.split_at(usize::try_from(length).unwrap());
        self.0 = rest;
        head.to_vec()
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }

    fn signed(&mut self) -> i64 {
        let number = self.number();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }

    fn fields(&mut self) -> Fields {
        let mut fields = Fields::new();
        let mut id: i16 = 0;
        loop {
            let head = self.byte();
            let kind = head & 0x0f;
            if kind == 0 {
                return fields;
            }
            id = match i16::from(head >> 4) {
                0 => i16::try_from(self.signed()).unwrap(),
                step => id + step,
            };
            let value = match kind {
                1 | 2 => Value::Bool(kind == 1),
                kind => self.value(kind),
            };
            fields.insert(id, value);
        }
    }

    fn value(&mut self, kind: u8) -> Value {
        match kind {
            1 | 2 => Value::Bool(self.byte() == 1),
            3 => Value::Byte(self.byte()),
            4..=6 => Value::Int(kind, self.signed()),
            7 => Value::Double(self.bytes(8).try_into().unwrap()),
            8 => {
                let length = self.number();
                Value::Bytes(self.bytes(length))
            }
            9 => {
                let head = self.byte();
                let length = match head >> 4 {
                    15 => self.number(),
                    short => u64::from(short),
                };
                let kind = head & 0x0f;
                Value::List(kind, (0..length).map(|_| self.value(kind)).collect())
            }
            12 => Value::Struct(self.fields()),
            other => panic!("Parquet has no values of type {other}"),
        }
    }
}

fn write_fields(fields: &Fields, to: &mut Vec<u8>) {
    let mut before = 0;
    for (id, value) in fields {
        if let Ok(step @ 1..=15) = u8::try_from(*id - before) {
            to.push((step << 4) | value.kind());
        } else {
            to.push(value.kind());
            write_signed((*id).into(), to);
        }
        if !matches!(value, Value::Bool(_)) {
            write_value(value, to);
        }
        before = *id;
    }
    to.push(0);
}

fn write_value(value: &Value, to: &mut Vec<u8>) {
    match value {
        Value::Bool(_) => to.push(value.kind()),
        Value::Byte(byte) => to.push(*byte),
        Value::Int(_, number) => write_signed(*number, to),
        Value::Double(bytes) => to.extend(bytes),
        Value::Bytes(bytes) => {
            write_number(bytes.len() as u64, to);
            to.extend(bytes);
        }
        Value::List(kind, elements) => {
            if let Ok(short @ 0..=14) = u8::try_from(elements.len()) {
                to.push((short << 4) | kind);
            } else {
                to.push(0xf0 | kind);
                write_number(elements.len() as u64, to);
            }
            for element in elements {
                write_value(element, to);
            }
        }
        Value::Struct(fields) => write_fields(fields, to),
    }
}

fn write_signed(number: i64, to: &mut Vec<u8>) {
    write_number(((number << 1) ^ (number >> 63)).cast_unsigned(), to);
}

fn write_number(mut number: u64, to: &mut Vec<u8>) {
    while number > 0x7f {
        to.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    to.push(u8::try_from(number).unwrap());
}
