//! Metadata: the exact schemas of the protocol, filters, and tickets that any planner serves.

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Schema};
use arrow_flight::IpcMessage;
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys,
    CommandGetImportedKeys, CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes,
    CommandGetTables, CommandGetXdbcTypeInfo, ProstMessageExt,
};

use crate::parts::{Client, Parts, descriptor, rows};

/// Asks for a command's rows three ways that must agree on the schema; gives the rows.
async fn ask(
    client: &mut Client,
    replica: &mut Client,
    command: &impl ProstMessageExt,
) -> Vec<Vec<String>> {
    let info = client.info(command).await.unwrap();
    let schema = client.flight.get_schema(descriptor(command)).await.unwrap();
    let schema = Schema::try_from(IpcMessage(schema.into_inner().schema)).unwrap();
    assert_eq!(schema, info.clone().try_decode_schema().unwrap());
    // `fetch` compares the stream's schema.
    rows(&replica.fetch(info).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metadata_command_is_answered_and_any_planner_serves_its_ticket() {
    let parts = Parts::start().await;
    let (a, b) = (
        &mut parts.client().await,
        &mut Client::connect(&parts.replica().await).await,
    );
    a.sql
        .execute_update(parts.create_table("people"), None)
        .await
        .unwrap();

    assert_eq!(ask(a, b, &CommandGetCatalogs {}).await, [["fulmar"]]);
    assert_eq!(
        ask(a, b, &CommandGetDbSchemas::default()).await,
        [["fulmar", "main"], ["fulmar", "system"]]
    );
    assert_eq!(
        ask(a, b, &CommandGetTableTypes {}).await,
        [["SYSTEM TABLE"], ["TABLE"]]
    );
    assert!(ask(a, b, &CommandGetTables::default()).await.len() > 1);
    assert!(ask(a, b, &CommandGetSqlInfo::default()).await.len() > 80);
    assert!(ask(a, b, &CommandGetXdbcTypeInfo::default()).await.len() > 15);
    assert!(
        ask(a, b, &CommandGetPrimaryKeys::default())
            .await
            .is_empty()
    );
    assert!(
        ask(a, b, &CommandGetExportedKeys::default())
            .await
            .is_empty()
    );
    assert!(
        ask(a, b, &CommandGetImportedKeys::default())
            .await
            .is_empty()
    );
    assert!(
        ask(a, b, &CommandGetCrossReference::default())
            .await
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_filtered_by_patterns_and_types() {
    let parts = Parts::start().await;
    let (a, b) = (&mut parts.client().await, &mut parts.client().await);
    for name in ["people", "peo_le", "other"] {
        a.sql
            .execute_update(parts.create_table(name), None)
            .await
            .unwrap();
    }
    let text = |value: &str| Some(value.to_owned());
    for (catalog, schema, table, types, expected) in [
        (None, None, text("peo%"), vec![], vec!["peo_le", "people"]),
        (None, None, text("peo_le"), vec![], vec!["peo_le", "people"]),
        (None, None, text("peo\\_le"), vec![], vec!["peo_le"]),
        (None, text("ma_n"), text("other"), vec![], vec!["other"]),
        (text("fulmar"), text("none"), None, vec![], vec![]),
        (text("other"), None, None, vec![], vec![]),
        (text(""), None, None, vec![], vec![]),
        (None, text("main"), None, vec!["VIEW"], vec![]),
        (None, None, text("o%"), vec!["VIEW", "TABLE"], vec!["other"]),
        (
            None,
            None,
            text("quer%"),
            vec!["SYSTEM TABLE"],
            vec!["queries"],
        ),
    ] {
        let command = CommandGetTables {
            catalog,
            db_schema_filter_pattern: schema,
            table_name_filter_pattern: table,
            table_types: types.into_iter().map(str::to_owned).collect(),
            include_schema: false,
        };
        let found = ask(a, b, &command).await;
        let names: Vec<_> = found.iter().map(|row| row[2].as_str()).collect();
        assert_eq!(names, expected, "{command:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn table_schemas_are_whole_messages_with_the_types_that_results_have() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    client
        .sql
        .execute_update(parts.create_table("people"), None)
        .await
        .unwrap();
    let command = CommandGetTables {
        include_schema: true,
        ..CommandGetTables::default()
    };
    let info = client.info(&command).await.unwrap();
    let batches = client.fetch(info).await.unwrap();
    for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
        let (schemas, tables, messages) = (batch.column(1), batch.column(2), batch.column(4));
        for row in 0..batch.num_rows() {
            let message = messages.as_binary::<i32>().value(row).to_vec();
            let listed = Schema::try_from(IpcMessage(message.into())).unwrap();
            let schema = schemas.as_string::<i32>().value(row);
            let table = tables.as_string::<i32>().value(row);
            let path = vec![schema.to_owned(), table.to_owned()];
            let asked = arrow_flight::FlightDescriptor::new_path(path);
            let asked = client.flight.get_schema(asked).await.unwrap().into_inner();
            let asked = Schema::try_from(IpcMessage(asked.schema)).unwrap();
            for (listed, asked) in listed.fields().iter().zip(asked.fields()) {
                assert_eq!(listed.name(), asked.name(), "{table}");
                assert_eq!(listed.data_type(), asked.data_type(), "{table}");
                assert!(!matches!(
                    listed.data_type(),
                    DataType::Utf8View | DataType::BinaryView
                ));
                assert!(!listed.metadata().contains_key("ARROW:FLIGHT:SQL:REMARKS"));
            }
            assert_eq!(listed.fields().len(), asked.fields().len(), "{table}");
        }
    }
}
