-- What the footers of files say, column by column, so that a scan can be given what it would otherwise have
-- to read first.

CREATE TABLE footers (
    file_id INTEGER PRIMARY KEY REFERENCES files (file_id) ON DELETE CASCADE,
    -- Protobuf: the footer's part of each column; of none when it is too large to be kept.
    columns BLOB NOT NULL
) STRICT;
