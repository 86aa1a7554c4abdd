//! All services over a folder of files, asked by the client: what a user of `fulmar local` meets.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use client::{Client, QueryOptions, QueryReport};
use fulmar_local::{Event, LocalConfig, LocalError, start};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wire::serve::Listener;

/// A local Fulmar that runs, and what it told while it started.
struct Started {
    client: Client,
    events: Vec<Event>,
    shutdown: CancellationToken,
    services: JoinHandle<Result<(), LocalError>>,
}

async fn begin(folder: &Path) -> Result<Started, LocalError> {
    begin_over(&folder.join("data")).await
}

async fn begin_over(data: &Path) -> Result<Started, LocalError> {
    let config = LocalConfig {
        ticket_footers: planner::TICKET_FOOTERS,
        store: store::StoreProfile::BALANCED,
        data: data.display().to_string(),
        state: None,
        listener: Listener::bind("127.0.0.1:0", false).await?,
        flight_servers: NonZeroUsize::new(2).unwrap(),
        endpoints: None,
        advertise: None,
    };
    let events = Mutex::new(Vec::new());
    let running = start(config, &|event| events.lock().unwrap().push(event)).await?;
    let client = Client::connect(running.location())?;
    let shutdown = CancellationToken::new();
    Ok(Started {
        client,
        events: events.into_inner().unwrap(),
        services: tokio::spawn(running.serve(shutdown.clone())),
        shutdown,
    })
}

impl Started {
    async fn rows(&self, sql: &str) -> u64 {
        let mut results = self
            .client
            .execute(sql, &QueryOptions::default())
            .await
            .unwrap();
        while results.next().await.unwrap().is_some() {}
        results.tally().rows
    }

    /// Footers that were read for a table, when it was made or refreshed.
    fn footers(&self, name: &str) -> Option<u64> {
        self.events.iter().find_map(|event| match event {
            Event::Ready {
                table,
                footers_read,
                ..
            } if table == name => Some(*footers_read),
            _ => None,
        })
    }

    async fn end(self) {
        self.shutdown.cancel();
        self.services.await.unwrap().unwrap();
    }
}

fn warnings(events: &[Event]) -> Vec<&str> {
    let warnings = events.iter().filter_map(|event| match event {
        Event::Warning(text) => Some(text.as_str()),
        _ => None,
    });
    warnings.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_follow_the_files_from_start_to_start() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fixtures::orders_by_month(&data.join("orders"), 2_400).unwrap();
    fixtures::customers(&data.join("customers"), 100).unwrap();
    fixtures::truncated(&data.join("broken")).unwrap();

    let first = begin(dir.path()).await.unwrap();
    assert_eq!(first.rows("SELECT order_id FROM orders").await, 2_400);
    assert_eq!(first.rows("SELECT * FROM customers").await, 100);
    assert_eq!(first.footers("orders"), Some(12));
    let told = warnings(&first.events);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("broken") && told[0].contains("part-0.parquet"),
        "{told:?}"
    );
    first.end().await;

    fs::remove_dir_all(data.join("customers")).unwrap();
    fs::remove_dir_all(data.join("broken")).unwrap();
    fs::rename(
        data.join("orders/month=2024-12/part-0.parquet"),
        data.join("late.parquet"),
    )
    .unwrap();
    let second = begin(dir.path()).await.unwrap();
    assert_eq!(second.footers("orders"), Some(0), "no file of it is new");
    assert_eq!(second.footers("late"), Some(1));
    assert!(second.events.contains(&Event::Dropped {
        table: "customers".to_owned()
    }));
    let all = "SELECT order_id FROM orders UNION ALL SELECT order_id FROM late";
    assert_eq!(second.rows(all).await, 2_400);
    second.end().await;
    let entries = fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    assert_eq!(
        names,
        ["late.parquet", "orders"],
        "nothing was written beside the files"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_tells_what_was_ruled_out() {
    let dir = tempfile::tempdir().unwrap();
    fixtures::orders_by_month(&dir.path().join("data/orders"), 24_000).unwrap();
    let local = begin(dir.path()).await.unwrap();
    let began = Instant::now();
    let options = QueryOptions::default();
    let mut results = local
        .client
        .execute(fulmar_local::demo::QUERY, &options)
        .await
        .unwrap();
    while results.next().await.unwrap().is_some() {}
    let report = QueryReport::gather(&local.client, &results, began).await;
    assert_eq!(report.plan.files_total, 12);
    assert_eq!(report.plan.files_skipped(), 11);
    assert_eq!(report.files_skipped.len(), 11);
    assert_eq!((report.scans, report.tickets), (1, 1));
    assert_eq!(report.rows, results.tally().rows);
    let text = report.to_string();
    for part in [
        "11 ruled out",
        "order_date >= 2024-03-01",
        "month=2024-01",
        "… 8 more",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    local.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_the_user_made_are_neither_dropped_nor_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (data, other) = (dir.path().join("data"), dir.path().join("other"));
    fixtures::orders_sorted(&data.join("orders"), 200).unwrap();
    fixtures::customers(&data.join("customers"), 100).unwrap();
    fixtures::not_parquet(&data.join("broken")).unwrap();
    fixtures::customers(&other, 7).unwrap();

    let first = begin(dir.path()).await.unwrap();
    first.rows("DROP TABLE customers").await;
    for name in ["customers", "broken"] {
        let create = "CREATE EXTERNAL TABLE";
        let location = other.display();
        let sql = format!("{create} {name} STORED AS PARQUET LOCATION '{location}'");
        first.rows(&sql).await;
    }
    first.end().await;

    let second = begin(dir.path()).await.unwrap();
    assert_eq!(second.rows("SELECT * FROM customers").await, 7);
    assert_eq!(second.rows("SELECT * FROM customers_2").await, 100);
    second.end().await;

    fs::remove_dir_all(data.join("customers")).unwrap();
    fs::remove_dir_all(data.join("broken")).unwrap();
    let third = begin(dir.path()).await.unwrap();
    for name in ["customers", "broken"] {
        assert_eq!(third.rows(&format!("SELECT * FROM {name}")).await, 7);
    }
    let dropped = |event: &&Event| matches!(event, Event::Dropped { .. });
    let dropped: Vec<_> = third.events.iter().filter(dropped).collect();
    let theirs = Event::Dropped {
        table: "customers_2".to_owned(),
    };
    assert_eq!(dropped, [&theirs]);
    third.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_of_a_folder_has_a_state_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    for name in ["orders", "customers"] {
        fixtures::customers(&dir.path().join(name), 100).unwrap();
        let file = dir.path().join(name).join("part-0.parquet");
        fs::create_dir_all(&data).unwrap();
        fs::rename(file, data.join(format!("{name}.parquet"))).unwrap();
    }
    begin(dir.path()).await.unwrap().end().await;
    let one = begin_over(&data.join("orders.parquet")).await.unwrap();
    assert_eq!(one.rows("SELECT * FROM orders").await, 100);
    assert_eq!(one.rows("SELECT * FROM system.tables").await, 1);
    one.end().await;
    let again = begin(dir.path()).await.unwrap();
    assert_eq!(again.rows("SELECT * FROM system.tables").await, 2);
    for name in ["orders", "customers"] {
        assert_eq!(again.footers(name), Some(0), "{name} is still known");
    }
    again.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_other_formats_are_named_and_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fixtures::customers(&data.join("customers"), 100).unwrap();
    fixtures::customers(&data.join("delta"), 100).unwrap();
    fixtures::customers(&data.join("iceberg/data/0110"), 100).unwrap();
    for (folder, file) in [
        ("delta/_delta_log", "00000000000000000000.json"),
        ("iceberg/metadata", "v1.metadata.json"),
    ] {
        fs::create_dir_all(data.join(folder)).unwrap();
        fs::write(data.join(folder).join(file), "{}").unwrap();
    }
    let local = begin(dir.path()).await.unwrap();
    let mut told = warnings(&local.events);
    told.sort_unstable();
    assert_eq!(told.len(), 2, "{told:?}");
    for (told, reason) in told.iter().zip(["a Delta table", "an Iceberg table"]) {
        assert!(
            told.contains("is left out") && told.contains(reason),
            "{told}"
        );
    }
    assert_eq!(local.rows("SELECT * FROM system.tables").await, 1);
    // An adopted table has metadata of its own, but not in its folder.
    local.rows("ADOPT TABLE customers").await;
    local.end().await;
    let again = begin(dir.path()).await.unwrap();
    assert_eq!(again.rows("SELECT * FROM customers").await, 100);
    again.end().await;
    let error = begin_over(&data.join("delta")).await.err().unwrap();
    assert!(matches!(error, LocalError::AllRefused { .. }), "{error}");
    assert!(error.to_string().contains("a Delta table"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_served_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = begin(dir.path()).await.err().unwrap();
    assert!(matches!(error, LocalError::NoData(_)), "{error}");
    fs::create_dir(dir.path().join("data")).unwrap();
    let error = begin(dir.path()).await.err().unwrap();
    assert!(matches!(error, LocalError::NoTables(_)), "{error}");
    fixtures::not_parquet(&dir.path().join("data/text")).unwrap();
    let error = begin(dir.path()).await.err().unwrap();
    assert!(matches!(error, LocalError::AllRefused { .. }), "{error}");
    assert!(error.to_string().contains("part-0.parquet"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_serves_one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    fixtures::customers(&dir.path().join("data/customers"), 100).unwrap();
    let first = begin(dir.path()).await.unwrap();
    let error = begin(dir.path()).await.err().unwrap();
    assert!(matches!(error, LocalError::InUse { .. }), "{error}");
    first.end().await;
    begin(dir.path()).await.unwrap().end().await;
}
