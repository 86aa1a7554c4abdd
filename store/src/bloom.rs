//! Bloom filters of column chunks: whether a value is surely in none of a chunk's rows. Pure.

use std::ops::Range;

use arrow_schema::DataType;
use bytes::Bytes;
use model::Datum;
use parquet::basic::Type as Physical;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::ColumnChunkMetaData;

use crate::footer::span;

/// A Bloom filter of a column chunk.
#[derive(Debug)]
pub struct Bloom {
    filter: Sbbf,
    physical: Physical,
    file_type: DataType,
}

/// Where a chunk's Bloom filter lies, when its length is stated. (Older writers state only where it
/// begins; its length would cost a request.)
pub fn bloom_span(chunk: &ColumnChunkMetaData, file_size: u64) -> Option<Range<u64>> {
    let length = chunk.bloom_filter_length()?;
    span(chunk.bloom_filter_offset()?, length.into())
        .filter(|range| !range.is_empty() && range.end <= file_size)
}

impl Bloom {
    /// A filter from its bytes; `None` when they are none, which rules nothing out. `file_type` is the
    /// column's type in the file.
    pub fn decode(
        bytes: &Bytes,
        chunk: &ColumnChunkMetaData,
        file_type: &DataType,
    ) -> Option<Self> {
        let filter = Sbbf::from_bytes(bytes).ok()?;
        (filter.num_blocks() > 0).then(|| Self {
            filter,
            physical: chunk.column_type(),
            file_type: file_type.clone(),
        })
    }

    /// Whether surely no row holds the value. Only of values whose one form in the file is known:
    /// floats (two zeros, many NaNs) and decimals in byte arrays (any length) are left out.
    pub fn excludes(&self, value: &Datum) -> bool {
        use DataType as T;
        let found = match (self.physical, &self.file_type, value) {
            (Physical::INT32, T::Int8 | T::Int16 | T::Int32, Datum::Int(value)) => {
                i32::try_from(*value).map(|value| self.filter.check(&value))
            }
            (Physical::INT64, T::Int64, Datum::Int(value)) => Ok(self.filter.check(value)),
            (Physical::INT32, T::Date32, Datum::Date(days)) => Ok(self.filter.check(days)),
            (
                Physical::INT64,
                T::Timestamp(file_unit, zone),
                Datum::Timestamp { value, unit, utc },
            ) if file_unit == unit && zone.is_some() == *utc => Ok(self.filter.check(value)),
            (
                Physical::BYTE_ARRAY,
                T::Utf8 | T::LargeUtf8 | T::Binary | T::LargeBinary,
                Datum::Bytes(bytes),
            ) => Ok(self.filter.check(bytes.as_slice())),
            _ => return false,
        };
        // A value that does not fit in the file's type is in none of its rows, but who asks may widen.
        found.is_ok_and(|found| !found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Date32Array, Float64Array, Int16Array, Int64Array, StringArray};
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::one_column::written;

    fn bloom(column: ArrayRef) -> Bloom {
        let kind = column.data_type().clone();
        let properties = WriterProperties::builder()
            .set_bloom_filter_enabled(true)
            .build();
        let (file, metadata) = written(column, properties);
        let chunk = metadata.row_group(0).column(0);
        let span = bloom_span(chunk, file.len() as u64).unwrap();
        let place = |offset| usize::try_from(offset).unwrap();
        let bytes = file.slice(place(span.start)..place(span.end));
        Bloom::decode(&bytes, chunk, &kind).unwrap()
    }

    #[test]
    fn values_that_are_there_are_never_excluded_and_others_mostly_are() {
        let cases: [(ArrayRef, Datum, Datum); 4] = [
            (
                Arc::new(Int64Array::from(vec![1, 2])),
                Datum::Int(2),
                Datum::Int(3),
            ),
            (
                Arc::new(Int16Array::from(vec![-1, 2])),
                Datum::Int(-1),
                Datum::Int(1),
            ),
            (
                Arc::new(Date32Array::from(vec![7])),
                Datum::Date(7),
                Datum::Date(8),
            ),
            (
                Arc::new(StringArray::from(vec!["a", "b"])),
                Datum::text("b"),
                Datum::text("c"),
            ),
        ];
        for (column, there, elsewhere) in cases {
            let bloom = bloom(column);
            assert!(!bloom.excludes(&there), "{there}");
            assert!(bloom.excludes(&elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn kinds_without_one_form_exclude_nothing() {
        let floats = bloom(Arc::new(Float64Array::from(vec![0.0])));
        assert!(!floats.excludes(&Datum::Float(-0.0)));
        let ints = bloom(Arc::new(Int64Array::from(vec![1])));
        assert!(!ints.excludes(&Datum::Float(2.0)));
        let shorts = bloom(Arc::new(Int16Array::from(vec![1])));
        assert!(!shorts.excludes(&Datum::Int(i64::MAX)));
    }

    #[test]
    fn bytes_that_are_no_filter_are_none() {
        let properties = Arc::new(parquet::schema::types::SchemaDescriptor::new(Arc::new(
            parquet::schema::parser::parse_message_type("message m { required int64 x; }").unwrap(),
        )));
        let chunk = ColumnChunkMetaData::builder(properties.column(0))
            .build()
            .unwrap();
        for bytes in [&b""[..], b"\x15\x00", &[0xff; 64]] {
            let bytes = Bytes::copy_from_slice(bytes);
            assert!(Bloom::decode(&bytes, &chunk, &DataType::Int64).is_none());
        }
    }
}
