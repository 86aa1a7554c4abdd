//! Arrow schemas as Arrow IPC messages, the form in which Flight carries them too.

use std::sync::Arc;

use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::convert::DecodeError;

/// Encodes a schema as an encapsulated IPC message.
pub fn encode_schema(schema: &Schema) -> Vec<u8> {
    let options = IpcWriteOptions::default();
    let mut tracker = DictionaryTracker::new(false);
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        schema,
        &mut tracker,
        &options,
    );
    let mut message = Vec::with_capacity(encoded.ipc_message.len() + 8);
    message.extend_from_slice(&[0xff; 4]);
    let length = u32::try_from(encoded.ipc_message.len()).unwrap_or(u32::MAX);
    message.extend_from_slice(&length.to_le_bytes());
    message.extend_from_slice(&encoded.ipc_message);
    message
}

/// Decodes what [`encode_schema`] made.
///
/// # Errors
/// When the bytes are not a schema message.
pub fn decode_schema(bytes: &[u8]) -> Result<SchemaRef, DecodeError> {
    try_schema_from_ipc_buffer(bytes)
        .map(Arc::new)
        .map_err(|error| DecodeError::new("schema", error.to_string()))
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn schemas_survive_the_way_there_and_back() {
        let schema = Schema::new(vec![
            Field::new("a.b", DataType::Decimal256(50, 3), true),
            Field::new("c", DataType::new_list(DataType::Utf8, true), false)
                .with_metadata([("PARQUET:field_id".to_owned(), "2".to_owned())].into()),
        ]);
        assert_eq!(*decode_schema(&encode_schema(&schema)).unwrap(), schema);
        assert!(decode_schema(b"nonsense").is_err());
    }
}
