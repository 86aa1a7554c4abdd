use std::task::{Context, Waker};

use super::*;

fn key(path: &str) -> FileKey {
    FileKey {
        path: path.to_owned(),
        size: 1,
        version: "1".to_owned(),
    }
}

fn paths(footers: &Footers) -> Vec<String> {
    let kept = footers.cache.kept();
    let sum: u64 = kept.files.values().map(|entry| entry.bytes).sum();
    assert_eq!(kept.bytes, sum);
    assert_eq!(kept.by_use.len(), kept.files.len());
    kept.by_use.values().map(|key| key.path.clone()).collect()
}

async fn opened(dir: &std::path::Path) -> OpenedFile {
    let written = fixtures::orders_sorted(dir, 1_000).unwrap();
    let url = format!("file://{}", written.files[0].path.display());
    let location = store::Stores::from_env().resolve(&url).unwrap();
    let size = written.files[0].bytes;
    let ledger = Ledger::new(location);
    let footer = read_footer(&ledger, Some(size), FooterHint::default()).await;
    OpenedFile::new(&url, &footer.unwrap())
}

#[tokio::test]
async fn the_files_not_used_for_longest_make_room_also_when_others_grow() {
    let dir = tempfile::tempdir().unwrap();
    let one = opened(dir.path()).await.memory();
    let footers = Footers::new(3 * one);
    for path in ["a", "b", "c"] {
        let load = async { Ok(opened(dir.path()).await) };
        assert!(!footers.get(key(path), load).await.unwrap().1);
    }
    let nothing = async { panic!("it is here") };
    let (file, was_kept) = footers.get(key("a"), nothing).await.unwrap();
    assert!(was_kept);
    assert_eq!(paths(&footers), ["b", "c", "a"]);
    let load = async { Ok(opened(dir.path()).await) };
    footers.get(key("d"), load).await.unwrap();
    assert_eq!(paths(&footers), ["c", "a", "d"]);
    let account = Account {
        cache: Arc::downgrade(&footers.cache),
        key: Arc::new(key("d")),
    };
    account.weigh(2 * one);
    assert_eq!(paths(&footers), ["a", "d"]);
    drop(file);
}

#[tokio::test]
async fn a_load_that_fails_or_is_dropped_leaves_nothing() {
    let footers = Footers::new(1);
    let failing = async { Err(ScanError::NoRunner(model::TableName::main("t"))) };
    footers.get(key("a"), failing).await.unwrap_err();
    assert!(paths(&footers).is_empty());
    let mut context = Context::from_waker(Waker::noop());
    let mut first = Box::pin(footers.get(key("a"), std::future::pending()));
    let mut second = Box::pin(footers.get(key("a"), std::future::pending()));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    assert_eq!(paths(&footers), ["a"]);
    drop(second);
    assert!(paths(&footers).is_empty());
}
