//! Handles of prepared statements: the statement and its parameters, signed. A server keeps nothing,
//! so that closing a handle is nothing to do and any replica runs it.

use arrow::array::RecordBatch;
use bytes::Bytes;
use prost::Message;
use wire::TicketKeys;

use crate::error::PlannerError;
use crate::ipc;

const PURPOSE: &str = "prepared statement";

/// A prepared statement with the parameters that were bound last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Handle {
    /// The statement.
    pub(crate) sql: String,
    /// A row for each time it is to be run.
    pub(crate) parameters: Option<RecordBatch>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Body {
    #[prost(string, tag = "1")]
    sql: String,
    /// An Arrow IPC stream; empty without parameters.
    #[prost(bytes = "bytes", tag = "2")]
    parameters: Bytes,
}

impl Handle {
    /// The handle's bytes, as the client keeps them.
    ///
    /// # Errors
    /// When statement and parameters are too large to travel in a handle.
    pub(crate) fn seal(&self, keys: &TicketKeys) -> Result<Bytes, PlannerError> {
        let body = Body {
            sql: self.sql.clone(),
            parameters: match &self.parameters {
                Some(batch) => ipc::encode(batch)?,
                None => Bytes::new(),
            },
        };
        keys.seal(PURPOSE, &body.encode_to_vec()).map_err(|error| {
            let error = PlannerError::of(&error);
            PlannerError::Exhausted(format!(
                "the statement and its parameters are too large to be prepared: {error}"
            ))
        })
    }

    /// Reads a handle.
    ///
    /// # Errors
    /// When it was not made by a planner with these keys.
    pub(crate) fn open(keys: &TicketKeys, handle: &[u8]) -> Result<Self, PlannerError> {
        let body = keys.open(PURPOSE, handle).map_err(|error| {
            let message = error.to_string().replace("ticket", "handle");
            PlannerError::Invalid(format!("prepared statement: {message}"))
        })?;
        let body = Body::decode(body)
            .map_err(|error| PlannerError::Invalid(format!("prepared statement: {error}")))?;
        let parameters = if body.parameters.is_empty() {
            None
        } else {
            Some(ipc::decode(&body.parameters)?)
        };
        Ok(Self {
            sql: body.sql,
            parameters,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    fn keys() -> TicketKeys {
        TicketKeys::parse("k:000102030405060708090a0b0c0d0e0f").unwrap()
    }

    fn handle() -> Handle {
        let parameters = RecordBatch::try_from_iter([
            ("$1", Arc::new(Int64Array::from(vec![Some(1), None])) as _),
            ("$2", Arc::new(StringArray::from(vec!["a", "b"])) as _),
        ]);
        Handle {
            sql: "SELECT $1, $2".to_owned(),
            parameters: Some(parameters.unwrap()),
        }
    }

    #[test]
    fn a_handle_carries_the_statement_and_its_parameters() {
        let sealed = handle().seal(&keys()).unwrap();
        assert_eq!(Handle::open(&keys(), &sealed).unwrap(), handle());
    }

    #[test]
    fn a_forged_handle_and_a_handle_of_other_keys_are_refused() {
        let sealed = handle().seal(&keys()).unwrap();
        let mut forged = sealed.to_vec();
        if let Some(last) = forged.last_mut() {
            *last ^= 1;
        }
        let other = TicketKeys::parse("k:ff0102030405060708090a0b0c0d0e0f").unwrap();
        assert!(Handle::open(&keys(), &forged).is_err());
        assert!(Handle::open(&other, &sealed).is_err());
        assert!(Handle::open(&keys(), b"SELECT 1").is_err());
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused_when_they_are_bound() {
        let text = StringArray::from(vec!["x".repeat(1 << 20)]);
        let parameters = RecordBatch::try_from_iter([("$1", Arc::new(text) as _)]);
        let large = Handle {
            sql: String::new(),
            parameters: Some(parameters.unwrap()),
        };
        assert!(matches!(
            large.seal(&keys()),
            Err(PlannerError::Exhausted(_))
        ));
    }
}
