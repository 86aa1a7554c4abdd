//! Footers take one request with a hint and at most two without; hostile bytes give errors.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use object_store::PutOptions;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::*;
use crate::open::Stores;

/// A file with many small row groups, so that its footer is longer than a local tail guess.
fn file(groups: i64) -> Vec<u8> {
    let schema = Schema::new(vec![
        Field::new("a", DataType::Int64, false),
        Field::new("b", DataType::Utf8, false),
    ]);
    let schema = Arc::new(schema);
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1))
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties)).unwrap();
    let a = Int64Array::from_iter_values(0..groups);
    let b = StringArray::from_iter_values((0..groups).map(|n| format!("value {n}")));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(a), Arc::new(b)]).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

async fn stored(bytes: Vec<u8>) -> Ledger {
    let location = Stores::from_env().resolve("memory:///t/x.parquet").unwrap();
    let options = PutOptions::default();
    location
        .store
        .put_opts(&location.path, bytes.into(), options)
        .await
        .unwrap();
    Ledger::new(location)
}

async fn read(bytes: Vec<u8>) -> Result<Footer, StoreError> {
    let size = bytes.len() as u64;
    read_footer(&stored(bytes).await, Some(size), FooterHint::default()).await
}

#[tokio::test]
async fn one_request_is_enough_with_a_hint_or_a_short_footer() {
    let bytes = file(3);
    let size = bytes.len() as u64;
    let ledger = stored(bytes).await;
    let footer = read_footer(&ledger, Some(size), FooterHint::default())
        .await
        .unwrap();
    assert_eq!(footer.metadata.num_row_groups(), 3);
    assert_eq!(ledger.counts().requests, 1);
    let span = footer.page_index.unwrap();
    assert_eq!(span.start + span.length, size - footer.footer_length);

    let again = Ledger::new(ledger.location().clone());
    let hint = FooterHint {
        footer_length: Some(footer.footer_length),
        ..FooterHint::default()
    };
    read_footer(&again, Some(size), hint).await.unwrap();
    assert_eq!(again.entries()[0].range, size - footer.footer_length..size);

    let whole = Ledger::new(ledger.location().clone());
    let columns = FooterHint {
        columns: true,
        ..hint
    };
    read_footer(&whole, Some(size), columns).await.unwrap();
    assert_eq!(whole.entries()[0].range, 0..size);
    assert_eq!(whole.entries()[0].why, "whole file");

    let with_index = Ledger::new(ledger.location().clone());
    let hint = FooterHint {
        page_index: Some(span),
        ..hint
    };
    let footer = read_footer(&with_index, Some(size), hint).await.unwrap();
    assert_eq!(with_index.entries()[0].range, span.start..size);
    assert!(
        footer
            .tail
            .get(&(span.start..span.start + span.length))
            .is_some()
    );
}

#[tokio::test]
async fn a_long_footer_takes_two_requests_and_no_byte_twice() {
    let bytes = file(1000);
    let size = bytes.len() as u64;
    let ledger = stored(bytes).await;
    let footer = read_footer(&ledger, Some(size), FooterHint::default())
        .await
        .unwrap();
    assert_eq!(footer.metadata.num_row_groups(), 1000);
    let counts = ledger.counts();
    assert_eq!((counts.requests, counts.waves), (2, 2));
    assert_eq!(counts.bytes_fetched, footer.footer_length);
}

#[tokio::test]
async fn a_file_of_unknown_size_is_read_from_its_end() {
    let bytes = file(2);
    let size = bytes.len() as u64;
    let ledger = stored(bytes).await;
    let footer = read_footer(&ledger, None, FooterHint::default())
        .await
        .unwrap();
    assert_eq!((footer.size, ledger.counts().requests), (size, 1));
}

#[tokio::test]
async fn broken_files_give_an_error_that_names_them() {
    let good = file(3);
    let footer = good.len() - 8;
    let mut long_footer = good.clone();
    long_footer[footer..footer + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut short_footer = good.clone();
    short_footer[footer..footer + 4].copy_from_slice(&5u32.to_le_bytes());
    let mut encrypted = good.clone();
    encrypted[footer + 4..].copy_from_slice(b"PARE");
    let garbage = [
        b"PAR1".to_vec(),
        vec![0xff; 100],
        vec![100, 0, 0, 0],
        b"PAR1".to_vec(),
    ]
    .concat();
    let cases = [
        (vec![], "is not a Parquet file"),
        (b"PAR1".to_vec(), "is not a Parquet file"),
        (
            b"this is text, not a table\n".to_vec(),
            "is not a Parquet file",
        ),
        (good[..good.len() - 20].to_vec(), "is not a Parquet file"),
        (
            long_footer,
            "is truncated: its footer says 4294967303 bytes",
        ),
        (short_footer, "is corrupt"),
        (encrypted, "is not supported: its footer is encrypted"),
        (garbage, "is corrupt"),
        (
            [vec![0; 20], good[good.len() - 100..].to_vec()].concat(),
            "memory:///t/x.parquet",
        ),
    ];
    for (bytes, message) in cases {
        let error = read(bytes).await.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(error.starts_with("memory:///t/x.parquet"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[tokio::test]
async fn footers_made_to_exhaust_the_reader_are_refused() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0x07];
    let node = |children: &[u8]| [&[0x48, 1, b'a', 0x15][..], children, &[0]].concat();
    let deep = [
        &[0x29, 0xfc, 0xff, 0xff, 0x03][..],
        &node(&[2]).repeat(65_535),
    ]
    .concat();
    let cases = [
        [
            &[0x29, 0x2c][..],
            &node(&[0xfe, 0xff, 0xff, 0xff, 0x0f]),
            &node(&[0]),
            &[0],
        ]
        .concat(),
        [deep, vec![0]].concat(),
        [
            &[0x15, 2, 0x19, 0x1c][..],
            &node(&[0]),
            &[0x16, 2, 0x19, 0xfc],
            &huge,
        ]
        .concat(),
        [&[0x09, 0xc8, 0x01, 0xf2][..], &huge, &[0]].concat(),
    ];
    for footer in cases {
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        let bytes = [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat();
        let error = read(bytes).await.unwrap_err().to_string();
        assert!(
            error.contains("is corrupt: its footer is broken"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn no_single_flipped_byte_or_cut_brings_it_down() {
    let good = file(2);
    for position in (good.len() - 500).max(4)..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[position] ^= flip;
            let size = bytes.len() as u64;
            let ledger = stored(bytes).await;
            let Ok(footer) = read_footer(&ledger, Some(size), FooterHint::default()).await else {
                continue;
            };
            use_everything(&ledger, &footer).await;
        }
    }
    for length in 0..good.len() {
        assert!(
            read(good[..length].to_vec()).await.is_err(),
            "cut at {length}"
        );
    }
}

async fn use_everything(ledger: &Ledger, footer: &Footer) {
    let Ok(schema) = crate::arrow_schema("x", &footer.metadata) else {
        return;
    };
    let table = model::TableSchema::numbered(&schema);
    let mapping = model::ColumnMapping::ByName;
    let columns = crate::match_columns("x", &footer.metadata, &table, mapping).unwrap();
    crate::file_bounds(&footer.metadata, &columns);
    let wanted = crate::IndexesWanted {
        row_groups: &[0, 1],
        judged: &[0, 1],
        read: &[],
    };
    let indexes = crate::read_page_indexes(ledger, footer, wanted)
        .await
        .unwrap();
    for column in columns.columns.iter().flatten() {
        if let Some(index) = indexes.chunk(0, column.leaves.start) {
            crate::page_bounds(&footer.metadata, 0, column, index);
        }
    }
}
