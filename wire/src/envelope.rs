//! The envelope around everything that is signed. Owns its bytes; what is inside is the caller's.
//!
//! ```text
//! magic | version: u8 | key id length: u8 | key id | HMAC-SHA256 (32 bytes) | body
//! ```
//!
//! The MAC covers everything else, and is checked in constant time before the body is looked at.

use bytes::Bytes;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::keys::TicketKeys;
use crate::ticket::{MAX_TICKET_BYTES, TicketError};

const MAC_BYTES: usize = 32;

/// One kind of signed bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    /// How they begin.
    pub(crate) magic: &'static [u8],
    /// The format that is signed and read.
    pub(crate) version: u8,
    /// What they are for, where one kind serves several purposes: it is signed, but not written.
    pub(crate) purpose: Option<&'a str>,
}

struct Parts<'a> {
    head: &'a [u8],
    key_id: &'a [u8],
    mac: &'a [u8],
    body: &'a [u8],
}

impl Envelope<'_> {
    /// Signs a body.
    ///
    /// # Errors
    /// When it would be larger than [`MAX_TICKET_BYTES`].
    pub(crate) fn sign(&self, keys: &TicketKeys, body: &[u8]) -> Result<Bytes, TicketError> {
        let (id, mac) = keys.signing()?;
        let length = self.magic.len() + 2 + id.len() + MAC_BYTES + body.len();
        check_size(length)?;
        let mut signed = Vec::with_capacity(length);
        signed.extend_from_slice(self.magic);
        signed.push(self.version);
        signed.push(u8::try_from(id.len()).unwrap_or_default());
        signed.extend_from_slice(id.as_bytes());
        let tag = self.over(mac, &signed, body).finalize().into_bytes();
        signed.extend_from_slice(&tag);
        signed.extend_from_slice(body);
        Ok(signed.into())
    }

    /// The body, once its signature is checked.
    ///
    /// # Errors
    /// When the bytes are not of this kind and version, or not signed with one of the keys.
    pub(crate) fn open<'b>(
        &self,
        keys: &TicketKeys,
        signed: &'b [u8],
    ) -> Result<&'b [u8], TicketError> {
        check_size(signed.len())?;
        let parts = self.split(signed)?;
        self.over(keys.of(parts.key_id)?, parts.head, parts.body)
            .verify_slice(parts.mac)
            .map_err(|_| TicketError::Forged)?;
        Ok(parts.body)
    }

    fn split<'b>(&self, signed: &'b [u8]) -> Result<Parts<'b>, TicketError> {
        let rest = signed.strip_prefix(self.magic);
        let (version, rest) = rest
            .and_then(<[u8]>::split_first)
            .ok_or(TicketError::NotATicket)?;
        if *version != self.version {
            return Err(TicketError::Version {
                found: *version,
                read: self.version,
            });
        }
        let parts = || {
            let (length, rest) = rest.split_first()?;
            let (key_id, rest) = rest.split_at_checked(usize::from(*length))?;
            let (mac, body) = rest.split_at_checked(MAC_BYTES)?;
            let (head, _) = signed.split_at_checked(self.magic.len() + 2 + key_id.len())?;
            Some(Parts {
                head,
                key_id,
                mac,
                body,
            })
        };
        parts().ok_or(TicketError::NotATicket)
    }

    fn over(&self, mut mac: Hmac<Sha256>, head: &[u8], body: &[u8]) -> Hmac<Sha256> {
        if let Some(purpose) = self.purpose {
            let length = u32::try_from(purpose.len()).unwrap_or(u32::MAX);
            mac.update(&length.to_le_bytes());
            mac.update(purpose.as_bytes());
        }
        mac.chain_update(head).chain_update(body)
    }
}

fn check_size(bytes: usize) -> Result<(), TicketError> {
    if bytes > MAX_TICKET_BYTES {
        return Err(TicketError::TooLarge { bytes });
    }
    Ok(())
}
