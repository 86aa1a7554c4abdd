//! The structures of parquet.thrift as far as the Parquet crate decodes them. A field that is not here is
//! one that it skips.

/// Wire types of the compact protocol.
pub(super) mod wire {
    pub(in crate::thrift) const STOP: u8 = 0;
    pub(in crate::thrift) const TRUE: u8 = 1;
    pub(in crate::thrift) const FALSE: u8 = 2;
    pub(in crate::thrift) const BYTE: u8 = 3;
    pub(in crate::thrift) const I16: u8 = 4;
    pub(in crate::thrift) const I32: u8 = 5;
    pub(in crate::thrift) const I64: u8 = 6;
    pub(in crate::thrift) const DOUBLE: u8 = 7;
    pub(in crate::thrift) const BINARY: u8 = 8;
    pub(in crate::thrift) const LIST: u8 = 9;
    pub(in crate::thrift) const SET: u8 = 10;
    pub(in crate::thrift) const MAP: u8 = 11;
    pub(in crate::thrift) const STRUCT: u8 = 12;
    pub(in crate::thrift) const UUID: u8 = 13;
}

/// Fields of a structure by their ids.
pub(crate) type Fields = &'static [(i16, Kind)];

/// What the decoder takes a field for.
#[derive(Debug)]
pub(crate) enum Kind {
    Bool,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List(&'static Kind),
    Struct(Fields),
    /// A node of the schema.
    Node(Fields),
    /// The number of children of a node.
    Children,
}

impl Kind {
    /// The type of such a field in the bytes; booleans have two.
    pub(super) fn wire(&self) -> u8 {
        match self {
            Self::Bool => wire::TRUE,
            Self::Byte => wire::BYTE,
            Self::I16 => wire::I16,
            Self::I32 | Self::Children => wire::I32,
            Self::I64 => wire::I64,
            Self::Double => wire::DOUBLE,
            Self::Binary => wire::BINARY,
            Self::List(_) => wire::LIST,
            Self::Struct(_) | Self::Node(_) => wire::STRUCT,
        }
    }

    pub(super) fn fields(&self) -> Option<Fields> {
        match self {
            Self::Struct(fields) | Self::Node(fields) => Some(fields),
            _ => None,
        }
    }
}

/// `FileMetaData`.
pub(crate) const FILE: Fields = &[
    (1, Kind::I32),
    (2, Kind::List(&Kind::Node(SCHEMA_ELEMENT))),
    (3, Kind::I64),
    (4, Kind::List(&Kind::Struct(ROW_GROUP))),
    (5, KEY_VALUES),
    (6, Kind::Binary),
    (7, Kind::List(&Kind::Struct(&[(1, EMPTY)]))),
];

/// `OffsetIndex`.
pub(crate) const OFFSET_INDEX: Fields = &[
    (1, Kind::List(&Kind::Struct(PAGE_LOCATION))),
    (2, Kind::List(&Kind::I64)),
];

/// `ColumnIndex`.
pub(crate) const COLUMN_INDEX: Fields = &[
    (1, Kind::List(&Kind::Bool)),
    (2, Kind::List(&Kind::Binary)),
    (3, Kind::List(&Kind::Binary)),
    (4, Kind::I32),
    (5, Kind::List(&Kind::I64)),
    (6, Kind::List(&Kind::I64)),
    (7, Kind::List(&Kind::I64)),
];

/// `PageHeader`. The statistics in it are skipped.
pub(crate) const PAGE_HEADER: Fields = &[
    (1, Kind::I32),
    (2, Kind::I32),
    (3, Kind::I32),
    (4, Kind::I32),
    (
        5,
        Kind::Struct(&[
            (1, Kind::I32),
            (2, Kind::I32),
            (3, Kind::I32),
            (4, Kind::I32),
        ]),
    ),
    (6, EMPTY),
    (
        7,
        Kind::Struct(&[(1, Kind::I32), (2, Kind::I32), (3, Kind::Bool)]),
    ),
    (
        8,
        Kind::Struct(&[
            (1, Kind::I32),
            (2, Kind::I32),
            (3, Kind::I32),
            (4, Kind::I32),
            (5, Kind::I32),
            (6, Kind::I32),
            (7, Kind::Bool),
        ]),
    ),
];

const EMPTY: Kind = Kind::Struct(&[]);

const KEY_VALUES: Kind = Kind::List(&Kind::Struct(&[(1, Kind::Binary), (2, Kind::Binary)]));

const SCHEMA_ELEMENT: Fields = &[
    (1, Kind::I32),
    (2, Kind::I32),
    (3, Kind::I32),
    (4, Kind::Binary),
    (5, Kind::Children),
    (6, Kind::I32),
    (7, Kind::I32),
    (8, Kind::I32),
    (9, Kind::I32),
    (10, Kind::Struct(LOGICAL_TYPE)),
];

const LOGICAL_TYPE: Fields = &[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Kind::Struct(&[(1, Kind::I32), (2, Kind::I32)])),
    (6, EMPTY),
    (7, CLOCK),
    (8, CLOCK),
    (10, Kind::Struct(&[(1, Kind::Byte), (2, Kind::Bool)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Kind::Struct(&[(1, Kind::Byte)])),
    (17, Kind::Struct(&[(1, Kind::Binary)])),
    (18, Kind::Struct(&[(1, Kind::Binary), (2, Kind::I32)])),
];

/// `TimeType` and `TimestampType`.
const CLOCK: Kind = Kind::Struct(&[
    (1, Kind::Bool),
    (2, Kind::Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)])),
]);

const ROW_GROUP: Fields = &[
    (1, Kind::List(&Kind::Struct(COLUMN_CHUNK))),
    (2, Kind::I64),
    (3, Kind::I64),
    (
        4,
        Kind::List(&Kind::Struct(&[
            (1, Kind::I32),
            (2, Kind::Bool),
            (3, Kind::Bool),
        ])),
    ),
    (5, Kind::I64),
    (7, Kind::I16),
];

const COLUMN_CHUNK: Fields = &[
    (1, Kind::Binary),
    (2, Kind::I64),
    (3, Kind::Struct(COLUMN_METADATA)),
    (4, Kind::I64),
    (5, Kind::I32),
    (6, Kind::I64),
    (7, Kind::I32),
];

const COLUMN_METADATA: Fields = &[
    (1, Kind::I32),
    (2, Kind::List(&Kind::I32)),
    (4, Kind::I32),
    (5, Kind::I64),
    (6, Kind::I64),
    (7, Kind::I64),
    (9, Kind::I64),
    (10, Kind::I64),
    (11, Kind::I64),
    (12, Kind::Struct(STATISTICS)),
    (
        13,
        Kind::List(&Kind::Struct(&[
            (1, Kind::I32),
            (2, Kind::I32),
            (3, Kind::I32),
        ])),
    ),
    (14, Kind::I64),
    (15, Kind::I32),
    (
        16,
        Kind::Struct(&[
            (1, Kind::I64),
            (2, Kind::List(&Kind::I64)),
            (3, Kind::List(&Kind::I64)),
        ]),
    ),
    (
        17,
        Kind::Struct(&[(1, Kind::Struct(BOUNDING_BOX)), (2, Kind::List(&Kind::I32))]),
    ),
];

const STATISTICS: Fields = &[
    (1, Kind::Binary),
    (2, Kind::Binary),
    (3, Kind::I64),
    (4, Kind::I64),
    (5, Kind::Binary),
    (6, Kind::Binary),
    (7, Kind::Bool),
    (8, Kind::Bool),
];

const BOUNDING_BOX: Fields = &[
    (1, Kind::Double),
    (2, Kind::Double),
    (3, Kind::Double),
    (4, Kind::Double),
    (5, Kind::Double),
    (6, Kind::Double),
    (7, Kind::Double),
    (8, Kind::Double),
];

const PAGE_LOCATION: Fields = &[(1, Kind::I64), (2, Kind::I32), (3, Kind::I64)];
