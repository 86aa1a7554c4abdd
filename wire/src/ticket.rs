//! Tickets: signing, checking and the typed payload.
//!
//! A ticket is an envelope around a protobuf payload:
//!
//! ```text
//! "FULMAR" | version: u8 | key id length: u8 | key id | HMAC-SHA256 (32 bytes) | payload
//! ```
//!
//! The MAC covers everything else. It is checked in constant time before the payload is decoded.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use model::{QueryId, ScanTask, SnapshotId, TableName, TicketId};
use prost::Message;
use sha2::Sha256;

use crate::category::{Categorized, Category};
use crate::convert::{DecodeError, required};
use crate::proto;

/// The format that this version signs and reads.
pub const TICKET_VERSION: u8 = 1;

/// Largest ticket: 16 of them and their locations must fit a client's FlightInfo message.
pub const MAX_TICKET_BYTES: usize = 768 * 1024;

const MAGIC: &[u8; 6] = b"FULMAR";
const MAC_BYTES: usize = 32;
const MIN_KEY_BYTES: usize = 16;

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
    #[error("ticket has version {found}, this server reads version {TICKET_VERSION}")]
    Version {
        /// The ticket's version.
        found: u8,
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
    pub(crate) keys: Vec<(String, Hmac<Sha256>)>,
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
    /// When there is no key, or one is not `id:hex` with at least 16 bytes.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
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

    /// Signs a payload.
    ///
    /// # Errors
    /// When the ticket would be too large.
    pub fn sign(&self, payload: &Payload) -> Result<Bytes, TicketError> {
        let body = encode_payload(payload);
        let Some((id, mac)) = self.keys.first() else {
            return Err(TicketError::UnknownKey {
                key_id: String::new(),
            });
        };
        let mut ticket = Vec::with_capacity(body.len() + 64 + id.len());
        ticket.extend_from_slice(MAGIC);
        ticket.push(TICKET_VERSION);
        ticket.push(u8::try_from(id.len()).unwrap_or_default());
        ticket.extend_from_slice(id.as_bytes());
        let tag = mac
            .clone()
            .chain_update(&ticket)
            .chain_update(&body)
            .finalize()
            .into_bytes();
        ticket.extend_from_slice(&tag);
        ticket.extend_from_slice(&body);
        check_size(&ticket)?;
        Ok(ticket.into())
    }

    /// Checks a ticket and decodes its payload.
    ///
    /// # Errors
    /// When it is not a ticket of this version, signed with one of the keys and still valid at
    /// `now_unix_ms`.
    pub fn verify(&self, ticket: &[u8], now_unix_ms: i64) -> Result<Payload, TicketError> {
        check_size(ticket)?;
        let envelope = Envelope::split(ticket)?;
        let (_, mac) = self
            .keys
            .iter()
            .find(|(id, _)| id.as_bytes() == envelope.key_id)
            .ok_or_else(|| TicketError::UnknownKey {
                key_id: String::from_utf8_lossy(envelope.key_id).into_owned(),
            })?;
        let check = mac
            .clone()
            .chain_update(envelope.head)
            .chain_update(envelope.body);
        check
            .verify_slice(envelope.mac)
            .map_err(|_| TicketError::Forged)?;
        let payload = Payload::try_from(decode_payload(envelope.body)?)?;
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
    bytes.starts_with(MAGIC)
}

struct Envelope<'a> {
    head: &'a [u8],
    key_id: &'a [u8],
    mac: &'a [u8],
    body: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn split(ticket: &'a [u8]) -> Result<Self, TicketError> {
        let rest = ticket.strip_prefix(MAGIC).ok_or(TicketError::NotATicket)?;
        let (version, rest) = rest.split_first().ok_or(TicketError::NotATicket)?;
        if *version != TICKET_VERSION {
            return Err(TicketError::Version { found: *version });
        }
        let (id_length, rest) = rest.split_first().ok_or(TicketError::NotATicket)?;
        let id_length = usize::from(*id_length);
        let (key_id, rest) = rest
            .split_at_checked(id_length)
            .ok_or(TicketError::NotATicket)?;
        let (mac, body) = rest
            .split_at_checked(MAC_BYTES)
            .ok_or(TicketError::NotATicket)?;
        let head_length = MAGIC.len() + 2 + id_length;
        let (head, _) = ticket
            .split_at_checked(head_length)
            .ok_or(TicketError::NotATicket)?;
        Ok(Self {
            head,
            key_id,
            mac,
            body,
        })
    }
}

fn check_size(ticket: &[u8]) -> Result<(), TicketError> {
    if ticket.len() > MAX_TICKET_BYTES {
        return Err(TicketError::TooLarge {
            bytes: ticket.len(),
        });
    }
    Ok(())
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

/// What a ticket says.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// When it stops being valid, in milliseconds since 1970.
    pub expires_unix_ms: i64,
    /// The query it belongs to.
    pub query_id: QueryId,
    /// Its own identity.
    pub ticket_id: TicketId,
    /// On whose behalf it was signed.
    pub principal: String,
    /// What to do.
    pub work: Work,
}

/// What a ticket asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Scan files: any Flight server can.
    Scan(ScanWork),
    /// Run a statement: any planner can.
    Statement(StatementWork),
}

/// Scan these files of one snapshot of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanWork {
    /// The table.
    pub table: TableName,
    /// The snapshot that was planned.
    pub snapshot_id: SnapshotId,
    /// The files.
    pub tasks: Vec<ScanTask>,
    /// `datafusion-proto` bytes of `[Projection] ScanExec`; the leaf has no tasks of its own.
    pub fragment: Bytes,
    /// The schema that was promised, as an IPC message.
    pub output_schema: Bytes,
    /// Rows of the result to leave out.
    pub skip_rows: u64,
}

/// A table pinned to a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSnapshot {
    /// The table.
    pub table: TableName,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
}

/// Run this statement on these snapshots.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementWork {
    /// The statement.
    pub sql: String,
    /// An Arrow IPC stream of one row of parameters; empty without parameters.
    pub parameters: Bytes,
    /// Session options that the result depends on.
    pub options: BTreeMap<String, String>,
    /// The snapshots it was planned on.
    pub snapshots: Vec<TableSnapshot>,
    /// The schema that was promised, as an IPC message.
    pub output_schema: Bytes,
}

/// The payload's bytes, as they are signed.
pub fn encode_payload(payload: &Payload) -> Vec<u8> {
    use proto::ticket_payload::Work as ProtoWork;
    let work = match &payload.work {
        Work::Scan(scan) => ProtoWork::Scan(proto::ScanWork {
            table: Some((&scan.table).into()),
            snapshot_id: scan.snapshot_id.0,
            tasks: scan.tasks.iter().map(Into::into).collect(),
            fragment: scan.fragment.to_vec(),
            output_schema: scan.output_schema.to_vec(),
            skip_rows: scan.skip_rows,
        }),
        Work::Statement(statement) => ProtoWork::Statement(proto::StatementWork {
            sql: statement.sql.clone(),
            parameters: statement.parameters.to_vec(),
            options: statement.options.clone().into_iter().collect(),
            snapshots: statement.snapshots.iter().map(Into::into).collect(),
            output_schema: statement.output_schema.to_vec(),
        }),
    };
    proto::TicketPayload {
        expires_unix_ms: payload.expires_unix_ms,
        query_id: payload.query_id.0.clone(),
        ticket_id: payload.ticket_id.0.clone(),
        principal: payload.principal.clone(),
        work: Some(work),
    }
    .encode_to_vec()
}

fn decode_payload(body: &[u8]) -> Result<proto::TicketPayload, DecodeError> {
    proto::TicketPayload::decode(body)
        .map_err(|error| DecodeError::new("ticket payload", error.to_string()))
}

impl TryFrom<proto::TicketPayload> for Payload {
    type Error = DecodeError;

    fn try_from(payload: proto::TicketPayload) -> Result<Self, DecodeError> {
        use proto::ticket_payload::Work as ProtoWork;
        let work = match required(payload.work, "work")? {
            ProtoWork::Scan(scan) => Work::Scan(scan.try_into()?),
            ProtoWork::Statement(statement) => Work::Statement(statement.try_into()?),
        };
        Ok(Self {
            expires_unix_ms: payload.expires_unix_ms,
            query_id: QueryId(payload.query_id),
            ticket_id: TicketId(payload.ticket_id),
            principal: payload.principal,
            work,
        })
    }
}

impl TryFrom<proto::ScanWork> for ScanWork {
    type Error = DecodeError;

    fn try_from(scan: proto::ScanWork) -> Result<Self, DecodeError> {
        Ok(Self {
            table: required(scan.table, "table")?.into(),
            snapshot_id: SnapshotId(scan.snapshot_id),
            tasks: scan
                .tasks
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            fragment: scan.fragment.into(),
            output_schema: scan.output_schema.into(),
            skip_rows: scan.skip_rows,
        })
    }
}

impl TryFrom<proto::StatementWork> for StatementWork {
    type Error = DecodeError;

    fn try_from(statement: proto::StatementWork) -> Result<Self, DecodeError> {
        let snapshots = statement.snapshots.into_iter().map(|snapshot| {
            Ok(TableSnapshot {
                table: required(snapshot.table, "table")?.into(),
                snapshot_id: SnapshotId(snapshot.snapshot_id),
            })
        });
        Ok(Self {
            sql: statement.sql,
            parameters: statement.parameters.into(),
            options: statement.options.into_iter().collect(),
            snapshots: snapshots.collect::<Result<_, DecodeError>>()?,
            output_schema: statement.output_schema.into(),
        })
    }
}

impl From<&TableSnapshot> for proto::TableSnapshot {
    fn from(snapshot: &TableSnapshot) -> Self {
        Self {
            table: Some((&snapshot.table).into()),
            snapshot_id: snapshot.snapshot_id.0,
        }
    }
}

#[cfg(test)]
mod tests {
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
        ticket[MAGIC.len()] = 9;
        assert!(matches!(
            keys.verify(&ticket, 0),
            Err(TicketError::Version { found: 9 })
        ));
        let huge = vec![0; MAX_TICKET_BYTES + 1];
        assert!(matches!(
            keys.verify(&huge, 0),
            Err(TicketError::TooLarge { .. })
        ));
    }

    #[test]
    fn keys_that_cannot_be_used_are_refused_without_being_shown() {
        for text in [
            "",
            "k",
            "k:00",
            "k:xyz",
            ":000102030405060708090a0b0c0d0e0f",
        ] {
            assert!(TicketKeys::parse(text).is_err(), "{text}");
        }
        assert!(!format!("{:?}", TicketKeys::parse(KEY)).contains("0001"));
    }
}
