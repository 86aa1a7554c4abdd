//! The one mapping of error categories to gRPC statuses and back.

use model::QueryId;
use tonic::{Code, Status};

use crate::category::{Categorized, Category};

/// Longest message sent: some clients fail on large error metadata (arrow#40104).
const MAX_MESSAGE_BYTES: usize = 3 * 1024;

/// The gRPC code of a category.
pub fn code(category: Category) -> Code {
    match category {
        Category::Invalid => Code::InvalidArgument,
        Category::NotFound => Code::NotFound,
        Category::AlreadyExists => Code::AlreadyExists,
        Category::Precondition => Code::FailedPrecondition,
        Category::Unauthenticated => Code::Unauthenticated,
        Category::Denied => Code::PermissionDenied,
        Category::Exhausted => Code::ResourceExhausted,
        Category::Unavailable => Code::Unavailable,
        Category::Conflict => Code::Aborted,
        Category::Unsupported => Code::Unimplemented,
        Category::Corrupt => Code::DataLoss,
        Category::Cancelled => Code::Cancelled,
        Category::Internal => Code::Internal,
    }
}

/// The category of a gRPC code that another part answered.
pub fn category(code: Code) -> Category {
    match code {
        Code::InvalidArgument | Code::OutOfRange => Category::Invalid,
        Code::NotFound => Category::NotFound,
        Code::AlreadyExists => Category::AlreadyExists,
        Code::FailedPrecondition => Category::Precondition,
        Code::Unauthenticated => Category::Unauthenticated,
        Code::PermissionDenied => Category::Denied,
        Code::ResourceExhausted => Category::Exhausted,
        // No part of ours answers with `Unknown`: it is how a connection that broke shows.
        Code::Unavailable | Code::DeadlineExceeded | Code::Unknown => Category::Unavailable,
        Code::Aborted => Category::Conflict,
        Code::Unimplemented => Category::Unsupported,
        Code::DataLoss => Category::Corrupt,
        Code::Cancelled => Category::Cancelled,
        Code::Ok | Code::Internal => Category::Internal,
    }
}

/// The category of the status with which a call ended. A stream that the transport reset is no fault of
/// the other part, though its code is the same.
pub fn category_of(status: &Status) -> Category {
    let reset = std::error::Error::source(status).is_some()
        || status.message().starts_with("h2 protocol error");
    match category(status.code()) {
        Category::Internal if reset => Category::Unavailable,
        category => category,
    }
}

/// The status of an error: one line, with the query id when there is one.
pub fn status<E: Categorized + ?Sized>(error: &E, query: Option<&QueryId>) -> Status {
    status_of(error.category(), &chain(error), query)
}

/// The status of a category and a message.
pub fn status_of(category: Category, message: &str, query: Option<&QueryId>) -> Status {
    let mut line = one_line(message);
    if let Some(query) = query
        && !line.contains(&query.0)
    {
        line = format!("{line} [query {query}]");
    }
    Status::new(code(category), line)
}

/// An error with its sources, each once, joined by colons.
pub fn chain<E: std::error::Error + ?Sized>(error: &E) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

fn one_line(message: &str) -> String {
    let mut line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MAX_MESSAGE_BYTES {
        let cut = (0..=MAX_MESSAGE_BYTES)
            .rev()
            .find(|at| line.is_char_boundary(*at));
        line.truncate(cut.unwrap_or_default());
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_survives_the_way_there_and_back() {
        let all = [
            Category::Invalid,
            Category::NotFound,
            Category::AlreadyExists,
            Category::Precondition,
            Category::Unauthenticated,
            Category::Denied,
            Category::Exhausted,
            Category::Unavailable,
            Category::Conflict,
            Category::Unsupported,
            Category::Corrupt,
            Category::Cancelled,
            Category::Internal,
        ];
        for one in all {
            assert_eq!(category(code(one)), one);
        }
    }

    #[test]
    fn a_broken_transport_is_no_fault_of_the_other_part() {
        for (status, expected) in [
            (Status::internal("a bug"), Category::Internal),
            (Status::unknown("transport error"), Category::Unavailable),
            (
                Status::internal("h2 protocol error: stream reset"),
                Category::Unavailable,
            ),
            (Status::data_loss("a file"), Category::Corrupt),
        ] {
            assert_eq!(category_of(&status), expected, "{status}");
        }
    }

    #[test]
    fn messages_are_one_line_of_bounded_length() {
        let status = status_of(Category::Invalid, &"two\nlines ".repeat(1000), None);
        assert!(!status.message().contains('\n'));
        assert!(status.message().len() <= MAX_MESSAGE_BYTES + 4);
    }
}
