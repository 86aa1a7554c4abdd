//! Golden counts of the fortnight, as the client gets them with the stream.

use std::path::Path;

use model::{Counts, ScanReport, SkippedUnit};

use crate::flight::{Answer, Connection};
use crate::processes::{Service, local};

/// Enough for 25 pages of dates in one row group.
const ROWS: u64 = 400_000;

const FORTNIGHT: &str = "order_date >= DATE '2024-03-01' AND order_date < DATE '2024-03-15'";

/// Rows of the fortnight: days 60 to 73 of 366.
const FORTNIGHT_ROWS: u64 = ROWS * 74 / 366 + 1 - (ROWS * 60 / 366 + 1);

struct Fixture {
    connection: Connection,
    bytes: u64,
    _service: Service,
    _dir: tempfile::TempDir,
}

impl Fixture {
    /// `fulmar local` over one table named `orders`.
    async fn new(write: impl Fn(&Path) -> fixtures::Result<fixtures::Written>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let written = write(&data.join("orders")).unwrap();
        let service = local(dir.path(), &data);
        let connection = Connection::open(&service.location()).await;
        Self {
            connection,
            bytes: written.bytes(),
            _service: service,
            _dir: dir,
        }
    }

    async fn fortnight(&mut self) -> Answer {
        let sql = format!("SELECT order_id, customer_id, amount FROM orders WHERE {FORTNIGHT}");
        let answer = self.connection.query(&sql).await.unwrap();
        assert_eq!(answer.rows() as u64, FORTNIGHT_ROWS);
        answer
    }
}

fn only_report(answer: &Answer) -> &ScanReport {
    assert_eq!(answer.reports.len(), 1, "one ticket, one report");
    assert!(answer.reports[0].complete);
    &answer.reports[0]
}

fn counts(answer: &Answer) -> Counts {
    only_report(answer).counts
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fortnight_opens_one_of_twelve_monthly_files() {
    let mut fixture = Fixture::new(|dir| fixtures::orders_by_month(dir, ROWS)).await;
    let answer = fixture.fortnight().await;
    assert_eq!(answer.endpoints.len(), 1);
    let counts = counts(&answer);
    assert!(counts.requests <= 6, "{} requests", counts.requests);
    assert_eq!(counts.waves, 2, "footer, then pages");
    assert_eq!(counts.rows_returned, FORTNIGHT_ROWS);

    let report = only_report(&answer);
    let query = &report.query_id;
    let skips = fixture
        .connection
        .query(&format!(
            "SELECT path, level, reason FROM system.skips \
             WHERE query_id = '{query}' AND unit = 'file' ORDER BY path"
        ))
        .await
        .unwrap()
        .batch();
    let text = |column: usize, row: usize| {
        arrow::util::display::array_value_to_string(skips.column(column), row).unwrap()
    };
    assert_eq!(
        skips.num_rows(),
        11,
        "every other month is ruled out, with a reason"
    );
    assert!(
        text(0, 0).ends_with("/orders/month=2024-01/part-0.parquet"),
        "{}",
        text(0, 0)
    );
    assert_eq!(text(1, 0), "bounds");
    assert_eq!(
        text(2, 0),
        "order_date >= 2024-03-01 AND <= 2024-03-14, but values are 2024-01-01 to 2024-01-31"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fortnight_reads_only_the_row_groups_that_can_match() {
    let mut fixture = Fixture::new(|dir| fixtures::orders_sorted(dir, ROWS)).await;
    let answer = fixture.fortnight().await;
    let counts = counts(&answer);
    // A row group holds a tenth of the year: 36.6 days. Days 60 to 73 touch the second and the third.
    assert_eq!(counts.row_groups_total, 10);
    assert_eq!(counts.row_groups_skipped_statistics, 8);
    assert_eq!(counts.row_groups_read, 2);
    assert_eq!(counts.rows_selected, ROWS / 5);
    assert_eq!(
        (counts.pages_considered, counts.pages_skipped),
        (0, 0),
        "there is no page index"
    );
    let report = only_report(&answer);
    let groups: Vec<u64> = report.tasks[0]
        .skips
        .iter()
        .map(|skip| match skip.unit {
            SkippedUnit::RowGroup { row_group } => row_group,
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(groups, [0, 3, 4, 5, 6, 7, 8, 9]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fortnight_reads_only_the_pages_that_can_match() {
    let mut fixture = Fixture::new(|dir| fixtures::orders_paged(dir, ROWS)).await;
    let answer = fixture.fortnight().await;
    let counts = counts(&answer);
    // 16,384 dates a page: rows 65,574 to 80,874 lie in the fifth of 25 pages.
    assert_eq!((counts.pages_considered, counts.pages_skipped), (25, 24));
    assert_eq!(counts.rows_selected, 16_384);
    assert_eq!(counts.row_groups_read, 1);
    assert!(
        counts.bytes_fetched * 100 < fixture.bytes * 6,
        "{} of {} bytes",
        counts.bytes_fetched,
        fixture.bytes
    );
    assert_eq!(counts.bytes_dictionaries, 0, "no dictionary is needed");
}

#[tokio::test(flavor = "multi_thread")]
async fn dictionaries_are_to_blame_when_the_same_pages_take_more_bytes() {
    let mut paged = Fixture::new(|dir| fixtures::orders_paged(dir, ROWS)).await;
    let mut dictionary = Fixture::new(|dir| fixtures::orders_paged_dictionary(dir, ROWS)).await;
    let plain = counts(&paged.fortnight().await);
    let encoded = counts(&dictionary.fortnight().await);
    assert_eq!(encoded.pages_considered, plain.pages_considered);
    assert_eq!(encoded.pages_skipped, plain.pages_skipped);
    assert_eq!(encoded.rows_selected, plain.rows_selected);
    assert!(encoded.bytes_needed > plain.bytes_needed);
    assert!(
        encoded.bytes_dictionaries > (encoded.bytes_needed - plain.bytes_needed) / 2,
        "{} of {} bytes are dictionaries",
        encoded.bytes_dictionaries,
        encoded.bytes_needed
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_skipped_when_the_rows_are_shuffled() {
    let mut fixture = Fixture::new(|dir| fixtures::orders_shuffled(dir, ROWS)).await;
    let answer = fixture.fortnight().await;
    let counts = counts(&answer);
    assert_eq!(counts.row_groups_read, 10);
    assert_eq!(
        counts.row_groups_skipped_statistics + counts.row_groups_skipped_pages,
        0
    );
    assert_eq!(counts.rows_selected, ROWS);
    assert_eq!(counts.rows_returned, FORTNIGHT_ROWS);
}
