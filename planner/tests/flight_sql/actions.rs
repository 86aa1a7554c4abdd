//! Cancelling, renewing, and the list of actions.

use arrow_flight::sql::{
    ActionCancelQueryRequest, ActionCancelQueryResult, CommandStatementQuery, ProstMessageExt,
};
use arrow_flight::{
    CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, Empty, FlightEndpoint,
    FlightInfo, RenewFlightEndpointRequest,
};
use futures::TryStreamExt;
use prost::Message;
use tonic::Code;
use tonic::metadata::MetadataMap;

use crate::parts::{Client, Parts, rows, unpack};

async fn plan(client: &mut Client, sql: &str) -> FlightInfo {
    let command = CommandStatementQuery {
        query: sql.to_owned(),
        transaction_id: None,
    };
    client.info(&command).await.unwrap()
}

async fn cancel(client: &mut Client, info: &FlightInfo) -> CancelStatus {
    let request = CancelFlightInfoRequest::new(info.clone()).encode_to_vec();
    let answer = client.action("CancelFlightInfo", request, MetadataMap::new());
    let result = CancelFlightInfoResult::decode(answer.await.unwrap().0.as_slice());
    result.unwrap().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_cancelled_while_it_is_sent() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let endless = "SELECT value FROM generate_series(1, 100000000000)";
    let info = plan(&mut client, endless).await;
    assert_eq!(
        cancel(&mut client, &info).await,
        CancelStatus::NotCancellable
    );

    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let answer = client.flight.do_get(ticket).await.unwrap();
    let mut stream = answer.into_inner();
    for _ in 0..3 {
        assert!(stream.message().await.unwrap().is_some());
    }
    assert_eq!(cancel(&mut client, &info).await, CancelStatus::Cancelled);
    let end = stream.try_for_each(|_| std::future::ready(Ok(()))).await;
    assert_eq!(end.unwrap_err().code(), Code::Cancelled);

    let old = ActionCancelQueryRequest {
        info: info.encode_to_vec().into(),
    };
    let body = old.as_any().encode_to_vec();
    let answer = client.action("CancelQuery", body, MetadataMap::new()).await;
    let result: ActionCancelQueryResult = unpack(&answer.unwrap().0);
    assert_eq!(result.result, CancelStatus::NotCancellable as i32);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_holds_a_ticket_of_ours_is_cancelled_or_renewed() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let request = CancelFlightInfoRequest::new(FlightInfo::new()).encode_to_vec();
    let answer = client.action("CancelFlightInfo", request, MetadataMap::new());
    assert_eq!(answer.await.unwrap_err().code(), Code::NotFound);

    let mut endpoint = plan(&mut client, "SELECT 1").await.endpoint.remove(0);
    let mut forged = endpoint.ticket.clone().unwrap().ticket.to_vec();
    *forged.last_mut().unwrap() ^= 1;
    endpoint.ticket = Some(arrow_flight::Ticket::new(forged));
    let request = RenewFlightEndpointRequest::new(endpoint).encode_to_vec();
    let answer = client.action("RenewFlightEndpoint", request, MetadataMap::new());
    assert_eq!(answer.await.unwrap_err().code(), Code::Unauthenticated);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_endpoint_gives_the_same_rows() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let endpoint = plan(&mut client, "SELECT 7").await.endpoint.remove(0);
    let request = RenewFlightEndpointRequest::new(endpoint.clone()).encode_to_vec();
    let answer = client.action("RenewFlightEndpoint", request, MetadataMap::new());
    let renewed = FlightEndpoint::decode(answer.await.unwrap().0.as_slice()).unwrap();
    let until = |endpoint: &FlightEndpoint| endpoint.expiration_time.unwrap().seconds;
    assert!(until(&renewed) >= until(&endpoint));
    let (_, batches) = client.get(renewed.ticket.unwrap()).await.unwrap();
    assert_eq!(rows(&batches), [["7"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_that_are_listed_are_there_and_others_are_not() {
    let parts = Parts::start().await;
    let mut client = parts.client().await;
    let listed = client.flight.list_actions(Empty {}).await.unwrap();
    let listed: Vec<_> = listed.into_inner().try_collect().await.unwrap();
    for action in listed {
        let answer = client.action(&action.r#type, Vec::new(), MetadataMap::new());
        if let Err(error) = answer.await {
            assert_ne!(error.code(), Code::Unimplemented, "{}", action.r#type);
        }
    }
    for unknown in [
        "BeginTransaction",
        "CreatePreparedSubstraitPlan",
        "nonsense",
    ] {
        let answer = client.action(unknown, Vec::new(), MetadataMap::new()).await;
        assert!(answer.is_err(), "{unknown}");
    }
    assert!(parts.planner().starts_with("http://127.0.0.1:"));
}
