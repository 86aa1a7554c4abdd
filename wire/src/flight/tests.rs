//! Results on their way through encoder and decoder.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, Int32Array, Int64Array, LargeListArray, ListArray,
    RecordBatch, RecordBatchOptions, StringArray, StringViewArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use arrow_flight::FlightData;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use tonic::Status;

use super::encode::EncodeError;
use super::*;
use crate::category::Categorized;

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error("disk on fire")]
    Source,
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        Status::internal(failure.to_string())
    }
}

fn schema_of(columns: &[(&str, &ArrayRef)]) -> SchemaRef {
    let fields = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let referred: Vec<_> = columns.iter().map(|(name, c)| (*name, c)).collect();
    let arrays = columns.iter().map(|(_, c)| Arc::clone(c)).collect();
    RecordBatch::try_new(schema_of(&referred), arrays).unwrap()
}

fn encoded(
    schema: &SchemaRef,
    batches: Vec<Result<RecordBatch, Failure>>,
) -> impl futures::Stream<Item = Result<FlightData, Failure>> + Send + 'static {
    encode(Arc::clone(schema), stream::iter(batches), async {
        Bytes::from_static(b"{}")
    })
}

async fn messages(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Vec<FlightData> {
    let batches = batches.into_iter().map(Ok).collect();
    encoded(schema, batches).try_collect().await.unwrap()
}

/// Sends batches of the promised schema and gives what the other side reads.
async fn sent(promised: &SchemaRef, batches: Vec<RecordBatch>) -> Vec<RecordBatch> {
    let mut read =
        decode(encoded(promised, batches.into_iter().map(Ok).collect()).map_err(Status::from));
    assert_eq!(read.schema().await.unwrap(), *promised);
    let batches: Vec<RecordBatch> = read.by_ref().try_collect().await.unwrap();
    assert_eq!(read.app_metadata().as_ref(), b"{}");
    assert_eq!(
        read.rows(),
        batches.iter().map(|b| b.num_rows() as u64).sum::<u64>()
    );
    batches
}

async fn sent_and_the_same(batch: RecordBatch) {
    let schema = batch.schema();
    let read = sent(&schema, vec![batch.clone()]).await;
    assert_eq!(concat_batches(&schema, &read).unwrap(), batch);
}

fn body_bytes(messages: &[FlightData]) -> Vec<usize> {
    messages.iter().map(|m| m.data_body.len()).collect()
}

fn strings(rows: usize, bytes: usize) -> StringArray {
    (0..rows)
        .map(|row| Some(format!("{row:0bytes$}")))
        .collect()
}

fn nested() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let item = Arc::new(Field::new("element", DataType::Int64, true));
    let large = LargeListArray::new(
        Arc::clone(&item),
        OffsetBuffer::from_lengths([2, 0, 2]),
        Arc::clone(&numbers),
        Some(vec![true, false, true].into()),
    );
    let list = ListArray::new(
        item,
        OffsetBuffer::from_lengths([1, 1, 1]),
        numbers.slice(1, 3),
        None,
    );
    let member = Arc::new(Field::new("large", large.data_type().clone(), true));
    let structs = StructArray::new(vec![member].into(), vec![Arc::new(large.clone())], None);
    batch(&[
        ("large", Arc::new(large)),
        ("list", Arc::new(list)),
        ("struct", Arc::new(structs)),
    ])
}

#[tokio::test]
async fn nested_columns_and_large_lists_keep_their_types_and_rows() {
    sent_and_the_same(nested()).await;
    sent_and_the_same(nested().slice(1, 2)).await;
}

#[tokio::test]
async fn dictionaries_stay_dictionaries_when_promised_and_change_from_batch_to_batch() {
    let column = |values: &[&str]| -> ArrayRef {
        Arc::new(
            values
                .iter()
                .copied()
                .collect::<DictionaryArray<Int32Type>>(),
        )
    };
    let first = batch(&[("d", column(&["a", "b", "a"]))]);
    let second = batch(&[("d", column(&["c", "c", "d"]))]);
    let read = sent(&first.schema(), vec![first.clone(), second.clone()]).await;
    assert_eq!(read, [first.clone(), second]);

    // The closing batch repeats no dictionary: schema, dictionary, batch, closing batch.
    assert_eq!(
        messages(&first.schema(), vec![first.clone()]).await.len(),
        4
    );

    let plain = Arc::new(Schema::new(vec![Field::new("d", DataType::Utf8, true)]));
    let read = sent(&plain, vec![first]).await;
    assert_eq!(read[0].column(0).as_string::<i32>().value(1), "b");
}

#[tokio::test]
async fn a_large_dictionary_travels_only_as_far_as_it_is_used() {
    let values = Arc::new(strings(30_000, 100));
    let keys = Int32Array::from(vec![7, 7, 29_999]);
    let column: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
    let batch = batch(&[("d", column)]);
    let sizes = body_bytes(&messages(&batch.schema(), vec![batch.clone()]).await);
    assert!(sizes.iter().all(|bytes| *bytes < 2048), "{sizes:?}");
    let read = sent(&batch.schema(), vec![batch.clone()]).await;
    assert_eq!(read[0], batch);
}

#[tokio::test]
async fn views_become_the_promised_strings() {
    let views: StringViewArray = ["short", "a string that is too long for a view"]
        .iter()
        .map(Some)
        .collect();
    let found = batch(&[("s", Arc::new(views) as ArrayRef)]);
    for promised in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
        let schema = Arc::new(Schema::new(vec![Field::new("s", promised, true)]));
        let read = sent(&schema, vec![found.clone()]).await;
        let read = arrow::compute::cast(read[0].column(0), &DataType::Utf8View).unwrap();
        assert_eq!(&read, found.column(0));
    }
}

#[tokio::test]
async fn promised_views_do_not_drag_the_rows_that_were_sliced_away() {
    let views: StringViewArray = strings(10_000, 100).iter().collect();
    let found = batch(&[("s", Arc::new(views) as ArrayRef)]).slice(5_000, 2);
    let sizes = body_bytes(&messages(&found.schema(), vec![found]).await);
    assert!(sizes.iter().all(|bytes| *bytes < 1024), "{sizes:?}");
}

#[tokio::test]
async fn no_rows_still_have_a_schema_and_a_closing_batch() {
    let empty = nested().slice(0, 0);
    for batches in [vec![], vec![empty.clone(), empty.clone()]] {
        assert_eq!(messages(&empty.schema(), batches.clone()).await.len(), 2);
        assert!(sent(&empty.schema(), batches).await.is_empty());
    }
}

#[tokio::test]
async fn rows_without_columns_are_counted() {
    let options = RecordBatchOptions::new().with_row_count(Some(3_000));
    let schema = Arc::new(Schema::empty());
    let rows = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
    let read = sent(&schema, vec![rows.clone(), rows]).await;
    assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 6_000);
}

#[tokio::test]
async fn the_closing_message_is_a_batch_of_no_rows_with_the_report() {
    let all = messages(&nested().schema(), vec![nested()]).await;
    let closing = all.last().unwrap();
    let header = arrow_ipc::root_as_message(&closing.data_header).unwrap();
    assert_eq!(header.header_as_record_batch().unwrap().length(), 0);
    assert_eq!(closing.app_metadata.as_ref(), b"{}");
    assert!(
        all[..all.len() - 1]
            .iter()
            .all(|m| m.app_metadata.is_empty())
    );
}

#[tokio::test]
async fn big_batches_leave_in_messages_of_bounded_size() {
    let mut values: Vec<String> = (0..20_000).map(|row| format!("{row:0500}")).collect();
    // Rows of very different sizes: all the bytes at the end.
    values[..15_000].fill(String::new());
    let list = ListArray::new(
        Arc::new(Field::new("element", DataType::Utf8, true)),
        OffsetBuffer::from_lengths(vec![1; 20_000]),
        Arc::new(StringArray::from(values.clone())),
        None,
    );
    let numbers = Int64Array::from_iter_values(0..20_000);
    let batch = batch(&[
        ("n", Arc::new(numbers)),
        ("list", Arc::new(list)),
        ("s", Arc::new(StringArray::from(values))),
    ]);
    let all = messages(&batch.schema(), vec![batch.clone()]).await;
    let sizes = body_bytes(&all);
    assert!(
        sizes.iter().all(|bytes| *bytes < 2 * TARGET_BYTES + 4096),
        "{sizes:?}"
    );
    assert!(all.len() < 20, "{}", all.len());
    sent_and_the_same(batch).await;
}

#[tokio::test]
async fn a_row_of_several_mebibytes_passes_and_one_of_twenty_is_refused_by_its_size() {
    let column = |mebibytes: usize| -> ArrayRef {
        Arc::new(StringArray::from(vec![
            "small".to_owned(),
            "x".repeat(mebibytes << 20),
        ]))
    };
    sent_and_the_same(batch(&[("s", column(10))])).await;

    let large = batch(&[("s", column(20))]);
    let all: Vec<_> = encoded(&large.schema(), vec![Ok(large)]).collect().await;
    let error = all.last().unwrap().as_ref().unwrap_err();
    let Failure::Encode(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.category(), crate::Category::Exhausted);
    let text = error.to_string();
    assert!(text.contains("2097") && text.contains("16776192"), "{text}");
}

#[tokio::test]
async fn an_error_before_the_first_batch_comes_before_the_schema() {
    let schema = nested().schema();
    let all: Vec<_> = encoded(&schema, vec![Err(Failure::Source)]).collect().await;
    assert!(matches!(all.as_slice(), [Err(Failure::Source)]));

    let all: Vec<_> = encoded(&schema, vec![Ok(nested()), Err(Failure::Source)])
        .collect()
        .await;
    assert_eq!(all.len(), 3);
    assert!(all[2].is_err());

    let mut read = decode(encoded(&schema, vec![Err(Failure::Source)]).map_err(Status::from));
    let error = read.schema().await.unwrap_err();
    assert_eq!(error.to_string(), "disk on fire");
}

#[tokio::test]
async fn a_broken_promise_is_an_error_that_names_the_column() {
    let found = batch(&[(
        "n",
        Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef,
    )]);
    let promised = |field: Field| Arc::new(Schema::new(vec![field]));
    let cases = [
        (
            promised(Field::new("n", DataType::Int32, true)),
            "column \"n\"",
        ),
        (
            promised(Field::new("n", DataType::Int64, false)),
            "column \"n\"",
        ),
        (Arc::new(Schema::empty()), "1 columns, 0 were promised"),
    ];
    for (schema, expected) in cases {
        let all: Vec<_> = encoded(&schema, vec![Ok(found.clone())]).collect().await;
        let [Err(error)] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn what_is_not_arrow_is_malformed() {
    let nonsense = FlightData::new().with_data_header(vec![1, 2, 3]);
    for messages in [vec![], vec![Ok::<_, Status>(nonsense)]] {
        let error = decode(stream::iter(messages)).schema().await.unwrap_err();
        assert!(matches!(error, ReadError::Malformed { .. }), "{error}");
    }
}
