//! The one error type of the client.

use arrow::error::ArrowError;
use arrow_flight::error::FlightError;
use wire::channel::LocationError;

/// Why a statement gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The location is not one; correct it.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// Nobody answers there; start the service or correct the location.
    #[error("cannot reach {location}: {reason}")]
    Unreachable {
        /// The location.
        location: String,
        /// What the transport said.
        reason: String,
    },
    /// The service refused the statement or failed while it ran.
    #[error("{message}")]
    Refused {
        /// The gRPC code.
        code: tonic::Code,
        /// What the service said.
        message: String,
    },
    /// The answer is not what Flight SQL promises.
    #[error("{location} sent an answer that cannot be read: {reason}")]
    Answer {
        /// Who sent it.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A fetch broke down here, and rows of it are missing.
    #[error("fetching an endpoint broke down before its end: its rows are not complete")]
    Broken,
    /// Rows cannot be shown in the wanted format.
    #[error("cannot format the result: {0}")]
    Format(#[from] ArrowError),
    /// The output or the history cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] std::io::Error),
    /// The terminal cannot be used.
    #[error("cannot read from the terminal: {0}")]
    Terminal(#[from] rustyline::error::ReadlineError),
    /// The session at the terminal broke down.
    #[error("the session broke down: {0}")]
    Session(#[from] tokio::task::JoinError),
}

impl ClientError {
    /// The error of a call to `location`.
    pub(crate) fn from_status(location: &str, status: &tonic::Status) -> Self {
        if let Some(reason) = transport_reason(status) {
            return Self::Unreachable {
                location: location.to_owned(),
                reason,
            };
        }
        let message = match status.message() {
            "" => format!("{location} answered {:?}", status.code()),
            message => message.to_owned(),
        };
        Self::Refused {
            code: status.code(),
            message,
        }
    }

    /// The error of a stream from `location`.
    pub(crate) fn from_flight(location: &str, error: FlightError) -> Self {
        match error {
            FlightError::Tonic(status) => Self::from_status(location, &status),
            other => Self::Answer {
                location: location.to_owned(),
                reason: wire::status::chain(&other),
            },
        }
    }

    /// Whether another location may do better because this one could not be reached at all.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { code, .. } => *code == tonic::Code::Unavailable,
            _ => false,
        }
    }

    /// Whether the reader of the output went away, which ends a command without a complaint.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// The innermost cause when a status was made by our own transport and not by the other side.
fn transport_reason(status: &tonic::Status) -> Option<String> {
    let error = std::error::Error::source(status)?;
    error.downcast_ref::<tonic::transport::Error>()?;
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    Some(innermost.to_string())
}
