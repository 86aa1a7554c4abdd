//! One batch as bytes: parameters in handles and tickets, and small results. Pure.

use std::io::Cursor;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use bytes::Bytes;

use crate::error::PlannerError;

/// The batch as an Arrow IPC stream.
///
/// # Errors
/// When a column has a type that Arrow cannot write.
pub(crate) fn encode(batch: &RecordBatch) -> Result<Bytes, PlannerError> {
    let write = || {
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
        writer.write(batch)?;
        writer.into_inner()
    };
    write().map(Bytes::from).map_err(|error| unreadable(&error))
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// When the bytes are no Arrow IPC stream of one batch.
pub(crate) fn decode(bytes: &[u8]) -> Result<RecordBatch, PlannerError> {
    let read = || {
        let mut reader = StreamReader::try_new(Cursor::new(bytes), None)?;
        reader
            .next()
            .unwrap_or_else(|| Err(ArrowError::IpcError("there is no batch".to_owned())))
    };
    read().map_err(|error| unreadable(&error))
}

fn unreadable(error: &ArrowError) -> PlannerError {
    PlannerError::Invalid(format!("parameters cannot be read: {error}"))
}
