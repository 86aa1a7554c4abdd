//! The form in which facts lie in the database's BLOB and TEXT columns, and the way back.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use model::{ColumnBounds, ColumnMapping, FieldId, FilePiece, TableSchema};
use prost::Message;
use wire::convert::{decode_bounds, encode_bounds};
use wire::proto;

use crate::error::CatalogError;
use crate::table::{Columns, RawPartition, TableKind};

#[derive(Clone, PartialEq, Message)]
struct BoundsRecord {
    #[prost(message, repeated, tag = "1")]
    columns: Vec<proto::ColumnBounds>,
}

#[derive(Clone, PartialEq, Message)]
struct PartitionRecord {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct PartitionsRecord {
    #[prost(message, repeated, tag = "1")]
    values: Vec<PartitionRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct PiecesRecord {
    #[prost(message, repeated, tag = "1")]
    pieces: Vec<proto::FilePiece>,
}

/// Encodes pieces of a file.
pub(super) fn encode_pieces(pieces: &[FilePiece]) -> Vec<u8> {
    let pieces = pieces.iter().map(Into::into).collect();
    PiecesRecord { pieces }.encode_to_vec()
}

/// Decodes pieces of a file.
pub(super) fn decode_pieces(bytes: &[u8]) -> Result<Vec<FilePiece>, CatalogError> {
    let record = PiecesRecord::decode(bytes).map_err(CatalogError::stored("page indexes"))?;
    Ok(record.pieces.into_iter().map(Into::into).collect())
}

/// Encodes the bounds of a file.
pub(super) fn encode_file_bounds(bounds: &[(FieldId, ColumnBounds)]) -> Vec<u8> {
    let columns = bounds
        .iter()
        .map(|(field, bounds)| encode_bounds(*field, bounds));
    BoundsRecord {
        columns: columns.collect(),
    }
    .encode_to_vec()
}

/// Decodes the bounds of a file.
pub(super) fn decode_file_bounds(
    bytes: &[u8],
) -> Result<Vec<(FieldId, ColumnBounds)>, CatalogError> {
    let record = BoundsRecord::decode(bytes).map_err(CatalogError::stored("bounds"))?;
    let columns = record.columns.into_iter().map(decode_bounds);
    columns
        .collect::<Result<_, _>>()
        .map_err(CatalogError::stored("bounds"))
}

/// Encodes the partition values of a path.
pub(super) fn encode_partitions(values: &[RawPartition]) -> Vec<u8> {
    let values = values.iter().map(|(name, value)| PartitionRecord {
        name: name.clone(),
        value: value.clone(),
    });
    PartitionsRecord {
        values: values.collect(),
    }
    .encode_to_vec()
}

/// Decodes the partition values of a path.
pub(super) fn decode_partitions(bytes: &[u8]) -> Result<Vec<RawPartition>, CatalogError> {
    let record = PartitionsRecord::decode(bytes).map_err(CatalogError::stored("partitions"))?;
    let values = record.values.into_iter();
    Ok(values.map(|value| (value.name, value.value)).collect())
}

/// Decodes an Arrow schema.
pub(super) fn decode_schema(bytes: &[u8]) -> Result<SchemaRef, CatalogError> {
    wire::schema::decode_schema(bytes).map_err(CatalogError::stored("schema"))
}

/// The ids of the partition columns as JSON.
pub(super) fn encode_ids(ids: &[FieldId]) -> String {
    let ids: serde_json::Value = ids.iter().map(|id| id.0).collect();
    ids.to_string()
}

/// Decodes the columns of a snapshot.
pub(super) fn decode_columns(schema: &[u8], ids: &str) -> Result<Columns, CatalogError> {
    let schema = decode_schema(schema)?;
    let schema =
        TableSchema::try_new(Arc::clone(&schema)).map_err(CatalogError::stored("schema"))?;
    let ids: Vec<i32> =
        serde_json::from_str(ids).map_err(CatalogError::stored("partition field ids"))?;
    Ok(Columns {
        schema,
        partition_fields: ids.into_iter().map(FieldId).collect(),
    })
}

/// A table kind as text.
pub(super) fn kind_text(kind: TableKind) -> &'static str {
    match kind {
        TableKind::Listing => "listing",
        TableKind::Managed => "managed",
    }
}

/// A table kind from text.
pub(super) fn kind_of(text: &str) -> Result<TableKind, CatalogError> {
    match text {
        "listing" => Ok(TableKind::Listing),
        "managed" => Ok(TableKind::Managed),
        other => Err(CatalogError::stored("table kind")(other)),
    }
}

/// A column mapping as text.
pub(super) fn mapping_text(mapping: ColumnMapping) -> &'static str {
    match mapping {
        ColumnMapping::ByName => "name",
        ColumnMapping::ByFieldId => "field-id",
    }
}

/// A column mapping from text.
pub(super) fn mapping_of(text: &str) -> Result<ColumnMapping, CatalogError> {
    match text {
        "name" => Ok(ColumnMapping::ByName),
        "field-id" => Ok(ColumnMapping::ByFieldId),
        other => Err(CatalogError::stored("column mapping")(other)),
    }
}

#[cfg(test)]
mod tests {
    use model::{Bound, Datum};

    use super::*;

    #[test]
    fn facts_survive_the_way_there_and_back() {
        let bounds = vec![(
            FieldId(2),
            ColumnBounds {
                lower: Some(Bound::outer(Datum::text("ä"))),
                null_count: Some(0),
                ..ColumnBounds::default()
            },
        )];
        assert_eq!(
            decode_file_bounds(&encode_file_bounds(&bounds)).unwrap(),
            bounds
        );
        let partitions = vec![
            ("a=b".to_owned(), Some(String::new())),
            ("c".to_owned(), None),
        ];
        assert_eq!(
            decode_partitions(&encode_partitions(&partitions)).unwrap(),
            partitions
        );
        assert!(decode_file_bounds(&[0xff]).is_err());
    }
}
