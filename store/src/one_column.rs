//! A file of one column in memory, for tests.

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;

/// The file and its footer.
pub(crate) fn written(column: ArrayRef, properties: WriterProperties) -> (Bytes, ParquetMetaData) {
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let file = Bytes::from(file);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .unwrap();
    (file, metadata)
}
