//! Signed bytes that are not tickets: what a client keeps for us between calls, so that any replica
//! understands it and none has to remember it. Bytes sealed for one purpose are not accepted for
//! another.

use bytes::Bytes;

use crate::envelope::Envelope;
use crate::keys::TicketKeys;
use crate::ticket::TicketError;

const MAGIC: &[u8] = b"FULSEAL";

/// Whether the bytes claim to be sealed.
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl TicketKeys {
    /// Signs a body for one purpose.
    ///
    /// # Errors
    /// When the body is too large: it travels in the same messages as tickets.
    pub fn seal(&self, purpose: &str, body: &[u8]) -> Result<Bytes, TicketError> {
        sealed_for(purpose).sign(self, body)
    }

    /// Checks sealed bytes and gives the body.
    ///
    /// # Errors
    /// When they were not sealed for this purpose with one of the keys.
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Result<Bytes, TicketError> {
        let body = sealed_for(purpose).open(self, sealed)?;
        Ok(Bytes::copy_from_slice(body))
    }
}

fn sealed_for(purpose: &str) -> Envelope<'_> {
    Envelope {
        magic: MAGIC,
        version: 1,
        purpose: Some(purpose),
    }
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
