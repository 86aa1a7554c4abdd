//! Calls into decoders of others' code.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

use crate::error::StoreError;

/// What the decoder gives. Decoders may panic on bytes that nobody wrote; here that is an error that names
/// the file, like any other broken byte. What a panic leaves half-done must not be used again.
///
/// # Errors
/// [`StoreError::Corrupt`], when the decoder fails or panics.
pub fn guarded<T, E: Display>(
    path: &str,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, StoreError> {
    let reason = match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("the decoder gave up: {}", text(panic.as_ref())),
    };
    Err(StoreError::corrupt(path, reason))
}

/// What the Parquet crate says, without its name before it.
pub(crate) fn plain(error: ParquetError) -> String {
    match error {
        ParquetError::General(reason) | ParquetError::EOF(reason) => reason,
        other => other.to_string(),
    }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_decoder_dies_of_is_told() {
        let failed = guarded::<(), _>("f", || Err("no"));
        assert_eq!(failed.unwrap_err().to_string(), "f is corrupt: no");
        let number = std::hint::black_box(3);
        let gave_up = guarded::<(), String>("f", || panic!("page {number}"));
        assert_eq!(
            gave_up.unwrap_err().to_string(),
            "f is corrupt: the decoder gave up: page 3"
        );
    }
}
