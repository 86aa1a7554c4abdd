//! Long work as a stream: how far it is while it runs, then the table or the error. Work that nobody
//! waits for any more is given up; until its commit it has changed nothing.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status};
use wire::proto;

use super::{Answers, encode, status};
use crate::catalog::settled;
use crate::error::CatalogError;
use crate::table::{Progress, Table};

/// Messages that may wait for the client.
const QUEUE: usize = 16;

type Message = Result<proto::TableProgress, Status>;

/// Tells the client how far the work is.
type Reporter = Box<dyn Fn(Progress) + Send + Sync>;

/// The last that was reported.
type Last = Arc<Mutex<Option<Progress>>>;

/// Runs the work and streams how far it is.
pub(super) fn stream<F>(
    work: impl FnOnce(Reporter) -> F + Send + 'static,
) -> Response<Answers<proto::TableProgress>>
where
    F: Future<Output = Result<Table, CatalogError>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(QUEUE);
    let last = Last::default();
    let work = work(reporter(sender.clone(), Arc::clone(&last)));
    tokio::spawn(async move {
        let worked = tokio::select! {
            worked = work => worked,
            () = sender.closed() => {
                tracing::debug!("work was given up because the client went away");
                return;
            }
        };
        // Nobody is left to tell when this fails.
        let _ = sender.send(last_message(worked, &last)).await;
    });
    Response::new(ReceiverStream::new(receiver).boxed())
}

fn reporter(sender: Sender<Message>, last: Last) -> Reporter {
    Box::new(move |progress| {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        // A client that reads slowly misses steps; it still gets the last.
        let _ = sender.try_send(Ok(encode::progress(progress, None)));
    })
}

fn last_message(worked: Result<Table, CatalogError>, last: &Last) -> Message {
    let table = worked.map_err(|error| status(&error))?;
    let reported = *last.lock().unwrap_or_else(PoisonError::into_inner);
    let progress = reported.unwrap_or_else(|| settled(&table));
    Ok(encode::progress(progress, Some(&table)))
}
