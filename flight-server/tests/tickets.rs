//! What a ticket gets: its rows and its report, or one line that says why not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use bytes::Bytes;
use fixtures::{Orders, orders_batch};
use futures::future::join_all;
use model::{ScanReport, TableSchema};
use parquet::arrow::ArrowWriter;
use tonic::Code;
use wire::ticket::{MAX_TICKET_BYTES, StatementWork};
use wire::{ScanWork, Work};

use support::{
    KEY, OTHER_KEY, Server, keys, months, orders_spec, payload, scan_work, sign, tasks, with_counts,
};

const ROWS: u64 = 5_000;

#[tokio::test]
async fn a_scan_ticket_gets_the_rows_of_its_files_in_order_and_a_report() {
    let (_dir, files, work) = months(ROWS).await;
    let server = Server::start().await;
    let (rows, report) = server.rows(sign(work)).await.unwrap();
    assert_eq!(rows, orders_batch(ROWS, 0..ROWS).unwrap());
    assert!(report.complete);
    assert_eq!(report.error, None);
    assert_eq!(report.server, server.location);
    assert_eq!(report.tasks.len(), files.len());
    assert_eq!(report.counts.rows_returned, ROWS);
    assert_eq!(report.counts.rows_in_file, ROWS);
    let requests: u64 = report.tasks.iter().map(|task| task.counts.requests).sum();
    assert_eq!(report.counts.requests, requests);
    assert!(requests >= 12);
    server.stop().await;
}

#[tokio::test]
async fn a_filter_returns_the_rows_that_match_and_none_at_all_is_an_empty_result() {
    let (_dir, files, _) = months(ROWS).await;
    let server = Server::start().await;
    for from in [4_000, 10_000] {
        let tasks = tasks(files.iter().map(PathBuf::as_path)).await;
        let ticket = sign(scan_work(orders_spec(Some(from)), tasks));
        let (rows, report) = server.rows(ticket).await.unwrap();
        let matching = u64::try_from(from).unwrap().min(ROWS)..ROWS;
        assert_eq!(rows, orders_batch(ROWS, matching).unwrap());
        assert!(report.counts.row_groups_skipped_statistics > 0);
    }
    server.stop().await;
}

/// The report of a ticket that was resumed, whose rows are exactly the rest.
async fn resumed(server: &Server, work: &ScanWork, skip_rows: u64) -> ScanReport {
    let ticket = sign(ScanWork {
        skip_rows,
        ..work.clone()
    });
    let (rows, report) = server.rows(ticket).await.unwrap();
    let rest = skip_rows.min(ROWS)..ROWS;
    let expected = orders_batch(ROWS, rest.clone()).unwrap();
    assert_eq!(rows, expected, "{skip_rows}");
    assert_eq!(report.counts.rows_returned, rest.end - rest.start);
    report
}

#[tokio::test]
async fn a_resumed_ticket_returns_exactly_the_rest() {
    let (_dir, _, work) = months(ROWS).await;
    let server = Server::start().await;
    for skip_rows in [0, 1, 407, 4_999, 5_000, 9_000] {
        resumed(&server, &work, skip_rows).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn what_a_client_has_is_not_read_again_where_the_rows_of_files_are_known() {
    let (_dir, _, work) = months(ROWS).await;
    let server = Server::start().await;
    let work = with_counts(&work);
    let january = work.tasks[0].file.record_count.unwrap();
    for (skip_rows, opened) in [
        (0, 12),
        (january - 1, 12),
        (january, 11),
        (january + 1, 11),
        (ROWS - 1, 1),
        (ROWS, 0),
        (ROWS + 1, 0),
    ] {
        let report = resumed(&server, &work, skip_rows).await;
        assert_eq!(report.tasks.len(), opened, "{skip_rows}");
    }
    server.stop().await;
}

#[tokio::test]
async fn eight_clients_at_once_each_get_every_row() {
    let (_dir, _, work) = months(ROWS).await;
    let server = Server::start().await;
    let expected = orders_batch(ROWS, 0..ROWS).unwrap();
    let answers = join_all((0..8).map(|_| server.rows(sign(work.clone())))).await;
    for answer in answers {
        let (rows, report) = answer.unwrap();
        assert_eq!(rows, expected);
        assert!(report.complete);
    }
    server.stop().await;
}

/// Work whose file does not exist: whoever reads before checking says so.
fn work_on_nothing() -> ScanWork {
    let task = model::ScanTask {
        file: model::DataFile {
            path: "file:///nowhere/part-0.parquet".to_owned(),
            size: 1_000,
            version: None,
            record_count: None,
            footer_length: None,
            page_index: None,
        },
        rows: None,
        partition_values: Vec::new(),
        footer: Vec::new(),
        footer_wanted: false,
    };
    scan_work(orders_spec(None), vec![task])
}

#[tokio::test]
async fn a_ticket_that_does_not_hold_is_refused_before_anything_is_read() {
    let server = Server::start().await;
    let good = sign(work_on_nothing());
    let altered = |at: usize| {
        let mut bytes = good.to_vec();
        bytes[at] ^= 1;
        Bytes::from(bytes)
    };
    let mut expired = payload(Work::Scan(work_on_nothing()));
    expired.expires_unix_ms = 1;
    let statement = Work::Statement(StatementWork {
        sql: "SELECT 1".to_owned(),
        parameters: Bytes::new(),
        options: BTreeMap::new(),
        snapshots: Vec::new(),
        output_schema: Bytes::new(),
    });
    let other_key = keys(OTHER_KEY).sign(&payload(Work::Scan(work_on_nothing())));
    let cases = [
        (
            "last byte",
            altered(good.len() - 1),
            Code::Unauthenticated,
            "signature is not valid",
        ),
        (
            "signature",
            altered(15),
            Code::Unauthenticated,
            "signature is not valid",
        ),
        (
            "version",
            altered(6),
            Code::InvalidArgument,
            "version 0, this server reads version 1",
        ),
        (
            "other key",
            other_key.unwrap(),
            Code::Unauthenticated,
            "key \"two\"",
        ),
        (
            "expired",
            keys(KEY).sign(&expired).unwrap(),
            Code::Unauthenticated,
            "expired",
        ),
        (
            "cut off",
            good.slice(0..20),
            Code::InvalidArgument,
            "not a Fulmar ticket",
        ),
        (
            "nothing",
            Bytes::new(),
            Code::InvalidArgument,
            "not a Fulmar ticket",
        ),
        (
            "oversized",
            Bytes::from(vec![b'x'; MAX_TICKET_BYTES + 1]),
            Code::InvalidArgument,
            "at most 786432 are allowed",
        ),
        (
            "larger than a message of default limits",
            Bytes::from(vec![b'x'; 5 << 20]),
            Code::InvalidArgument,
            "at most 786432 are allowed",
        ),
        (
            "statement",
            keys(KEY).sign(&payload(statement)).unwrap(),
            Code::InvalidArgument,
            "ask the planner",
        ),
    ];
    for (what, ticket, code, text) in cases {
        let (found, message) = server.error(ticket).await;
        assert_eq!(found, code, "{what}: {message}");
        assert!(message.contains(text), "{what}: {message}");
    }
    // The same ticket unaltered gets as far as the file.
    let (code, message) = server.error(good).await;
    assert_eq!(code, Code::NotFound, "{message}");
    server.stop().await;
}

#[tokio::test]
async fn signed_content_that_cannot_be_run_is_refused_in_one_line() {
    let server = Server::start().await;
    let cases = [
        ScanWork {
            fragment: Bytes::from_static(b"nonsense"),
            ..work_on_nothing()
        },
        ScanWork {
            output_schema: Bytes::from_static(b"nonsense"),
            ..work_on_nothing()
        },
    ];
    for work in cases {
        let (code, message) = server.error(sign(work)).await;
        assert_eq!(code, Code::InvalidArgument, "{message}");
        assert!(
            message.contains("query-1") && !message.contains('\n'),
            "{message}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn a_broken_file_is_named_and_the_server_serves_on() {
    let (_dir, files, work) = months(ROWS).await;
    let server = Server::start().await;

    std::fs::remove_file(&files[0]).unwrap();
    let (code, message) = server.error(sign(work.clone())).await;
    assert_eq!(code, Code::NotFound, "{message}");
    assert!(message.contains(files[0].to_str().unwrap()), "{message}");
    assert!(message.contains("query-1"), "{message}");

    let broken = tempfile::tempdir().unwrap();
    let makers = [
        fixtures::truncated,
        fixtures::not_parquet,
        fixtures::empty_file,
    ];
    for make in makers {
        let written = make(broken.path()).unwrap();
        let path = written.paths().next().unwrap().to_owned();
        let ticket = sign(scan_work(orders_spec(None), tasks([path.as_path()]).await));
        let (code, message) = server.error(ticket).await;
        assert_eq!(code, Code::DataLoss, "{message}");
        assert!(message.contains(path.to_str().unwrap()), "{message}");
    }

    let written = fixtures::corrupt_pages(broken.path()).unwrap();
    let path = written.paths().next().unwrap().to_owned();
    let ticket = sign(scan_work(orders_spec(None), tasks([path.as_path()]).await));
    let (code, message) = server.error(ticket).await;
    assert_eq!(code, Code::DataLoss, "{message}");
    assert!(message.contains(path.to_str().unwrap()), "{message}");

    let whole = ScanWork {
        tasks: work.tasks[1..].to_vec(),
        ..work
    };
    let (rows, _) = server.rows(sign(whole)).await.unwrap();
    let january = Orders::new(ROWS).month(0).end;
    assert_eq!(rows, orders_batch(ROWS, january..ROWS).unwrap());
    server.stop().await;
}

#[tokio::test]
async fn a_file_that_changed_after_planning_is_not_read() {
    let (dir, files, work) = months(ROWS).await;
    let server = Server::start().await;
    // The same name, another file: more rows than were planned with.
    fixtures::orders_by_month(dir.path(), ROWS * 2).unwrap();
    let (code, message) = server.error(sign(work)).await;
    assert_eq!(code, Code::FailedPrecondition, "{message}");
    assert!(message.contains(files[0].to_str().unwrap()), "{message}");
    server.stop().await;
}

#[tokio::test]
async fn the_promised_schema_is_kept_or_the_ticket_fails() {
    let (_dir, files, work) = months(ROWS).await;
    let server = Server::start().await;
    let large = Orders::schema();
    let fields = large.fields().iter().map(|field| match field.data_type() {
        arrow::datatypes::DataType::Utf8 => field
            .as_ref()
            .clone()
            .with_data_type(arrow::datatypes::DataType::LargeUtf8),
        _ => field.as_ref().clone(),
    });
    let large = Arc::new(arrow::datatypes::Schema::new(fields.collect::<Vec<_>>()));
    let promised = |schema: &arrow::datatypes::Schema| ScanWork {
        output_schema: wire::schema::encode_schema(schema).into(),
        ..work.clone()
    };
    let (rows, _) = server.rows(sign(promised(&large))).await.unwrap();
    assert_eq!(rows.schema(), large);
    assert_eq!(rows.num_rows() as u64, ROWS);
    assert_eq!(rows, concat_batches(&large, [&rows]).unwrap());

    let fewer = large.project(&[0, 1]).unwrap();
    let (code, message) = server.error(sign(promised(&fewer))).await;
    assert_eq!(code, Code::Internal, "{message}");
    assert!(message.contains("7 columns, 2 were promised"), "{message}");
    assert!(!files.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn rows_without_columns_are_counted_and_resumed() {
    let (_dir, files, _) = months(ROWS).await;
    let server = Server::start().await;
    let spec = scan::ScanSpec {
        projection: Vec::new(),
        ..orders_spec(None)
    };
    let tasks = tasks(files.iter().map(PathBuf::as_path)).await;
    for skip_rows in [0, 700] {
        let ticket = sign(ScanWork {
            skip_rows,
            ..scan_work(spec.clone(), tasks.clone())
        });
        let (rows, report) = server.counted(ticket).await;
        assert_eq!(rows, ROWS - skip_rows);
        assert_eq!(report.counts.rows_returned, ROWS - skip_rows);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_row_too_large_for_a_message_is_refused_by_its_size_and_smaller_ones_pass() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part-0.parquet");
    let server = Server::start().await;
    for (mebibytes, passes) in [(8, true), (20, false)] {
        let texts = ["short".to_owned(), "x".repeat(mebibytes << 20)];
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let batch = RecordBatch::try_from_iter([("text", column)]).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let schema = TableSchema::numbered(&batch.schema());
        let spec = scan::ScanSpec {
            projection: vec![0],
            schema,
            ..orders_spec(None)
        };
        let ticket = sign(scan_work(spec, tasks([path.as_path()]).await));
        if passes {
            assert_eq!(server.rows(ticket).await.unwrap().0, batch);
        } else {
            let (code, message) = server.error(ticket).await;
            assert_eq!(code, Code::ResourceExhausted, "{message}");
            assert!(message.contains("at most 16776192 fit"), "{message}");
        }
    }
    server.stop().await;
}
