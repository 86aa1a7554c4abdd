//! The session messages of the Flight protocol, which the Arrow crate does not have. Field numbers are
//! those of `Flight.proto`.

use std::collections::BTreeMap;

/// The type of a session option's value.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum OptionValue {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Boolean(bool),
    #[prost(sfixed64, tag = "3")]
    Integer(i64),
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(message, tag = "5")]
    Texts(StringListValue),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StringListValue {
    #[prost(string, repeated, tag = "1")]
    pub(crate) values: Vec<String>,
}

/// A value; without one the option is unset.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SessionOptionValue {
    #[prost(oneof = "OptionValue", tags = "1, 2, 3, 4, 5")]
    pub(crate) value: Option<OptionValue>,
}

impl From<String> for SessionOptionValue {
    fn from(text: String) -> Self {
        Self {
            value: Some(OptionValue::Text(text)),
        }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SetSessionOptionsRequest {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(crate) session_options: BTreeMap<String, SessionOptionValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum ErrorValue {
    Unspecified = 0,
    InvalidName = 1,
    InvalidValue = 2,
    Error = 3,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OptionError {
    #[prost(enumeration = "ErrorValue", tag = "1")]
    pub(crate) value: i32,
}

/// Names only the options that were not set.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SetSessionOptionsResult {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(crate) errors: BTreeMap<String, OptionError>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetSessionOptionsResult {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(crate) session_options: BTreeMap<String, SessionOptionValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum CloseStatus {
    Unspecified = 0,
    Closed = 1,
    Closing = 2,
    NotCloseable = 3,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CloseSessionResult {
    #[prost(enumeration = "CloseStatus", tag = "1")]
    pub(crate) status: i32,
}
