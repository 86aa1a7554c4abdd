//! What a caller can do about an error. Every error of every part has exactly one category, and every
//! category one gRPC code (`status.rs`).

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// The request is wrong as it stands: SQL that does not parse or type, a bad value.
    Invalid,
    /// A table, column, file or folder that does not exist.
    NotFound,
    /// The name is taken.
    AlreadyExists,
    /// Something about the state must change first: files of clashing schemas, a file that changed.
    Precondition,
    /// The credentials or the ticket do not hold.
    Unauthenticated,
    /// Known, but not allowed.
    Denied,
    /// Too much at once or too large; smaller or later may work.
    Exhausted,
    /// A part or the store is out of reach; later may work.
    Unavailable,
    /// Somebody else changed the same thing first; a new try may work.
    Conflict,
    /// Fulmar does not do this.
    Unsupported,
    /// A file is broken: truncated, or not what it says.
    Corrupt,
    /// The client went away.
    Cancelled,
    /// A fault of Fulmar.
    Internal,
}

/// An error that knows its category.
pub trait Categorized: std::error::Error {
    /// What a caller can do about it.
    fn category(&self) -> Category;
}
