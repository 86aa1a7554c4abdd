//! Footers by column, so that a scan can be given those of the columns that it reads and needs no request
//! for them. What is in them only a Parquet decoder knows.

/// Some bytes of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct FilePiece {
    /// Offset of the first byte.
    pub start: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What a Parquet footer says of one top-level column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FooterColumn {
    /// The column's name in the file.
    pub name: String,
    /// The column's field id in the file.
    pub field_id: Option<i32>,
    /// The footer as it would be if the file had this column only (Thrift `FileMetaData`).
    pub footer: Vec<u8>,
    /// The column indexes of its chunks, as far as they are known.
    pub column_indexes: Vec<FilePiece>,
    /// The offset indexes of its chunks, as far as they are known.
    pub offset_indexes: Vec<FilePiece>,
}

impl FooterColumn {
    /// Bytes that it takes in a ticket, about.
    pub fn size(&self) -> usize {
        let pieces = self.column_indexes.iter().chain(&self.offset_indexes);
        let pieces: usize = pieces.map(|piece| piece.bytes.len() + 8).sum();
        self.name.len() + self.footer.len() + pieces
    }
}

/// A footer that a scan has read and that its catalog does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedFooter {
    /// The file's URL.
    pub path: String,
    /// The file's size.
    pub size: u64,
    /// The file's version, without which nobody could tell whether it still holds.
    pub version: String,
    /// The footer, column by column; none when it is too large to be kept.
    pub columns: Vec<FooterColumn>,
}

impl std::fmt::Debug for FilePiece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = self.start + self.bytes.len() as u64;
        write!(f, "FilePiece({}..{end})", self.start)
    }
}
