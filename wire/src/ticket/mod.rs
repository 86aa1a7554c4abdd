//! Tickets: what a client hands to whoever serves it. A payload in a signed envelope.

mod payload;

use bytes::Bytes;

use crate::category::{Categorized, Category};
use crate::convert::DecodeError;
use crate::envelope::Envelope;
use crate::keys::TicketKeys;

pub use payload::{Payload, ScanWork, StatementWork, TableSnapshot, Work, encode_payload};

/// The format that this version signs and reads.
pub const TICKET_VERSION: u8 = 1;

/// Largest ticket: 16 of them and their locations must fit a client's FlightInfo message.
pub const MAX_TICKET_BYTES: usize = 768 * 1024;

const TICKET: Envelope<'static> = Envelope {
    magic: b"FULMAR",
    version: TICKET_VERSION,
    purpose: None,
};

/// Why a ticket was refused.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// Larger than [`MAX_TICKET_BYTES`].
    #[error("ticket has {bytes} bytes, at most {MAX_TICKET_BYTES} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Not the bytes of a Fulmar ticket at all.
    #[error("not a Fulmar ticket")]
    NotATicket,
    /// Made by another version of Fulmar.
    #[error("ticket has version {found}, this server reads version {read}")]
    Version {
        /// The ticket's version.
        found: u8,
        /// The version that is read here.
        read: u8,
    },
    /// Signed with a key that is not configured here.
    #[error("ticket is signed with key {key_id:?}, which this server does not have")]
    UnknownKey {
        /// The key's id.
        key_id: String,
    },
    /// The signature does not fit the content.
    #[error("ticket signature is not valid")]
    Forged,
    /// Its time is over.
    #[error("ticket expired {seconds} s ago; run the query again")]
    Expired {
        /// How long ago.
        seconds: u64,
    },
    /// Signed by us, but not understood.
    #[error("ticket cannot be read")]
    Malformed(#[from] DecodeError),
}

impl Categorized for TicketError {
    fn category(&self) -> Category {
        match self {
            Self::TooLarge { .. }
            | Self::NotATicket
            | Self::Version { .. }
            | Self::Malformed(_) => Category::Invalid,
            Self::UnknownKey { .. } | Self::Forged | Self::Expired { .. } => {
                Category::Unauthenticated
            }
        }
    }
}

impl TicketKeys {
    /// Signs a payload.
    ///
    /// # Errors
    /// When the ticket would be too large.
    pub fn sign(&self, payload: &Payload) -> Result<Bytes, TicketError> {
        TICKET.sign(self, &encode_payload(payload))
    }

    /// Checks a ticket and decodes its payload.
    ///
    /// # Errors
    /// When it is not a ticket of this version, signed with one of the keys and still valid at
    /// `now_unix_ms`.
    pub fn verify(&self, ticket: &[u8], now_unix_ms: i64) -> Result<Payload, TicketError> {
        let payload = payload::decode_payload(TICKET.open(self, ticket)?)?;
        let late = now_unix_ms.saturating_sub(payload.expires_unix_ms);
        match u64::try_from(late) {
            Ok(late) if late > 0 => Err(TicketError::Expired {
                seconds: late / 1000,
            }),
            _ => Ok(payload),
        }
    }
}

/// Whether the bytes claim to be a Fulmar ticket; other Flight SQL tickets are protobuf.
pub fn is_ticket(bytes: &[u8]) -> bool {
    bytes.starts_with(TICKET.magic)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;
    use model::{QueryId, SnapshotId, TableName, TicketId};

    use super::*;

    const KEY: &str = "old:000102030405060708090a0b0c0d0e0f";
    const ROTATED: &str =
        "new:ffffffffffffffffffffffffffffffff,old:000102030405060708090a0b0c0d0e0f";

    fn payload() -> Payload {
        Payload {
            expires_unix_ms: 1_000,
            query_id: QueryId("q".to_owned()),
            ticket_id: TicketId("t".to_owned()),
            principal: "anonymous".to_owned(),
            work: Work::Statement(StatementWork {
                sql: "SELECT 1".to_owned(),
                parameters: Bytes::new(),
                options: BTreeMap::new(),
                snapshots: vec![TableSnapshot {
                    table: TableName::main("orders"),
                    snapshot_id: SnapshotId(7),
                }],
                output_schema: Bytes::new(),
            }),
        }
    }

    #[test]
    fn a_signed_ticket_is_read_back_until_it_expires() {
        let keys = TicketKeys::parse(KEY).unwrap();
        let ticket = keys.sign(&payload()).unwrap();
        assert_eq!(keys.verify(&ticket, 1_000).unwrap(), payload());
        assert!(matches!(
            keys.verify(&ticket, 1_001),
            Err(TicketError::Expired { .. })
        ));
    }

    #[test]
    fn a_rotated_key_still_opens_old_tickets_and_signs_new_ones() {
        let ticket = TicketKeys::parse(KEY).unwrap().sign(&payload()).unwrap();
        let rotated = TicketKeys::parse(ROTATED).unwrap();
        assert!(rotated.verify(&ticket, 0).is_ok());
        let new = rotated.sign(&payload()).unwrap();
        let only_old = TicketKeys::parse(KEY).unwrap();
        assert!(matches!(
            only_old.verify(&new, 0),
            Err(TicketError::UnknownKey { .. })
        ));
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let keys = TicketKeys::parse(KEY).unwrap();
        let ticket = keys.sign(&payload()).unwrap();
        for position in 0..ticket.len() {
            let mut altered = ticket.to_vec();
            altered[position] ^= 1;
            assert!(keys.verify(&altered, 0).is_err(), "byte {position}");
        }
        for length in 0..ticket.len() {
            assert!(
                keys.verify(&ticket[..length], 0).is_err(),
                "cut at {length}"
            );
        }
    }

    #[test]
    fn another_version_and_an_oversized_ticket_are_named() {
        let keys = TicketKeys::parse(KEY).unwrap();
        let mut ticket = keys.sign(&payload()).unwrap().to_vec();
        ticket[TICKET.magic.len()] = 9;
        assert!(matches!(
            keys.verify(&ticket, 0),
            Err(TicketError::Version { found: 9, read: 1 })
        ));
        let huge = vec![0; MAX_TICKET_BYTES + 1];
        assert!(matches!(
            keys.verify(&huge, 0),
            Err(TicketError::TooLarge { .. })
        ));
    }
}
