//! Parameters: what is declared, and how values take their place.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use fulmar_planner::{Prepared, Statement};

use crate::lake::{Answer, Lake, session};

async fn lake() -> Lake {
    let lake = Lake::start(1).await;
    lake.create("orders", |dir| {
        fixtures::orders_by_month(dir, 2_400).unwrap();
    })
    .await;
    lake
}

async fn run(
    lake: &Lake,
    sql: &str,
    values: Vec<ArrayRef>,
) -> Result<Answer, fulmar_planner::PlannerError> {
    let columns = values
        .into_iter()
        .enumerate()
        .map(|(n, value)| (format!("{n}"), value));
    let statement = Statement {
        sql: sql.to_owned(),
        parameters: Some(RecordBatch::try_from_iter(columns).unwrap()),
        together: 1,
    };
    let plan = lake.engine.plan(&session(), statement).await?;
    lake.fetch(plan).await
}

fn int(value: i64) -> ArrayRef {
    Arc::new(Int64Array::from(vec![value]))
}

fn text(value: &str) -> ArrayRef {
    Arc::new(StringArray::from(vec![value]))
}

#[tokio::test(flavor = "multi_thread")]
async fn values_take_the_place_of_parameters() {
    let lake = lake().await;
    let by_mark = "SELECT order_id FROM orders WHERE order_id >= ? AND order_id < ?";
    assert_eq!(
        run(&lake, by_mark, vec![int(10), int(15)])
            .await
            .unwrap()
            .rows(),
        5
    );
    let by_number = "SELECT order_id FROM orders WHERE order_id < $2 AND order_id >= $1";
    assert_eq!(
        run(&lake, by_number, vec![int(10), int(15)])
            .await
            .unwrap()
            .rows(),
        5
    );
    let fraction: ArrayRef = Arc::new(Float64Array::from(vec![2.5]));
    let above = "SELECT order_id FROM orders WHERE order_id > ? AND order_id < 5";
    assert_eq!(run(&lake, above, vec![fraction]).await.unwrap().rows(), 2);
    let date = "SELECT count(*) AS n FROM orders WHERE order_date < ?";
    let answer = run(&lake, date, vec![text("2024-01-02")]).await.unwrap();
    assert_ne!(answer.column("n"), ["0"]);
    let limited = "SELECT order_id FROM orders ORDER BY order_id LIMIT ?";
    assert_eq!(run(&lake, limited, vec![int(3)]).await.unwrap().rows(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_do_not_fit_are_refused_by_the_name_of_their_parameter() {
    let lake = lake().await;
    let sql = "SELECT order_id FROM orders WHERE order_date < ? AND order_id = ?";
    let error = run(&lake, sql, vec![text("soon"), int(1)])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("$1"), "{error}");
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let error = run(&lake, sql, vec![flag, int(1)]).await.unwrap_err();
    assert!(error.to_string().contains("$1"), "{error}");
    let error = run(&lake, sql, vec![int(1)]).await.unwrap_err();
    assert!(
        error.to_string().contains("2 parameters, 1 values"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_declared_with_the_types_of_their_columns() {
    let lake = lake().await;
    let sql = "SELECT order_id, ? AS free FROM orders WHERE order_date < ? LIMIT ?";
    match lake.engine.prepare(&session(), sql).await.unwrap() {
        Prepared::Query { parameters, .. } => {
            let types: Vec<&DataType> = parameters
                .fields()
                .iter()
                .map(|field| field.data_type())
                .collect();
            assert_eq!(
                types,
                [&DataType::Utf8, &DataType::Date32, &DataType::Int64]
            );
        }
        Prepared::Command => panic!("it is a query"),
    }
}
