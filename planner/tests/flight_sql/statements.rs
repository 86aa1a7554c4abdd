//! Statements that are sent as they are.

use arrow_flight::sql::{
    CommandGetCatalogs, CommandStatementIngest, CommandStatementQuery, ProstMessageExt,
};
use arrow_flight::{Criteria, FlightData, FlightDescriptor, IpcMessage};
use futures::{StreamExt, TryStreamExt, stream};
use prost::Message;
use tonic::Code;

use crate::parts::{Parts, descriptor, rows};

fn statement(sql: &str) -> CommandStatementQuery {
    CommandStatementQuery {
        query: sql.to_owned(),
        transaction_id: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_has_its_schema_before_and_with_its_rows() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let query = statement("SELECT 1 AS a, 'x' AS b");
    let info = client.info(&query).await.unwrap();
    assert!(info.endpoint.iter().all(|one| one.location.is_empty()));
    assert!(info.endpoint[0].expiration_time.is_some());

    let schema = client.flight.get_schema(descriptor(&query)).await.unwrap();
    let schema = arrow::datatypes::Schema::try_from(IpcMessage(schema.into_inner().schema));
    assert_eq!(schema.unwrap(), info.clone().try_decode_schema().unwrap());

    let poll = client.flight.poll_flight_info(descriptor(&query)).await;
    let poll = poll.unwrap().into_inner();
    assert_eq!((poll.progress, poll.flight_descriptor), (Some(1.0), None));
    assert!(client.fetch(poll.info.unwrap()).await.is_ok());
    assert_eq!(rows(&client.fetch(info).await.unwrap()), [["1", "x"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_without_rows_still_has_its_schema() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let none = client.query("SELECT 1 AS a WHERE false").await.unwrap();
    assert_eq!(rows(&none), Vec::<Vec<String>>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_made_and_dropped_as_updates() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let create = parts.create_table("people");
    assert_eq!(client.sql.execute_update(create, None).await.unwrap(), 0);
    let flights = client.flight.list_flights(Criteria::default()).await;
    let flights: Vec<_> = flights.unwrap().into_inner().try_collect().await.unwrap();
    let people = flights
        .iter()
        .filter_map(|flight| flight.flight_descriptor.clone())
        .find(|descriptor| descriptor.path == ["fulmar", "main", "people"])
        .unwrap();
    assert!(client.flight.get_schema(people).await.is_ok());
    let drop = "DROP TABLE people".to_owned();
    assert_eq!(client.sql.execute_update(drop, None).await.unwrap(), 0);
    let gone = FlightDescriptor::new_path(vec!["people".to_owned()]);
    let error = client.flight.get_schema(gone).await.unwrap_err();
    assert!(error.message().contains("people"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_as_a_query_but_changes_something_has_run_before_it_is_fetched() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let create = statement(&parts.create_table("people"));
    // A schema is asked without running anything.
    client.flight.get_schema(descriptor(&create)).await.unwrap();
    let info = client.info(&create).await.unwrap();
    let path = FlightDescriptor::new_path(vec!["people".to_owned()]);
    assert!(client.flight.get_schema(path).await.is_ok());
    // Fetching the result, even twice, does not run it again.
    for _ in 0..2 {
        let done = client.fetch(info.clone()).await.unwrap();
        assert_eq!(rows(&done).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_one_short_line_with_the_right_code() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let long = format!("SELECT {} FROM nowhere", "a, ".repeat(5_000) + "b");
    for (sql, code) in [
        ("SELEC 1", Code::InvalidArgument),
        ("SELECT 1; SELECT 2", Code::InvalidArgument),
        ("SELECT * FROM nowhere", Code::NotFound),
        ("INSERT INTO t VALUES (1)", Code::Unimplemented),
        (long.as_str(), Code::NotFound),
    ] {
        let error = client.query(sql).await.unwrap_err();
        let message = error.message();
        assert!(message.len() < 4096 && !message.contains('\n'), "{message}");
        assert_eq!(error.code(), code, "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fulmar_does_not_do_is_said() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let in_transaction = CommandStatementQuery {
        transaction_id: Some("t".into()),
        ..statement("SELECT 1")
    };
    let error = client.info(&in_transaction).await.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented, "{error}");
    assert!(client.sql.begin_transaction().await.is_err());

    let ingest = CommandStatementIngest {
        table: "t".to_owned(),
        ..CommandStatementIngest::default()
    };
    let upload = FlightData {
        flight_descriptor: Some(descriptor(&ingest)),
        ..FlightData::default()
    };
    let error = client.flight.do_put(stream::iter([upload])).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    assert!(error.message().contains("Parquet"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_that_is_none_is_refused() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let info = client.info(&statement("SELECT 1")).await.unwrap();
    let mut forged = info.endpoint[0].ticket.clone().unwrap().ticket.to_vec();
    *forged.last_mut().unwrap() ^= 1;
    let command = statement("SELECT 1").as_any().encode_to_vec();
    for (ticket, code) in [
        (forged, Code::Unauthenticated),
        (b"nonsense".to_vec(), Code::InvalidArgument),
        (command, Code::InvalidArgument),
    ] {
        let ticket = arrow_flight::Ticket::new(ticket);
        let error = client.get(ticket).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    let catalogs = CommandGetCatalogs {}.as_any().encode_to_vec();
    assert!(
        client
            .get(arrow_flight::Ticket::new(catalogs))
            .await
            .is_ok()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_streams_run_on_one_connection() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let info = client.info(&statement("SELECT 1 AS a")).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let streams = stream::iter(0..300).map(|_| {
        let mut flight = client.flight.clone();
        let ticket = ticket.clone();
        async move { flight.do_get(ticket).await.unwrap().into_inner() }
    });
    let streams: Vec<_> = streams.buffer_unordered(300).collect().await;
    for stream in streams {
        assert!(!stream.try_collect::<Vec<_>>().await.unwrap().is_empty());
    }
}
