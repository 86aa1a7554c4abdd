//! The keys that sign what clients keep for us: tickets, and the handles of sessions and statements.

use std::collections::HashSet;
use std::fmt;

use hmac::{Hmac, KeyInit};
use sha2::Sha256;

use crate::ticket::TicketError;

const MIN_KEY_BYTES: usize = 16;

/// Keys that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("ticket key {position}: {reason}")]
pub struct KeyError {
    /// Position in the list, from 1; the key itself is never shown.
    pub position: usize,
    /// What is wrong.
    pub reason: &'static str,
}

/// The signing keys: the first signs, all are accepted, so that keys can be rotated.
#[derive(Clone)]
pub struct TicketKeys {
    keys: Vec<(String, Hmac<Sha256>)>,
}

impl fmt::Debug for TicketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.keys.iter().map(|(id, _)| id))
            .finish()
    }
}

impl TicketKeys {
    /// Reads `id:hex[,id:hex…]`.
    ///
    /// # Errors
    /// When there is no key, one is not `id:hex` with at least 16 bytes, or two have the same id: only
    /// the first of them would ever be tried.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut seen = HashSet::new();
        let keys = text.split(',').enumerate().map(|(index, entry)| {
            let error = |reason| KeyError {
                position: index + 1,
                reason,
            };
            let (id, hex) = entry
                .trim()
                .split_once(':')
                .ok_or(error("not of the form id:hex"))?;
            if id.is_empty() || id.len() > usize::from(u8::MAX) {
                return Err(error("the id must have 1 to 255 bytes"));
            }
            if !seen.insert(id) {
                return Err(error("an earlier key has the same id"));
            }
            let key = from_hex(hex).ok_or(error("the key is not hexadecimal"))?;
            if key.len() < MIN_KEY_BYTES {
                return Err(error("the key must have at least 16 bytes"));
            }
            let mac = Hmac::new_from_slice(&key).map_err(|_| error("the key cannot be used"))?;
            Ok((id.to_owned(), mac))
        });
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
        })
    }

    /// The key that signs, and its id.
    pub(crate) fn signing(&self) -> Result<(&str, Hmac<Sha256>), TicketError> {
        let first = self.keys.first().ok_or_else(|| TicketError::UnknownKey {
            key_id: String::new(),
        })?;
        Ok((&first.0, first.1.clone()))
    }

    /// The key of this id.
    pub(crate) fn of(&self, id: &[u8]) -> Result<Hmac<Sha256>, TicketError> {
        let known = self.keys.iter().find(|(known, _)| known.as_bytes() == id);
        let (_, mac) = known.ok_or_else(|| TicketError::UnknownKey {
            key_id: String::from_utf8_lossy(id).into_owned(),
        })?;
        Ok(mac.clone())
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let nibble = |digit: u8| {
        char::from(digit)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "old:000102030405060708090a0b0c0d0e0f";

    #[test]
    fn keys_that_cannot_be_used_are_refused_without_being_shown() {
        for text in [
            "",
            "k",
            "k:00",
            "k:xyz",
            ":000102030405060708090a0b0c0d0e0f",
            &format!("{KEY},new:{hex},old:{hex}", hex = "ff".repeat(16)),
        ] {
            assert!(TicketKeys::parse(text).is_err(), "{text}");
        }
        assert!(!format!("{:?}", TicketKeys::parse(KEY)).contains("0001"));
    }
}
