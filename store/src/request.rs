//! One request to a store: sent again after a passing failure, continued where its body broke, and sent
//! a second time when it is far slower than it should be. Counts on the ledger what it does.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::{GetOptions, GetRange, GetResult, GetResultPayload};

use crate::error::{StoreError, passes};
use crate::ledger::Ledger;
use crate::location::etag;

/// The pause before the first retry, about; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The bytes of a file that a store sent.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) start: u64,
    /// The file's size.
    pub(crate) size: u64,
    pub(crate) bytes: Bytes,
}

/// A request of the I/O log.
pub(crate) struct Sent<'a> {
    ledger: &'a Ledger,
    entry: usize,
}

enum Failure {
    /// There is no answer.
    Store(object_store::Error),
    /// The answer ended before its time.
    Broken {
        answer: Answer,
        end: u64,
        error: object_store::Error,
    },
    /// The answer is about another version of the file.
    Changed,
}

impl<'a> Sent<'a> {
    pub(crate) fn new(ledger: &'a Ledger, entry: usize) -> Self {
        Self { ledger, entry }
    }

    /// The answer; `None` asks for the whole file.
    ///
    /// # Errors
    /// When the store fails for good, or sends another version of the file.
    pub(crate) async fn answer(&self, wanted: Option<GetRange>) -> Result<Answer, StoreError> {
        let url = self.ledger.url();
        let mut wanted = wanted;
        let mut before: Option<Answer> = None;
        let mut attempt = 0;
        loop {
            let failure = match Box::pin(self.hedged(wanted.as_ref())).await {
                Ok(answer) => return Ok(joined(before, answer)),
                Err(failure) => failure,
            };
            let error = match failure {
                Failure::Changed => {
                    return Err(StoreError::Changed {
                        path: url.to_owned(),
                    });
                }
                Failure::Broken { answer, end, error } => {
                    let next = answer.start + answer.bytes.len() as u64;
                    wanted = Some(GetRange::Bounded(next..end));
                    before = Some(joined(before, answer));
                    error
                }
                Failure::Store(error) => error,
            };
            if attempt >= self.ledger.location().profile().retries || !passes(&error) {
                return Err(StoreError::of(url, &error));
            }
            tracing::debug!(path = url, %error, attempt, "request is sent again");
            tokio::time::sleep(pause(attempt)).await;
            attempt += 1;
            self.ledger.note_retry(self.entry);
        }
    }

    /// The answer of the request, or of a second one when the first takes too long.
    async fn hedged(&self, wanted: Option<&GetRange>) -> Result<Answer, Failure> {
        let Some(after) = self.ledger.location().profile().hedge_after else {
            return self.get(wanted).await;
        };
        let mut first = std::pin::pin!(self.get(wanted));
        if let Ok(answer) = tokio::time::timeout(after, &mut first).await {
            return answer;
        }
        self.ledger.note_hedge();
        let mut second = std::pin::pin!(self.get(wanted));
        tokio::select! {
            answer = &mut first => match answer {
                Ok(answer) => Ok(answer),
                Err(_) => second.await,
            },
            answer = &mut second => match answer {
                Ok(answer) => Ok(answer),
                Err(_) => first.await,
            },
        }
    }

    async fn get(&self, wanted: Option<&GetRange>) -> Result<Answer, Failure> {
        let location = self.ledger.location();
        let version = self.ledger.version();
        let options = GetOptions {
            range: wanted.cloned(),
            if_match: version
                .as_deref()
                .and_then(|version| etag(&location.url, version)),
            ..GetOptions::default()
        };
        let answer = location.reader.get_opts(&location.path, options).await;
        let answer = answer.map_err(Failure::Store)?;
        if !self.ledger.is_expected(&answer) {
            return Err(Failure::Changed);
        }
        self.body(answer).await
    }

    async fn body(&self, answer: GetResult) -> Result<Answer, Failure> {
        let (range, size) = (answer.range.clone(), answer.meta.size);
        let received = |bytes| Answer {
            start: range.start,
            size,
            bytes,
        };
        if matches!(answer.payload, GetResultPayload::File(..)) {
            let bytes = answer.bytes().await.map_err(Failure::Store)?;
            self.ledger.note_bytes(bytes.len());
            return Ok(received(bytes));
        }
        let length = usize::try_from(range.end - range.start).unwrap_or_default();
        let mut chunks = answer.into_stream();
        let mut body = Body::default();
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(chunk) => {
                    self.ledger.note_bytes(chunk.len());
                    body.push(chunk, length);
                }
                Err(error) => {
                    return Err(Failure::Broken {
                        answer: received(body.finish()),
                        end: range.end,
                        error,
                    });
                }
            }
        }
        Ok(received(body.finish()))
    }
}

/// The chunks of a body in one piece; a single one is not copied.
#[derive(Default)]
struct Body {
    only: Option<Bytes>,
    whole: BytesMut,
}

impl Body {
    fn push(&mut self, chunk: Bytes, length: usize) {
        if self.only.is_none() && self.whole.is_empty() {
            self.only = Some(chunk);
            return;
        }
        if let Some(first) = self.only.take() {
            // What a store says of a length is only a hint: never more than this is set aside for it.
            self.whole
                .reserve(length.clamp(first.len() + chunk.len(), 64 << 20));
            self.whole.extend_from_slice(&first);
        }
        self.whole.extend_from_slice(&chunk);
    }

    fn finish(self) -> Bytes {
        self.only.unwrap_or_else(|| self.whole.freeze())
    }
}

fn joined(before: Option<Answer>, answer: Answer) -> Answer {
    match before {
        None => answer,
        Some(before) => Answer {
            start: before.start,
            size: answer.size,
            bytes: [before.bytes, answer.bytes].concat().into(),
        },
    }
}

/// Doubles with each attempt, and differs between requests that failed together, so that they do not
/// come back together.
fn pause(attempt: u32) -> Duration {
    let pause = FIRST_PAUSE.saturating_mul(1 << attempt.min(10));
    pause
        .min(LONGEST_PAUSE)
        .mul_f64(rand::random_range(0.5..1.5))
}
