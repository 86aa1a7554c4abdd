//! The ledger counts what it sends, and notices files that change or end too soon.

use super::*;
use crate::open::Stores;

async fn ledger(name: &str, content: &'static [u8]) -> Ledger {
    let location = Stores::from_env()
        .resolve(&format!("memory:///{name}"))
        .unwrap();
    put(&location, content).await;
    Ledger::new(location)
}

async fn put(location: &Location, content: &'static [u8]) {
    let payload = Bytes::from_static(content).into();
    let options = object_store::PutOptions::default();
    location
        .store
        .put_opts(&location.path, payload, options)
        .await
        .unwrap();
}

#[tokio::test]
#[allow(clippy::single_range_in_vec_init)]
async fn requests_bytes_and_waves_are_counted() {
    let ledger = ledger("a", b"0123456789").await;
    let read = ledger.read(vec![8..10, 0..3], "footer").await.unwrap();
    assert_eq!(
        read,
        [Bytes::from_static(b"89"), Bytes::from_static(b"012")]
    );
    ledger.read(vec![4..5], "pages").await.unwrap();
    ledger.read(vec![], "nothing").await.unwrap();
    let counts = ledger.counts();
    assert_eq!(
        (counts.requests, counts.bytes_fetched, counts.waves),
        (3, 6, 2)
    );
    let log: Vec<_> = ledger
        .entries()
        .into_iter()
        .map(|e| (e.range, e.why, e.wave))
        .collect();
    assert_eq!(
        log,
        [
            (8..10, "footer".to_owned(), 1),
            (0..3, "footer".to_owned(), 1),
            (4..5, "pages".to_owned(), 2)
        ]
    );
}

#[tokio::test]
async fn reads_at_the_same_time_are_one_wave() {
    let ledger = ledger("a", b"0123456789").await;
    let under_way = Wave::start(&ledger, ledger.next_wave());
    ledger.read_one(0..1, "beside").await.unwrap();
    assert_eq!(under_way.number, 1);
    drop(under_way);
    assert_eq!(ledger.counts().waves, 1);
    ledger.read_one(1..2, "after").await.unwrap();
    assert_eq!(ledger.counts().waves, 2);
}

#[tokio::test]
async fn a_suffix_tells_the_size() {
    let ledger = ledger("a", b"0123456789").await;
    let suffix = ledger.read_suffix(4, "tail").await.unwrap();
    assert_eq!((suffix.size, suffix.offset), (10, 6));
    assert_eq!(suffix.bytes, Bytes::from_static(b"6789"));
    assert_eq!(ledger.entries()[0].range, 6..10);
}

#[tokio::test]
async fn a_whole_file_is_one_request() {
    let ledger = ledger("a", b"0123456789").await;
    let bytes = ledger.read_whole("metadata").await.unwrap();
    assert_eq!(bytes, Bytes::from_static(b"0123456789"));
    assert_eq!(ledger.entries()[0].range, 0..10);
}

#[tokio::test]
async fn a_file_that_changes_between_reads_is_noticed() {
    let ledger = ledger("t/x.parquet", b"0123456789").await;
    ledger.read_one(0..1, "a").await.unwrap();
    put(ledger.location(), b"9876543210").await;
    let error = ledger.read_one(0..1, "a").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "memory:///t/x.parquet has changed since it was last listed"
    );
}

#[tokio::test]
async fn another_version_than_the_planned_one_is_refused() {
    let ledger = ledger("a", b"0123456789")
        .await
        .expecting(Some("\"other\"".to_owned()));
    let error = ledger.read_one(0..1, "a").await.unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_ends_too_soon_or_is_gone_is_named() {
    let ledger = ledger("a", b"0123456789").await;
    let error = ledger.read_one(5..20, "a").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "memory:///a is truncated: it ends at byte 10, not 20"
    );
    let gone = Ledger::new(ledger.location().join("b").unwrap());
    let error = gone.read_one(0..1, "a").await.unwrap_err();
    assert_eq!(error.to_string(), "memory:///a/b does not exist");
}

#[tokio::test]
async fn a_local_file_that_is_overwritten_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, b"0123").unwrap();
    let location = Stores::from_env().resolve(path.to_str().unwrap()).unwrap();
    let ledger = Ledger::new(location);
    ledger.read_one(0..1, "a").await.unwrap();
    std::fs::write(&path, b"0123456").unwrap();
    let error = ledger.read_one(0..1, "a").await.unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
}
