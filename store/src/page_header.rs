//! What the header of a page says of the page. Pure.

use crate::thrift::raw::{Field, fields_and_length, number};
use crate::thrift::{Flaw, check_page_header};

/// No sound header is longer, statistics included.
const LONGEST_HEADER: usize = 16 * 1024 * 1024;

// Ids of `PageHeader`.
const COMPRESSED_SIZE: i16 = 3;
const DATA: i16 = 5;
const DICTIONARY: i16 = 7;
const DATA_V2: i16 = 8;

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHeader {
    /// Bytes of the header itself.
    pub length: u64,
    /// Bytes of the page behind it.
    pub page: u64,
    /// Values of a data page, nulls included; none of other pages. Of a column that is neither repeated nor
    /// in a list these are its rows.
    pub values: u64,
    /// Whether it is a dictionary.
    pub is_dictionary: bool,
}

/// The header that the bytes begin with, or `None` when it goes on behind them.
///
/// # Errors
/// What is wrong with it.
pub fn page_header(bytes: &[u8]) -> Result<Option<PageHeader>, String> {
    let broken = |flaw: Flaw| format!("a page header is broken: {flaw}");
    let (fields, length) = match fields_and_length(bytes) {
        Ok(parsed) => parsed,
        Err(Flaw::Short | Flaw::List) if bytes.len() < LONGEST_HEADER => return Ok(None),
        Err(flaw) => return Err(broken(flaw)),
    };
    check_page_header(bytes)?;
    let find = |id| fields.iter().find(|field| field.id == id);
    let count = |field: &Field<'_>| {
        let count = number(field.value).map_err(broken)?;
        u64::try_from(count).map_err(|_| broken(Flaw::Type))
    };
    let page = find(COMPRESSED_SIZE).ok_or_else(|| broken(Flaw::Short))?;
    let values = match find(DATA).or_else(|| find(DATA_V2)) {
        None => 0,
        Some(data) => {
            let (inner, _) = fields_and_length(data.value).map_err(broken)?;
            let values = inner.iter().find(|field| field.id == 1);
            count(values.ok_or_else(|| broken(Flaw::Short))?)?
        }
    };
    Ok(Some(PageHeader {
        length: length as u64,
        page: count(page)?,
        values,
        is_dictionary: find(DICTIONARY).is_some(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thrift::raw::Structure;

    fn header(id: i16, values: i32) -> Vec<u8> {
        let mut data = Structure::default();
        data.i32(1, values);
        let data = data.end();
        let mut header = Structure::default();
        header.i32(1, 0);
        header.i32(2, 900);
        header.i32(3, 300);
        header.structure(id, &data);
        header.end()
    }

    #[test]
    fn a_header_says_how_long_its_page_is_and_what_it_holds() {
        for (id, values, is_dictionary) in [
            (DATA, 70, false),
            (DATA_V2, 70, false),
            (DICTIONARY, 0, true),
        ] {
            let bytes = header(id, 70);
            let expected = PageHeader {
                length: bytes.len() as u64,
                page: 300,
                values,
                is_dictionary,
            };
            let longer = [bytes.as_slice(), &[1, 2, 3]].concat();
            assert_eq!(page_header(&longer), Ok(Some(expected)));
            for end in 0..bytes.len() {
                assert_eq!(page_header(&bytes[..end]), Ok(None), "{end}");
            }
        }
    }

    #[test]
    fn a_broken_header_is_refused() {
        assert!(page_header(&header(DATA, -1)).is_err());
        assert!(page_header(&[0x1f, 1, 0]).is_err());
        assert!(page_header(&[0]).is_err());
    }
}
