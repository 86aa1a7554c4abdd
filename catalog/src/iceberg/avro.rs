//! Fields of Avro records by name, through the unions that make them optional. Pure.

use apache_avro::types::Value;

/// A record of a manifest or manifest list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a>(&'a [(String, Value)]);

impl<'a> Record<'a> {
    /// The value as a record.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        match present(value)? {
            Value::Record(fields) => Some(Self(fields)),
            _ => None,
        }
    }

    /// A field that is there and not null.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        let (_, value) = self.0.iter().find(|(field, _)| field == name)?;
        present(value)
    }

    /// The field at a position, when it is there and not null.
    pub(super) fn at(self, position: usize) -> Option<&'a Value> {
        let (_, value) = self.0.get(position)?;
        present(value)
    }

    /// A field of any integer type.
    pub(super) fn integer(self, name: &str) -> Option<i64> {
        integer(self.get(name)?)
    }

    /// A text field.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        match self.get(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A map with integer keys, which Avro holds as records of key and value.
    pub(super) fn map(self, name: &str) -> impl Iterator<Item = (i32, &'a Value)> + use<'a> {
        let entries = match self.get(name) {
            Some(Value::Array(entries)) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().filter_map(|entry| {
            let entry = Record::of(entry)?;
            let key = i32::try_from(entry.integer("key")?).ok()?;
            Some((key, entry.get("value")?))
        })
    }
}

/// The value inside of a union, unless it is null.
fn present(value: &Value) -> Option<&Value> {
    match value {
        Value::Union(_, inner) => present(inner),
        Value::Null => None,
        other => Some(other),
    }
}

/// A value of any integer type, those of dates and times included.
pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) | Value::Date(value) | Value::TimeMillis(value) => Some((*value).into()),
        Value::Long(value)
        | Value::TimeMicros(value)
        | Value::TimestampMicros(value)
        | Value::LocalTimestampMicros(value) => Some(*value),
        _ => None,
    }
}

/// The bytes of a binary value.
pub(super) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Bytes(bytes) | Value::Fixed(_, bytes) => Some(bytes),
        _ => None,
    }
}
