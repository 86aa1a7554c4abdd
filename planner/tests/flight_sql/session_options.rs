//! Sessions: their options travel with the client.

use std::collections::BTreeMap;

use prost::Message;
use tonic::metadata::MetadataMap;

use crate::parts::{Client, Parts};

/// The messages of the protocol, as far as text values go.
#[derive(Clone, PartialEq, Message)]
struct Options {
    #[prost(btree_map = "string, message", tag = "1")]
    options: BTreeMap<String, Text>,
}

#[derive(Clone, PartialEq, Message)]
struct Text {
    #[prost(string, optional, tag = "1")]
    text: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Errors {
    #[prost(btree_map = "string, message", tag = "1")]
    errors: BTreeMap<String, Number>,
}

#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(int32, tag = "1")]
    number: i32,
}

fn options(pairs: &[(&str, &str)]) -> Vec<u8> {
    let options = pairs.iter().map(|(name, value)| {
        let text = Some((*value).to_owned());
        ((*name).to_owned(), Text { text })
    });
    Options {
        options: options.collect(),
    }
    .encode_to_vec()
}

async fn shown(client: &mut Client, headers: MetadataMap) -> BTreeMap<String, Text> {
    let answer = client
        .action("GetSessionOptions", Vec::new(), headers)
        .await;
    Options::decode(answer.unwrap().0.as_slice())
        .unwrap()
        .options
}

#[tokio::test(flavor = "multi_thread")]
async fn options_come_back_as_bearer_token_and_as_cookie_and_hold_at_any_planner() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let mut replica = Client::connect(&parts.replica().await).await;
    let wanted = options(&[("schema", "system"), ("colour", "blue"), ("catalog", "x")]);
    let set = client.action("SetSessionOptions", wanted, MetadataMap::new());
    let (body, answer) = set.await.unwrap();
    let errors = Errors::decode(body.as_slice()).unwrap().errors;
    // Invalid name, invalid value.
    assert_eq!((errors["colour"].number, errors["catalog"].number), (1, 2));
    assert!(!errors.contains_key("schema"));

    let cookie = answer.get("set-cookie").unwrap().clone();
    for (name, value) in [
        (
            "authorization",
            answer.get("authorization").unwrap().clone(),
        ),
        ("cookie", cookie),
    ] {
        let mut headers = MetadataMap::new();
        headers.insert(name, value);
        let options = shown(&mut replica, headers.clone()).await;
        assert_eq!(options["schema"].text.as_deref(), Some("system"), "{name}");
        assert_eq!(options["catalog"].text.as_deref(), Some("fulmar"), "{name}");
        let closed = replica.action("CloseSession", Vec::new(), headers).await;
        assert_eq!(
            Number::decode(closed.unwrap().0.as_slice()).unwrap().number,
            1
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_of_the_session_is_where_names_are_looked_up() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    assert!(
        client
            .sql
            .execute("SELECT * FROM tables".to_owned(), None)
            .await
            .is_err()
    );
    client.sql.set_header("schema", "system");
    assert!(
        client
            .sql
            .execute("SELECT * FROM tables".to_owned(), None)
            .await
            .is_ok()
    );
    client.sql.set_header("endpoints", "several");
    let error = client.sql.execute("SELECT 1".to_owned(), None).await;
    assert!(error.unwrap_err().to_string().contains("several"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_gives_a_token_that_later_calls_are_made_with() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let payload = client.sql.handshake("ada", "secret").await.unwrap();
    let token = client.sql.token().unwrap().clone();
    assert_eq!(payload, token.as_bytes());
    assert!(
        client
            .sql
            .execute("SELECT 1".to_owned(), None)
            .await
            .is_ok()
    );
    client.sql.set_token("None".to_owned());
    assert!(
        client
            .sql
            .execute("SELECT 1".to_owned(), None)
            .await
            .is_ok()
    );
    client.sql.set_token(format!("{token}x"));
    let error = client.sql.execute("SELECT 1".to_owned(), None).await;
    assert!(error.unwrap_err().to_string().contains("connect again"));
}
