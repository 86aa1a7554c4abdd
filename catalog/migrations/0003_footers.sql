-- What the footers of files say, column by column, so that a scan can be given what it would otherwise have
-- to read first. No part of a table's state.

CREATE TABLE footers (
    file_id INTEGER PRIMARY KEY REFERENCES files (file_id) ON DELETE CASCADE,
    -- How the parts are to be understood; those of another form are as good as none.
    form    INTEGER NOT NULL,
    -- Bytes of all parts; none of a footer that is too large to be kept.
    bytes   INTEGER NOT NULL
) STRICT;

CREATE TABLE footer_columns (
    file_id        INTEGER NOT NULL REFERENCES footers (file_id) ON DELETE CASCADE,
    -- Among the file's top-level columns, from 0.
    position       INTEGER NOT NULL,
    name           TEXT    NOT NULL,
    field_id       INTEGER,
    -- Thrift FileMetaData, as if the file had this column only.
    footer         BLOB    NOT NULL,
    -- Protobuf: pieces of the file.
    column_indexes BLOB    NOT NULL,
    offset_indexes BLOB    NOT NULL,
    PRIMARY KEY (file_id, position)
) STRICT;
