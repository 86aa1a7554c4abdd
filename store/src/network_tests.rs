//! The ledger over a network that fails: how often it asks, what it gets, and how long that takes.

use object_store::memory::InMemory;
use tokio::time::Instant;

use super::*;
use crate::ledger::Ledger;
use crate::open::Stores;
use crate::profile::StoreProfile;

const NETWORK: Network = Network {
    first_byte: Duration::from_millis(30),
    bandwidth: 80_000_000,
    connections: 8,
};

/// 800 kB that take 10 ms.
const LENGTH: u64 = 800_000;

async fn remote(profile: StoreProfile) -> (Arc<NetworkStore>, Ledger) {
    let store = Arc::new(NetworkStore::new(Arc::new(InMemory::new()), NETWORK));
    let stores = Stores::from_env().with_profile(profile);
    let stores = stores
        .with_store("memory://", Arc::clone(&store) as Arc<dyn ObjectStore>)
        .unwrap();
    let location = stores.resolve("memory:///x").unwrap();
    let content: Vec<u8> = (0..LENGTH)
        .map(|byte| u8::try_from(byte % 251).unwrap())
        .collect();
    store
        .put_opts(&location.path, content.into(), PutOptions::default())
        .await
        .unwrap();
    (store, Ledger::new(location))
}

fn expected(range: Range<u64>) -> Vec<u8> {
    range
        .map(|byte| u8::try_from(byte % 251).unwrap())
        .collect()
}

fn near(found: Duration, millis: u64) {
    let wanted = Duration::from_millis(millis);
    let off = found.abs_diff(wanted);
    assert!(
        off < Duration::from_millis(20),
        "{found:?} is not about {wanted:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_read_takes_the_time_of_the_model() {
    let (_, ledger) = remote(StoreProfile::BALANCED).await;
    let began = Instant::now();
    let bytes = ledger.read_one(0..LENGTH, "all").await.unwrap();
    near(began.elapsed(), 40);
    assert_eq!(bytes, expected(0..LENGTH));
    assert_eq!(
        ledger.counts().fetch_ms,
        u64::try_from(began.elapsed().as_millis()).unwrap()
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_range_is_read_in_parts_at_once() {
    let profile = StoreProfile {
        max_request: 200_000,
        ..StoreProfile::BALANCED
    };
    let (store, ledger) = remote(profile).await;
    let began = Instant::now();
    let bytes = ledger.read_one(0..LENGTH, "all").await.unwrap();
    near(began.elapsed(), 33);
    assert_eq!(bytes, expected(0..LENGTH));
    let parts = [
        0..200_000,
        200_000..400_000,
        400_000..600_000,
        600_000..800_000,
    ];
    assert_eq!(store.requests(), parts.map(Some));
    assert_eq!((ledger.counts().requests, ledger.counts().waves), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_busy_store_is_asked_again_after_a_pause() {
    let (store, ledger) = remote(StoreProfile::BALANCED).await;
    store.fail_next([Fault::Refused, Fault::Refused]);
    let began = Instant::now();
    let bytes = ledger.read_one(10..20, "some").await.unwrap();
    assert_eq!(bytes, expected(10..20));
    let counts = ledger.counts();
    assert_eq!(
        (counts.requests, counts.retries, counts.bytes_fetched),
        (3, 2, 10)
    );
    assert_eq!(ledger.entries()[0].retries, 2);
    let pauses = began.elapsed().saturating_sub(3 * NETWORK.first_byte);
    assert!(
        pauses > Duration::from_millis(100) && pauses < Duration::from_millis(500),
        "{pauses:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_busy_is_an_error_that_names_the_file() {
    let (store, ledger) = remote(StoreProfile::BALANCED).await;
    let retries = StoreProfile::BALANCED.retries;
    store.fail_next(vec![Fault::Refused; retries as usize + 1]);
    let error = ledger
        .read_one(10..20, "some")
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(error, "memory:///x could not be read: slow down");
    assert_eq!(ledger.counts().requests, u64::from(retries) + 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_body_is_continued_where_it_broke() {
    let (store, ledger) = remote(StoreProfile::BALANCED).await;
    store.fail_next([
        Fault::Broken(500_000),
        Fault::Broken(0),
        Fault::Broken(100_000),
    ]);
    let bytes = ledger.read_one(0..LENGTH, "all").await.unwrap();
    assert_eq!(bytes, expected(0..LENGTH));
    let asked = [0..LENGTH, 500_000..LENGTH, 500_000..LENGTH, 600_000..LENGTH];
    assert_eq!(store.requests(), asked.map(Some));
    assert_eq!(ledger.counts().bytes_fetched, LENGTH, "no byte twice");
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_overtaken_by_a_second_request() {
    let profile = StoreProfile {
        hedge_after: Some(Duration::from_millis(100)),
        ..StoreProfile::BALANCED
    };
    let (store, ledger) = remote(profile).await;
    store.fail_next([Fault::Slow(Duration::from_secs(5))]);
    let began = Instant::now();
    let bytes = ledger.read_one(0..8, "some").await.unwrap();
    assert_eq!(bytes, expected(0..8));
    near(began.elapsed(), 130);
    let counts = ledger.counts();
    assert_eq!((counts.requests, counts.hedges, counts.retries), (2, 1, 0));
    ledger.read_one(0..8, "some").await.unwrap();
    assert_eq!(
        ledger.counts().hedges,
        1,
        "a quick answer needs no second request"
    );
}
