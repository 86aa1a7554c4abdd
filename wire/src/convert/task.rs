//! Tables, files and scan tasks.

use model::{
    ByteSpan, ColumnMapping, DataFile, Datum, FieldId, FilePiece, FooterColumn, LearnedFooter,
    PartitionValue, RowRange, ScanTask, TableName,
};

use super::{DecodeError, required};
use crate::proto;

impl From<&TableName> for proto::TableName {
    fn from(name: &TableName) -> Self {
        Self {
            schema: name.schema.clone(),
            table: name.table.clone(),
        }
    }
}

impl From<proto::TableName> for TableName {
    fn from(name: proto::TableName) -> Self {
        Self {
            schema: name.schema,
            table: name.table,
        }
    }
}

impl From<&DataFile> for proto::DataFile {
    fn from(file: &DataFile) -> Self {
        Self {
            path: file.path.clone(),
            size: file.size,
            version: file.version.clone(),
            record_count: file.record_count,
            footer_length: file.footer_length,
            page_index: file.page_index.map(|span| proto::ByteSpan {
                start: span.start,
                length: span.length,
            }),
        }
    }
}

impl From<proto::DataFile> for DataFile {
    fn from(file: proto::DataFile) -> Self {
        Self {
            path: file.path,
            size: file.size,
            version: file.version,
            record_count: file.record_count,
            footer_length: file.footer_length,
            page_index: file.page_index.map(|span| ByteSpan {
                start: span.start,
                length: span.length,
            }),
        }
    }
}

impl From<&ScanTask> for proto::ScanTask {
    fn from(task: &ScanTask) -> Self {
        let value = |value: &PartitionValue| proto::PartitionValue {
            field_id: value.field.0,
            value: value.value.as_ref().map(Into::into),
        };
        Self {
            file: Some((&task.file).into()),
            rows: task.rows.map(|rows| proto::RowRange {
                start: rows.start,
                end: rows.end,
            }),
            partition_values: task.partition_values.iter().map(value).collect(),
            footer: task.footer.iter().map(Into::into).collect(),
            footer_wanted: task.footer_wanted,
        }
    }
}

impl TryFrom<proto::ScanTask> for ScanTask {
    type Error = DecodeError;

    fn try_from(task: proto::ScanTask) -> Result<Self, DecodeError> {
        let value = |value: proto::PartitionValue| {
            let datum = value.value.map(Datum::try_from).transpose()?;
            Ok(PartitionValue {
                field: FieldId(value.field_id),
                value: datum,
            })
        };
        let values = task.partition_values.into_iter().map(value);
        Ok(Self {
            file: required(task.file, "file")?.into(),
            rows: task.rows.map(|rows| RowRange {
                start: rows.start,
                end: rows.end,
            }),
            partition_values: values.collect::<Result<_, DecodeError>>()?,
            footer: task.footer.into_iter().map(Into::into).collect(),
            footer_wanted: task.footer_wanted,
        })
    }
}

impl From<&FilePiece> for proto::FilePiece {
    fn from(piece: &FilePiece) -> Self {
        Self {
            start: piece.start,
            bytes: piece.bytes.clone(),
        }
    }
}

impl From<proto::FilePiece> for FilePiece {
    fn from(piece: proto::FilePiece) -> Self {
        Self {
            start: piece.start,
            bytes: piece.bytes,
        }
    }
}

impl From<&FooterColumn> for proto::FooterColumn {
    fn from(column: &FooterColumn) -> Self {
        Self {
            name: column.name.clone(),
            field_id: column.field_id,
            footer: column.footer.clone(),
            column_indexes: column.column_indexes.iter().map(Into::into).collect(),
            offset_indexes: column.offset_indexes.iter().map(Into::into).collect(),
        }
    }
}

impl From<proto::FooterColumn> for FooterColumn {
    fn from(column: proto::FooterColumn) -> Self {
        let pieces = |pieces: Vec<proto::FilePiece>| pieces.into_iter().map(Into::into).collect();
        Self {
            name: column.name,
            field_id: column.field_id,
            footer: column.footer,
            column_indexes: pieces(column.column_indexes),
            offset_indexes: pieces(column.offset_indexes),
        }
    }
}

impl From<&LearnedFooter> for proto::LearnedFooter {
    fn from(footer: &LearnedFooter) -> Self {
        Self {
            path: footer.path.clone(),
            size: footer.size,
            version: footer.version.clone(),
            columns: footer.columns.iter().map(Into::into).collect(),
        }
    }
}

impl From<proto::LearnedFooter> for LearnedFooter {
    fn from(footer: proto::LearnedFooter) -> Self {
        Self {
            path: footer.path,
            size: footer.size,
            version: footer.version,
            columns: footer.columns.into_iter().map(Into::into).collect(),
        }
    }
}

/// Encodes how columns are found in files.
pub fn encode_mapping(mapping: ColumnMapping) -> i32 {
    match mapping {
        ColumnMapping::ByName => proto::ColumnMapping::ByName,
        ColumnMapping::ByFieldId => proto::ColumnMapping::ByFieldId,
    }
    .into()
}

/// Decodes how columns are found in files.
///
/// # Errors
/// When the value is unknown.
pub fn decode_mapping(mapping: i32) -> Result<ColumnMapping, DecodeError> {
    match proto::ColumnMapping::try_from(mapping) {
        Ok(proto::ColumnMapping::ByName) => Ok(ColumnMapping::ByName),
        Ok(proto::ColumnMapping::ByFieldId) => Ok(ColumnMapping::ByFieldId),
        _ => Err(DecodeError::new(
            "column mapping",
            format!("unknown value {mapping}"),
        )),
    }
}
