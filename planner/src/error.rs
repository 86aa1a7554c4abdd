//! What goes wrong in the planner, by what a caller can do about it, and where the errors of
//! DataFusion and of the other parts belong. Owns no text of gRPC.

use datafusion::error::DataFusionError;
use model::QueryId;
use tonic::Status;
use wire::status::chain;
use wire::{Categorized, Category, DecodeError, TicketError};

/// An error of the planner.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlannerError {
    /// The statement or a value is wrong as it stands.
    #[error("{0}")]
    Invalid(String),
    /// A table, schema or file that does not exist.
    #[error("{0}")]
    NotFound(String),
    /// Fulmar does not do this.
    #[error("{0}")]
    Unsupported(String),
    /// Too much at once.
    #[error("{0}")]
    Exhausted(String),
    /// No part that could do it is in reach.
    #[error("{0}")]
    Unavailable(String),
    /// Another part answered with an error, or an inner error that has a category of its own.
    #[error("{message}")]
    Other {
        /// What a caller can do about it.
        category: Category,
        /// What the other part said.
        message: String,
    },
    /// A fault of the planner.
    #[error("{0}")]
    Internal(String),
    /// An error with the query in which it happened.
    #[error("{source} [query {query}]")]
    Query {
        /// The query.
        query: QueryId,
        /// What happened.
        source: Box<PlannerError>,
    },
}

impl Categorized for PlannerError {
    fn category(&self) -> Category {
        match self {
            Self::Invalid(_) => Category::Invalid,
            Self::NotFound(_) => Category::NotFound,
            Self::Unsupported(_) => Category::Unsupported,
            Self::Exhausted(_) => Category::Exhausted,
            Self::Unavailable(_) => Category::Unavailable,
            Self::Other { category, .. } => *category,
            Self::Internal(_) => Category::Internal,
            Self::Query { source, .. } => source.category(),
        }
    }
}

impl PlannerError {
    /// An error of a part that knows its category.
    pub fn of<E: Categorized>(error: &E) -> Self {
        Self::Other {
            category: error.category(),
            message: chain(error),
        }
    }

    /// What another part answered; `part` says which one it was.
    pub fn answered(part: &str, status: &Status) -> Self {
        let category = wire::status::category_of(status);
        let message = match category {
            Category::Unavailable | Category::Internal => format!("{part}: {}", status.message()),
            _ => status.message().to_owned(),
        };
        Self::Other { category, message }
    }

    /// The same error with the query in which it happened; named once.
    #[must_use]
    pub fn in_query(self, query: &QueryId) -> Self {
        match self {
            Self::Query { .. } => self,
            source => Self::Query {
                query: query.clone(),
                source: Box::new(source),
            },
        }
    }
}

impl From<TicketError> for PlannerError {
    fn from(error: TicketError) -> Self {
        Self::of(&error)
    }
}

impl From<DecodeError> for PlannerError {
    fn from(error: DecodeError) -> Self {
        Self::of(&error)
    }
}

impl From<PlannerError> for DataFusionError {
    fn from(error: PlannerError) -> Self {
        Self::External(Box::new(error))
    }
}

impl From<DataFusionError> for PlannerError {
    fn from(error: DataFusionError) -> Self {
        from_datafusion(&error)
    }
}

/// The error of ours inside DataFusion's wrappers if there is one, else what DataFusion's own error
/// means to a caller.
fn from_datafusion(error: &DataFusionError) -> PlannerError {
    use DataFusionError as E;
    match error {
        E::Context(_, inner) | E::Diagnostic(_, inner) => from_datafusion(inner),
        E::Shared(inner) => from_datafusion(inner),
        E::Collection(errors) => errors.first().map_or_else(
            || PlannerError::Internal("an empty collection of errors".to_owned()),
            from_datafusion,
        ),
        E::External(inner) => from_external(inner.as_ref(), error),
        E::ArrowError(inner, _) => from_arrow(inner, error),
        E::SQL(..) | E::Plan(_) | E::SchemaError(..) | E::Configuration(_) | E::Execution(_) => {
            PlannerError::Invalid(text(error))
        }
        E::NotImplemented(message) => PlannerError::Unsupported(message.clone()),
        E::ResourcesExhausted(message) => PlannerError::Exhausted(message.clone()),
        _ => PlannerError::Internal(text(error)),
    }
}

fn from_external(
    inner: &(dyn std::error::Error + Send + Sync + 'static),
    whole: &DataFusionError,
) -> PlannerError {
    if let Some(error) = inner.downcast_ref::<PlannerError>() {
        return error.clone();
    }
    if let Some(error) = inner.downcast_ref::<DataFusionError>() {
        return from_datafusion(error);
    }
    if let Some(error) = inner.downcast_ref::<arrow::error::ArrowError>() {
        return from_arrow(error, whole);
    }
    PlannerError::Internal(text(whole))
}

/// Kernels fail on values: a cast, a division by zero, an overflow.
fn from_arrow(error: &arrow::error::ArrowError, whole: &DataFusionError) -> PlannerError {
    use arrow::error::ArrowError as E;
    match error {
        E::ExternalError(inner) => from_external(inner.as_ref(), whole),
        E::NotYetImplemented(message) => PlannerError::Unsupported(message.clone()),
        E::MemoryError(message) => PlannerError::Exhausted(message.clone()),
        E::CastError(_)
        | E::ParseError(_)
        | E::ComputeError(_)
        | E::DivideByZero
        | E::ArithmeticOverflow(_)
        | E::InvalidArgumentError(_)
        | E::SchemaError(_) => PlannerError::Invalid(error.to_string()),
        _ => PlannerError::Internal(error.to_string()),
    }
}

/// DataFusion's message without the names of its own error kinds and without backtraces.
fn text(error: &DataFusionError) -> String {
    let message = error.strip_backtrace();
    let plain = ["Error during planning: ", "SQL error: ", "Schema error: "]
        .iter()
        .find_map(|prefix| message.strip_prefix(prefix));
    plain.unwrap_or(&message).to_owned()
}
