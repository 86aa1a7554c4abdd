//! Dictionary pages: the values that a column chunk can hold at all. Pure.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use bytes::Bytes;
use model::Datum;
use parquet::basic::{Encoding, PageType, Type as Physical};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use crate::footer::span;
use crate::guard::guarded;
use crate::thrift::check_page_header;
use crate::value::{Raw, datum};

/// Where the dictionary page of a chunk lies whose every data page is known to be encoded with it.
/// `None` when a page may hold other values, or when there is no way to know.
pub fn dictionary_span(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let dictionary = Encoding::RLE_DICTIONARY;
    #[allow(deprecated)]
    let older = Encoding::PLAIN_DICTIONARY;
    let only = match (
        chunk.page_encoding_stats_mask(),
        chunk.page_encoding_stats(),
    ) {
        (Some(mask), _) => mask.is_only(dictionary) || mask.is_only(older),
        (None, Some(pages)) => {
            let is_data =
                |page: PageType| matches!(page, PageType::DATA_PAGE | PageType::DATA_PAGE_V2);
            let mut data = pages
                .iter()
                .filter(|page| is_data(page.page_type))
                .peekable();
            data.peek().is_some()
                && data.all(|page| page.encoding == dictionary || page.encoding == older)
        }
        (None, None) => false,
    };
    let start = chunk.dictionary_page_offset().filter(|_| only)?;
    let length = chunk.data_page_offset().checked_sub(start)?;
    span(start, length).filter(|range| !range.is_empty())
}

/// The values of a dictionary page; `None` when it cannot be read as such, or a value is of no kind that
/// a predicate knows.
pub fn dictionary_values(
    bytes: &Bytes,
    chunk: &ColumnChunkMetaData,
    file_type: &DataType,
) -> Option<Vec<Datum>> {
    check_page_header(bytes).ok()?;
    let page = guarded("", || {
        let reader = SerializedPageReader::new(Arc::new(bytes.clone()), &at_start(chunk)?, 0, None);
        reader?.get_next_page()
    });
    match page.ok()?? {
        Page::DictionaryPage {
            buf, num_values, ..
        } => plain(&buf, num_values, chunk, file_type),
        _ => None,
    }
}

/// The chunk as if nothing but its dictionary page were in a file.
fn at_start(chunk: &ColumnChunkMetaData) -> parquet::errors::Result<ColumnChunkMetaData> {
    let length = chunk.data_page_offset() - chunk.dictionary_page_offset().unwrap_or_default();
    ColumnChunkMetaData::builder(chunk.column_descr_ptr())
        .set_compression_codec(chunk.compression_codec())
        .set_dictionary_page_offset(Some(0))
        .set_data_page_offset(length)
        .set_total_compressed_size(length)
        .set_num_values(1)
        .build()
}

fn plain(
    buffer: &[u8],
    count: u32,
    chunk: &ColumnChunkMetaData,
    file_type: &DataType,
) -> Option<Vec<Datum>> {
    let mut rest = buffer;
    // What a page says of its length is not trusted with memory.
    let mut values = Vec::new();
    for _ in 0..count {
        let raw = match chunk.column_type() {
            Physical::INT32 => Raw::Int32(i32::from_le_bytes(fixed(&mut rest)?)),
            Physical::INT64 => Raw::Int64(i64::from_le_bytes(fixed(&mut rest)?)),
            Physical::FLOAT => Raw::Float(f32::from_le_bytes(fixed(&mut rest)?)),
            Physical::DOUBLE => Raw::Double(f64::from_le_bytes(fixed(&mut rest)?)),
            Physical::BYTE_ARRAY => {
                let length = u32::from_le_bytes(fixed(&mut rest)?);
                Raw::Bytes(split(&mut rest, usize::try_from(length).ok()?)?)
            }
            Physical::FIXED_LEN_BYTE_ARRAY => {
                let length = usize::try_from(chunk.column_descr().type_length()).ok()?;
                Raw::Bytes(split(&mut rest, length)?)
            }
            Physical::BOOLEAN | Physical::INT96 => return None,
        };
        values.push(datum(raw, file_type)?);
    }
    Some(values)
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn split<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Decimal128Array, Int32Array, StringArray};
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::file::properties::{WriterProperties, WriterVersion};

    use super::*;
    use crate::one_column::written;

    fn values(column: ArrayRef) -> Option<Vec<Datum>> {
        let kind = column.data_type().clone();
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder()
            .set_compression(compression)
            // The first version has no dictionaries of fixed-length values.
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .build();
        let (file, metadata) = written(column, properties);
        let chunk = metadata.row_group(0).column(0);
        let span = dictionary_span(chunk)?;
        let place = |offset| usize::try_from(offset).unwrap();
        dictionary_values(
            &file.slice(place(span.start)..place(span.end)),
            chunk,
            &kind,
        )
    }

    #[test]
    fn a_dictionary_has_each_value_once() {
        let texts = StringArray::from(vec![Some("b"), None, Some("a"), Some("b")]);
        assert_eq!(
            values(Arc::new(texts)),
            Some(vec![Datum::text("b"), Datum::text("a")])
        );
        let ints = Int32Array::from(vec![3, -3, 3]);
        assert_eq!(
            values(Arc::new(ints)),
            Some(vec![Datum::Int(3), Datum::Int(-3)])
        );
        let decimals = Decimal128Array::from(vec![5, 5])
            .with_precision_and_scale(30, 2)
            .unwrap();
        assert_eq!(values(Arc::new(decimals)).unwrap().len(), 1);
    }

    #[test]
    fn a_chunk_that_fell_back_to_plain_pages_has_none() {
        let many: Vec<String> = (0..20_000).map(|number| format!("text {number}")).collect();
        let properties = WriterProperties::builder()
            .set_dictionary_page_size_limit(1_000)
            .build();
        let (_, metadata) = written(Arc::new(StringArray::from(many)), properties);
        assert_eq!(dictionary_span(metadata.row_group(0).column(0)), None);
    }

    #[test]
    fn bytes_that_are_no_dictionary_are_none() {
        let (file, metadata) = written(
            Arc::new(Int32Array::from(vec![1, 2])),
            WriterProperties::default(),
        );
        let chunk = metadata.row_group(0).column(0);
        for bytes in [
            file.slice(0..0),
            file.slice(0..4),
            Bytes::from(vec![0xff; 100]),
        ] {
            assert_eq!(dictionary_values(&bytes, chunk, &DataType::Int32), None);
        }
    }
}
