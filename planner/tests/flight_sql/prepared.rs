//! Prepared statements: nothing is kept by a planner.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult,
    CommandPreparedStatementQuery, DoPutPreparedStatementResult, ProstMessageExt,
};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use prost::Message;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::parts::{Client, Parts, descriptor, rows, unpack};

async fn prepare(client: &mut Client, sql: &str) -> ActionCreatePreparedStatementResult {
    let request = ActionCreatePreparedStatementRequest {
        query: sql.to_owned(),
        transaction_id: None,
    };
    let body = request.as_any().encode_to_vec();
    let name = "CreatePreparedStatement";
    let answer = client.action(name, body, MetadataMap::new()).await;
    unpack(&answer.unwrap().0)
}

fn handle(handle: &Bytes) -> CommandPreparedStatementQuery {
    CommandPreparedStatementQuery {
        prepared_statement_handle: handle.clone(),
    }
}

/// Binds parameters; gives the handle that carries them.
async fn bind(client: &mut Client, old: &Bytes, row: RecordBatch) -> Result<Bytes, Status> {
    let upload = FlightDataEncoderBuilder::new()
        .with_flight_descriptor(Some(descriptor(&handle(old))))
        .build(stream::iter([Ok(row)]))
        .map(Result::unwrap);
    let answer = client.flight.do_put(upload).await?.into_inner();
    let answer: Vec<_> = answer.try_collect().await?;
    let result = DoPutPreparedStatementResult::decode(answer[0].app_metadata.clone());
    Ok(result.unwrap().prepared_statement_handle.unwrap())
}

fn numbers(values: &[i64]) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    RecordBatch::try_from_iter([("0", column)]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_may_meet_another_planner() {
    let parts = Parts::start().await;
    let mut first = parts.client().await;
    let mut second = Client::connect(&parts.replica().await).await;
    let mut third = Client::connect(&parts.replica().await).await;

    let prepared = prepare(&mut first, "SELECT CAST($1 AS BIGINT) + 1 AS a").await;
    assert!(!prepared.dataset_schema.is_empty());
    assert!(!prepared.parameter_schema.is_empty());
    let bound = bind(
        &mut second,
        &prepared.prepared_statement_handle,
        numbers(&[41]),
    )
    .await;
    let info = third.info(&handle(&bound.unwrap())).await.unwrap();
    assert_eq!(rows(&first.fetch(info).await.unwrap()), [["42"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_bound_again_and_several_rows_give_their_results_in_turn() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let prepared = prepare(&mut client, "SELECT CAST($1 AS BIGINT) AS a").await;
    let once = bind(
        &mut client,
        &prepared.prepared_statement_handle,
        numbers(&[1]),
    )
    .await;
    let again = bind(&mut client, &once.unwrap(), numbers(&[5, 6, 7])).await;
    let info = client.info(&handle(&again.unwrap())).await.unwrap();
    assert_eq!(info.endpoint.len(), 3);
    let all = client.fetch(info).await.unwrap();
    assert_eq!(rows(&all), [["5"], ["6"], ["7"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_have_no_dataset_schema_and_run_once_for_each_row() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let create = parts.create_table("people");
    let mut statement = client.sql.prepare(create, None).await.unwrap();
    assert!(statement.dataset_schema().unwrap().fields().is_empty());
    assert_eq!(statement.execute_update().await.unwrap(), 0);
    statement.close().await.unwrap();
    let again = "DROP TABLE people".to_owned();
    let mut statement = client.sql.prepare(again, None).await.unwrap();
    let info = statement.execute().await.unwrap();
    assert_eq!(rows(&client.fetch(info).await.unwrap()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_and_forged_handles_are_refused() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let prepared = prepare(&mut client, "SELECT CAST($1 AS BIGINT) AS a").await;
    let genuine = prepared.prepared_statement_handle;
    let unbound = client.info(&handle(&genuine)).await.unwrap_err();
    assert_eq!(unbound.code(), Code::InvalidArgument, "{unbound}");

    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let two = RecordBatch::try_from_iter([("0", text.clone()), ("1", text)]).unwrap();
    let bound = bind(&mut client, &genuine, two).await.unwrap();
    assert!(client.info(&handle(&bound)).await.is_err());

    let mut forged = genuine.to_vec();
    *forged.last_mut().unwrap() ^= 1;
    let error = client.info(&handle(&forged.into())).await.unwrap_err();
    assert!(error.message().contains("signature"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_binds_and_runs_a_prepared_query() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let sql = "SELECT $1 || '!' AS a".to_owned();
    let mut statement = client.sql.prepare(sql, None).await.unwrap();
    assert_eq!(statement.parameter_schema().unwrap().fields().len(), 1);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["hi"]));
    let row = RecordBatch::try_from_iter([("$1", text)]).unwrap();
    statement.set_parameters(row).unwrap();
    let info = statement.execute().await.unwrap();
    assert_eq!(rows(&client.fetch(info).await.unwrap()), [["hi!"]]);
}
