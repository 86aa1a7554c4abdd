//! Signed bytes that are not tickets: what a client keeps for us between calls, so that any replica
//! understands it and none has to remember it. Owns the envelope; what is inside is the caller's.
//!
//! ```text
//! "FULSEAL" | version: u8 | key id length: u8 | key id | HMAC-SHA256 (32 bytes) | body
//! ```
//!
//! The MAC covers the purpose and everything else, so that bytes sealed for one purpose are not
//! accepted for another.

use bytes::Bytes;
use hmac::Mac;

use crate::ticket::{MAX_TICKET_BYTES, TicketError, TicketKeys};

/// Largest body that is sealed: it travels in the same messages as tickets.
pub const MAX_SEALED_BYTES: usize = MAX_TICKET_BYTES;

const MAGIC: &[u8; 7] = b"FULSEAL";
const VERSION: u8 = 1;
const MAC_BYTES: usize = 32;

/// Whether the bytes claim to be sealed.
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl TicketKeys {
    /// Signs a body for one purpose.
    ///
    /// # Errors
    /// When the body is larger than [`MAX_SEALED_BYTES`].
    pub fn seal(&self, purpose: &str, body: &[u8]) -> Result<Bytes, TicketError> {
        if body.len() > MAX_SEALED_BYTES {
            return Err(TicketError::TooLarge { bytes: body.len() });
        }
        let Some((id, mac)) = self.keys.first() else {
            return Err(TicketError::UnknownKey {
                key_id: String::new(),
            });
        };
        let mut sealed = Vec::with_capacity(MAGIC.len() + 2 + id.len() + MAC_BYTES + body.len());
        sealed.extend_from_slice(MAGIC);
        sealed.push(VERSION);
        sealed.push(u8::try_from(id.len()).unwrap_or_default());
        sealed.extend_from_slice(id.as_bytes());
        let tag = over(mac.clone(), purpose, &sealed, body)
            .finalize()
            .into_bytes();
        sealed.extend_from_slice(&tag);
        sealed.extend_from_slice(body);
        Ok(sealed.into())
    }

    /// Checks sealed bytes and gives the body.
    ///
    /// # Errors
    /// When they were not sealed for this purpose with one of the keys.
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Result<Bytes, TicketError> {
        let (head, key_id, tag, body) = split(sealed)?;
        let (_, mac) = self
            .keys
            .iter()
            .find(|(id, _)| id.as_bytes() == key_id)
            .ok_or_else(|| TicketError::UnknownKey {
                key_id: String::from_utf8_lossy(key_id).into_owned(),
            })?;
        over(mac.clone(), purpose, head, body)
            .verify_slice(tag)
            .map_err(|_| TicketError::Forged)?;
        Ok(Bytes::copy_from_slice(body))
    }
}

fn over<M: Mac>(mac: M, purpose: &str, head: &[u8], body: &[u8]) -> M {
    let length = u32::try_from(purpose.len()).unwrap_or(u32::MAX);
    mac.chain_update(length.to_le_bytes())
        .chain_update(purpose.as_bytes())
        .chain_update(head)
        .chain_update(body)
}

type Parts<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a [u8]);

fn split(sealed: &[u8]) -> Result<Parts<'_>, TicketError> {
    let rest = sealed.strip_prefix(MAGIC).ok_or(TicketError::NotATicket)?;
    let (version, rest) = rest.split_first().ok_or(TicketError::NotATicket)?;
    if *version != VERSION {
        return Err(TicketError::Version { found: *version });
    }
    let (length, rest) = rest.split_first().ok_or(TicketError::NotATicket)?;
    let (key_id, rest) = rest
        .split_at_checked(usize::from(*length))
        .ok_or(TicketError::NotATicket)?;
    let (tag, body) = rest
        .split_at_checked(MAC_BYTES)
        .ok_or(TicketError::NotATicket)?;
    let (head, _) = sealed
        .split_at_checked(MAGIC.len() + 2 + key_id.len())
        .ok_or(TicketError::NotATicket)?;
    Ok((head, key_id, tag, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> TicketKeys {
        TicketKeys::parse("k:000102030405060708090a0b0c0d0e0f").unwrap()
    }

    #[test]
    fn sealed_bytes_open_only_for_their_purpose_and_unaltered() {
        let sealed = keys().seal("handle", b"body").unwrap();
        assert!(is_sealed(&sealed) && !crate::ticket::is_ticket(&sealed));
        assert_eq!(keys().open("handle", &sealed).unwrap(), "body");
        assert!(matches!(
            keys().open("session", &sealed),
            Err(TicketError::Forged)
        ));
        for position in 0..sealed.len() {
            let mut altered = sealed.to_vec();
            altered[position] ^= 1;
            assert!(keys().open("handle", &altered).is_err(), "byte {position}");
            assert!(
                keys().open("handle", &sealed[..position]).is_err(),
                "cut at {position}"
            );
        }
    }
}
