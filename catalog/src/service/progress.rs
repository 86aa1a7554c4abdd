//! Long work as a stream: how far it is while it runs, then the table or the error. Work that nobody
//! waits for any more is given up; until its commit it has changed nothing.

use std::future::Future;

use futures::StreamExt;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status};
use wire::proto;

use super::{Answers, encode, status};
use crate::catalog::settled;
use crate::error::CatalogError;
use crate::table::{Progress, Table};

/// Messages that may wait for the client.
const QUEUE: usize = 16;

/// Tells the client how far the work is.
type Reporter = Box<dyn Fn(Progress) + Send + Sync>;

/// Runs the work and streams how far it is.
pub(super) fn stream<F>(
    work: impl FnOnce(Reporter) -> F + Send + 'static,
) -> Response<Answers<proto::TableProgress>>
where
    F: Future<Output = Result<Table, CatalogError>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let last = std::sync::Arc::new(std::sync::Mutex::new(None));
        let (updates, seen) = (sender.clone(), std::sync::Arc::clone(&last));
        let report: Reporter = Box::new(move |progress| {
            *seen
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(progress);
            // A client that reads slowly misses steps; it still gets the last.
            let _ = updates.try_send(Ok(encode::progress(progress, None)));
        });
        let worked = tokio::select! {
            worked = work(report) => worked,
            () = sender.closed() => {
                tracing::debug!("work was given up because the client went away");
                return;
            }
        };
        let progress = *last
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let message = worked
            .map(|table| {
                let progress = progress.unwrap_or_else(|| settled(&table));
                encode::progress(progress, Some(&table))
            })
            .map_err(|error| status(&error));
        // Nobody is left to tell when this fails.
        let _: Result<(), mpsc::error::SendError<Result<_, Status>>> = sender.send(message).await;
    });
    Response::new(ReceiverStream::new(receiver).boxed())
}
