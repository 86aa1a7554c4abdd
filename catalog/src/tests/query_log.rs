//! The query log from the first record to the last report.

use futures::TryStreamExt;
use model::{
    Counts, Level, QueryId, Reason, ScanReport, Skip, SkippedUnit, SnapshotId, TableName,
    TaskReport, TicketId,
};
use tonic::Code;
use wire::proto;
use wire::proto::read_log_response::Row;

use super::{Running, name};

fn reason() -> Reason {
    Reason {
        level: Level::Bounds,
        conditions: Vec::new(),
        more: 0,
    }
}

fn record(query: &str, tickets: u64) -> proto::QueryRecord {
    let file = proto::SkippedFile {
        path: format!("file:///{query}.parquet"),
        size: 1,
        record_count: Some(7),
        reason: Some((&reason()).into()),
    };
    proto::QueryRecord {
        query_id: query.to_owned(),
        sql: "SELECT 1".to_owned(),
        principal: "anonymous".to_owned(),
        started_unix_ms: chrono::Utc::now().timestamp_millis(),
        state: "planned".to_owned(),
        tickets,
        plan: Some(proto::PlanSummary {
            files_total: 12,
            ..proto::PlanSummary::default()
        }),
        plan_ms: 3,
        skips: vec![proto::QuerySkip {
            table: Some(name("orders")),
            file: Some(file),
        }],
        ..proto::QueryRecord::default()
    }
}

fn report(query: &str, ticket: &str, error: Option<&str>) -> ScanReport {
    let skip = Skip {
        path: "file:///a.parquet".to_owned(),
        unit: SkippedUnit::RowGroup { row_group: 3 },
        rows: Some(10),
        reason: reason(),
    };
    ScanReport {
        query_id: QueryId(query.to_owned()),
        ticket_id: TicketId(ticket.to_owned()),
        table: TableName::main("orders"),
        snapshot_id: SnapshotId(1),
        server: "grpc+tcp://127.0.0.1:1".to_owned(),
        complete: error.is_none(),
        error: error.map(str::to_owned),
        counts: Counts::default(),
        tasks: vec![TaskReport {
            path: "file:///a.parquet".to_owned(),
            counts: Counts::default(),
            skips: vec![skip],
        }],
        tasks_left_out: 0,
    }
}

impl Running {
    async fn record(&self, query: proto::QueryRecord) {
        let request = proto::RecordQueryRequest { query: Some(query) };
        self.client.clone().record_query(request).await.unwrap();
    }

    async fn report(&self, report: &ScanReport) {
        let report_json = serde_json::to_vec(report).unwrap();
        let request = proto::RecordReportRequest {
            report_json,
            footers: Vec::new(),
        };
        self.client.clone().record_report(request).await.unwrap();
    }

    async fn log(&self, log: proto::Log, query: Option<&str>, limit: Option<u64>) -> Vec<Row> {
        let request = proto::ReadLogRequest {
            log: log.into(),
            query_id: query.map(str::to_owned),
            limit,
        };
        let stream = self
            .client
            .clone()
            .read_log(request)
            .await
            .unwrap()
            .into_inner();
        let rows: Vec<proto::ReadLogResponse> = stream.try_collect().await.unwrap();
        rows.into_iter().map(|row| row.row.unwrap()).collect()
    }

    async fn states(&self) -> Vec<(String, String, String)> {
        let rows = self.log(proto::Log::Queries, None, None).await.into_iter();
        let state = |row| match row {
            Row::Query(query) => (query.query_id, query.state, query.error),
            other => panic!("{other:?}"),
        };
        rows.map(state).collect()
    }
}

fn state(query: &str, state: &str, error: &str) -> (String, String, String) {
    (query.to_owned(), state.to_owned(), error.to_owned())
}

#[tokio::test]
async fn a_query_is_finished_by_its_reports_or_fails_with_one() {
    let catalog = Running::start().await;
    catalog.record(record("a", 2)).await;
    catalog.record(record("b", 1)).await;
    catalog.report(&report("a", "0", None)).await;
    catalog
        .report(&report("b", "0", Some("file is gone")))
        .await;
    assert_eq!(
        catalog.states().await,
        [
            state("b", "failed", "file is gone"),
            state("a", "running", "")
        ]
    );
    catalog.report(&report("a", "1", None)).await;
    // A second scan of a ticket that is broken off does not undo the first; one that ends does.
    catalog
        .report(&report("a", "1", Some("client went away")))
        .await;
    catalog.report(&report("b", "0", None)).await;
    assert_eq!(
        catalog.states().await,
        [state("b", "finished", ""), state("a", "finished", "")]
    );
    let catalog = catalog.crash().await;
    assert_eq!(catalog.states().await.len(), 2);
}

#[tokio::test]
async fn a_query_that_a_planner_runs_is_over_when_the_planner_says_so() {
    let catalog = Running::start().await;
    let said = |query: &str, state: &str, started: i64, plan_ms: u64| proto::QueryRecord {
        state: state.to_owned(),
        started_unix_ms: 1_000_000_000_000 + started,
        plan_ms,
        ..record(query, 1)
    };
    catalog.record(said("a", "planned", 0, 3)).await;
    catalog.record(said("a", "running", 50, 9)).await;
    catalog.report(&report("a", "scan-1", None)).await;
    let cut = Some("client went away");
    catalog.report(&report("a", "scan-2", cut)).await;
    assert_eq!(catalog.states().await, [state("a", "running", "")]);
    catalog.record(said("a", "finished", 50, 9)).await;
    assert_eq!(catalog.states().await, [state("a", "finished", "")]);

    // Another planner's records may come late, and the ticket may be fetched once more.
    catalog.record(said("b", "running", 50, 9)).await;
    catalog.record(said("b", "failed", 50, 9)).await;
    catalog.record(said("b", "planned", 0, 3)).await;
    catalog.record(said("a", "running", 90, 9)).await;
    for row in catalog.log(proto::Log::Queries, None, None).await {
        let Row::Query(query) = row else {
            panic!("{row:?}");
        };
        let over = if query.query_id == "a" {
            "finished"
        } else {
            "failed"
        };
        assert_eq!(query.state, over);
        assert_eq!(
            (query.started_unix_ms, query.plan_ms),
            (1_000_000_000_000, 3)
        );
    }
}

#[tokio::test]
async fn a_scan_that_is_broken_off_finishes_no_query() {
    let catalog = Running::start().await;
    catalog.record(record("a", 1)).await;
    let mut cut = report("a", "0", None);
    cut.complete = false;
    catalog.report(&cut).await;
    assert_eq!(
        catalog.states().await,
        [state("a", "failed", "a scan was broken off")]
    );
}

#[tokio::test]
async fn skips_come_with_their_query_and_ticket() {
    let catalog = Running::start().await;
    catalog.record(record("a", 1)).await;
    catalog.record(record("b", 1)).await;
    catalog.report(&report("a", "t", None)).await;
    // The state changes later, without the skips of the plan.
    let mut later = record("a", 1);
    (later.state, later.skips) = ("finished".to_owned(), Vec::new());
    catalog.record(later).await;

    let skips = catalog.log(proto::Log::Skips, Some("a"), None).await;
    let told: Vec<(String, Skip)> = skips
        .into_iter()
        .map(|row| match row {
            Row::Skip(skip) => (
                skip.ticket_id,
                serde_json::from_slice(&skip.skip_json).unwrap(),
            ),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told.len(), 2);
    assert_eq!(
        (told[0].0.as_str(), &told[0].1.unit),
        ("t", &SkippedUnit::RowGroup { row_group: 3 })
    );
    assert_eq!(
        (told[1].0.as_str(), &told[1].1.unit),
        ("", &SkippedUnit::File)
    );
    assert_eq!(
        (told[1].1.path.as_str(), told[1].1.rows),
        ("file:///a.parquet", Some(7))
    );

    let Row::Ticket(ticket) = catalog
        .log(proto::Log::Tickets, Some("a"), None)
        .await
        .remove(0)
    else {
        panic!("not a ticket");
    };
    let stored: ScanReport = serde_json::from_slice(&ticket.report_json).unwrap();
    assert!(stored.tasks[0].skips.is_empty());
    assert_eq!(stored.server, "grpc+tcp://127.0.0.1:1");
}

#[tokio::test]
async fn the_log_is_read_newest_first_over_many_pages() {
    let catalog = Running::start().await;
    let mut large = record("q", 1);
    let skip = large.skips[0].clone();
    large.skips = (0..2500)
        .map(|number| {
            let mut skip = skip.clone();
            skip.file.as_mut().unwrap().size = number;
            skip.file.as_mut().unwrap().path = format!("file:///{number}.parquet");
            skip
        })
        .collect();
    catalog.record(large).await;
    let path = |row: &Row| match row {
        Row::Skip(skip) => {
            serde_json::from_slice::<Skip>(&skip.skip_json)
                .unwrap()
                .path
        }
        other => panic!("{other:?}"),
    };
    let all = catalog.log(proto::Log::Skips, None, None).await;
    assert_eq!(all.len(), 2500);
    assert_eq!(path(&all[0]), "file:///2499.parquet");
    assert_eq!(path(&all[2499]), "file:///0.parquet");
    assert_eq!(
        catalog.log(proto::Log::Skips, None, Some(1001)).await,
        all[..1001]
    );
    assert!(
        catalog
            .log(proto::Log::Skips, None, Some(0))
            .await
            .is_empty()
    );
    assert!(
        catalog
            .log(proto::Log::Skips, Some("other"), None)
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn records_that_cannot_be_understood_are_refused() {
    let catalog = Running::start().await;
    let mut client = catalog.client.clone();
    let broken = proto::RecordReportRequest {
        report_json: b"{}".to_vec(),
        footers: Vec::new(),
    };
    assert_eq!(
        client.record_report(broken).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    let mut strange = record("a", 1);
    strange.state = "asleep".to_owned();
    let strange = proto::RecordQueryRequest {
        query: Some(strange),
    };
    let error = client.record_query(strange).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("\"asleep\""));
    let unknown = proto::ReadLogRequest {
        log: 9,
        query_id: None,
        limit: None,
    };
    assert_eq!(
        client.read_log(unknown).await.unwrap_err().code(),
        Code::InvalidArgument
    );
}
