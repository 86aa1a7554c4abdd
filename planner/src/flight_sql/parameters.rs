//! Parameters of statements: read from what clients upload, handed out row by row.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::error::ArrowError;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use tonic::Status;

use crate::error::PlannerError;

/// Most bytes of parameters that one call can upload.
const MAX_UPLOAD_BYTES: usize = 64 * 1024 * 1024;

/// Reads an upload to its end; `None` when it has no columns or no rows.
///
/// # Errors
/// When it is too large, is not Arrow, or the client fails.
pub(crate) async fn read<S>(upload: S) -> Result<Option<RecordBatch>, PlannerError>
where
    S: Stream<Item = Result<FlightData, Status>> + Send,
{
    let messages = collect(upload).await?;
    // Without parameters the command comes alone.
    if messages.is_empty() {
        return Ok(None);
    }
    let decoded = FlightRecordBatchStream::new_from_flight_data(stream::iter(
        messages.into_iter().map(Ok::<_, FlightError>),
    ));
    let batches: Vec<RecordBatch> = decoded
        .try_collect()
        .await
        .map_err(|error| PlannerError::Invalid(format!("parameters cannot be read: {error}")))?;
    let Some(first) = batches.first() else {
        return Ok(None);
    };
    let whole = concat_batches(&first.schema(), &batches).map_err(|error| unreadable(&error))?;
    Ok((whole.num_columns() > 0 && whole.num_rows() > 0).then_some(whole))
}

async fn collect<S>(upload: S) -> Result<Vec<FlightData>, PlannerError>
where
    S: Stream<Item = Result<FlightData, Status>> + Send,
{
    let mut upload = std::pin::pin!(upload);
    let mut messages = Vec::new();
    let mut bytes = 0_usize;
    while let Some(message) = upload.next().await {
        let message = message.map_err(|status| PlannerError::answered("client", &status))?;
        bytes = bytes.saturating_add(message.data_header.len() + message.data_body.len());
        if bytes > MAX_UPLOAD_BYTES {
            return Err(PlannerError::Exhausted(format!(
                "more than {MAX_UPLOAD_BYTES} bytes of parameters in one call"
            )));
        }
        if !message.data_header.is_empty() {
            messages.push(message);
        }
    }
    Ok(messages)
}

/// Each row as a batch of its own.
pub(crate) fn rows(parameters: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    (0..parameters.num_rows()).map(|row| parameters.slice(row, 1))
}

fn unreadable(error: &ArrowError) -> PlannerError {
    PlannerError::Invalid(format!("parameters cannot be read: {error}"))
}
