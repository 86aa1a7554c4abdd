//! Tickets that do not hold, given to the real planner and the real Flight servers: each is refused in
//! one line, before anything is read.

use std::time::{SystemTime, UNIX_EPOCH};

use arrow_flight::FlightInfo;
use wire::ticket::MAX_TICKET_BYTES;
use wire::{Payload, TicketKeys};

use crate::bad_input::assert_names;
use crate::flight::Connection;
use crate::processes::{KEYS, TICKET_KEY};
use crate::topology::{CLUSTER_ROWS, orders_in_a_cluster};

const TEN_MINUTES_MS: i64 = 600_000;

/// The same result, asked for with other tickets.
fn with_tickets(info: &FlightInfo, mut change: impl FnMut(&[u8]) -> Vec<u8>) -> FlightInfo {
    let mut changed = info.clone();
    for endpoint in &mut changed.endpoint {
        let ticket = endpoint.ticket.as_mut().unwrap();
        ticket.ticket = change(&ticket.ticket).into();
    }
    changed
}

/// The same tickets, to be given to the planner.
fn by_the_planner(info: &FlightInfo) -> FlightInfo {
    let mut changed = info.clone();
    for endpoint in &mut changed.endpoint {
        endpoint.location.clear();
    }
    changed
}

fn now_unix_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// What a ticket says, for whoever has the keys.
fn payload(ticket: &[u8]) -> Payload {
    let keys = TicketKeys::parse(KEYS).unwrap();
    keys.verify(ticket, now_unix_ms()).unwrap()
}

/// The ticket as it was signed that long ago.
fn expired(ticket: &[u8]) -> Vec<u8> {
    let mut payload = payload(ticket);
    payload.expires_unix_ms = now_unix_ms() - TEN_MINUTES_MS;
    let keys = TicketKeys::parse(KEYS).unwrap();
    keys.sign(&payload).unwrap().to_vec()
}

/// The ticket as somebody would sign it who has not the key, but knows its name.
fn forged(ticket: &[u8]) -> Vec<u8> {
    let keys = TicketKeys::parse(&format!("test:{}", "ff".repeat(32))).unwrap();
    keys.sign(&payload(ticket)).unwrap().to_vec()
}

/// The ticket signed with a key that nobody here has.
fn of_another_key(ticket: &[u8]) -> Vec<u8> {
    let keys = TicketKeys::parse(&format!("elsewhere:{TICKET_KEY}")).unwrap();
    keys.sign(&payload(ticket)).unwrap().to_vec()
}

/// The ticket as a later version might mark it.
fn of_another_version(ticket: &[u8]) -> Vec<u8> {
    let mut bytes = ticket.to_vec();
    bytes["FULMAR".len()] = 9;
    bytes
}

fn altered(ticket: &[u8]) -> Vec<u8> {
    let mut bytes = ticket.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    bytes
}

fn oversized(ticket: &[u8]) -> Vec<u8> {
    let mut bytes = ticket.to_vec();
    bytes.resize(MAX_TICKET_BYTES + 1, 0);
    bytes
}

fn cut_off(ticket: &[u8]) -> Vec<u8> {
    ticket[..20].to_vec()
}

type Change = fn(&[u8]) -> Vec<u8>;

#[tokio::test(flavor = "multi_thread")]
async fn tickets_that_do_not_hold_are_refused_by_planner_and_flight_server() {
    let (_dir, cluster) = orders_in_a_cluster(1, 1).await;
    let mut connection = Connection::open(&cluster.planner_location()).await;
    let scan = "SELECT order_id FROM orders";
    let scan = connection.info(scan).await.unwrap();
    let statement = "SELECT status, count(*) FROM orders GROUP BY status";
    let statement = connection.info(statement).await.unwrap();
    let cases: [(Change, &[&str]); 7] = [
        (altered, &["signature is not valid", "Unauthenticated"]),
        (forged, &["signature is not valid", "Unauthenticated"]),
        (of_another_key, &["key \"elsewhere\"", "Unauthenticated"]),
        (
            expired,
            &[
                "expired 600 s ago",
                "run the query again",
                "Unauthenticated",
            ],
        ),
        (
            of_another_version,
            &["version 9", "version 1", "InvalidArgument"],
        ),
        (oversized, &["786433", "786432", "InvalidArgument"]),
        (cut_off, &["not a Fulmar ticket", "InvalidArgument"]),
    ];
    for (change, parts) in cases {
        for info in [&scan, &by_the_planner(&scan), &statement] {
            let refused = connection.fetch(with_tickets(info, change)).await;
            let error = refused.err().unwrap();
            assert_names(&error, parts);
        }
    }
    let whole = connection.fetch(scan).await.unwrap();
    assert_eq!(whole.rows() as u64, CLUSTER_ROWS, "and both serve on");
}
