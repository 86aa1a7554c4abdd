-- Tables, their snapshots and files, and the query log.
--
-- A file row is a fact that never changes: it lives from the sequence number that added it until the
-- one that removed it, so that every older snapshot can still be planned.

CREATE TABLE tables (
    table_id          INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_name       TEXT    NOT NULL,
    table_name        TEXT    NOT NULL,
    kind              TEXT    NOT NULL CHECK (kind IN ('listing', 'managed')),
    location          TEXT    NOT NULL,
    mapping           TEXT    NOT NULL CHECK (mapping IN ('name', 'field-id')),
    -- JSON array of names; empty when every key=value folder is a column.
    partition_columns TEXT    NOT NULL,
    -- Arrow IPC message of the columns that the user declared.
    declared_schema   BLOB,
    -- Field ids are never used again, so the largest outlives the column that had it.
    last_field_id     INTEGER NOT NULL,
    current_snapshot  INTEGER NOT NULL,
    metadata_location TEXT,
    UNIQUE (schema_name, table_name)
) STRICT;

CREATE TABLE snapshots (
    table_id            INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
    sequence_number     INTEGER NOT NULL,
    snapshot_id         INTEGER NOT NULL,
    committed_unix_ms   INTEGER NOT NULL,
    operation           TEXT    NOT NULL,
    -- Arrow IPC message with field ids.
    schema              BLOB    NOT NULL,
    -- JSON array of field ids.
    partition_field_ids TEXT    NOT NULL,
    files_added         INTEGER NOT NULL,
    files_removed       INTEGER NOT NULL,
    files               INTEGER NOT NULL,
    rows                INTEGER NOT NULL,
    bytes               INTEGER NOT NULL,
    PRIMARY KEY (table_id, sequence_number),
    UNIQUE (table_id, snapshot_id)
) STRICT;

-- The schemas of files as their footers give them; most files of a table share one.
CREATE TABLE file_schemas (
    schema_id INTEGER PRIMARY KEY,
    table_id  INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
    schema    BLOB    NOT NULL,
    UNIQUE (table_id, schema)
) STRICT;

CREATE TABLE files (
    file_id           INTEGER PRIMARY KEY,
    table_id          INTEGER NOT NULL REFERENCES tables (table_id) ON DELETE CASCADE,
    path              TEXT    NOT NULL,
    size              INTEGER NOT NULL,
    version           TEXT,
    record_count      INTEGER,
    footer_length     INTEGER,
    page_index_start  INTEGER,
    page_index_length INTEGER,
    schema_id         INTEGER NOT NULL REFERENCES file_schemas (schema_id),
    -- Protobuf: the key=value folders of the path, decoded but not typed.
    partition_values  BLOB    NOT NULL,
    -- Protobuf: bounds by the position of the column in the file's own schema.
    bounds            BLOB    NOT NULL,
    added_sequence    INTEGER NOT NULL,
    removed_sequence  INTEGER
) STRICT;

CREATE INDEX files_of_table ON files (table_id, path);
CREATE INDEX files_of_schema ON files (schema_id);
CREATE UNIQUE INDEX live_files ON files (table_id, path) WHERE removed_sequence IS NULL;

CREATE TABLE queries (
    log_id          INTEGER PRIMARY KEY AUTOINCREMENT,
    query_id        TEXT    NOT NULL UNIQUE,
    sql             TEXT    NOT NULL,
    principal       TEXT    NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    error           TEXT    NOT NULL,
    tickets         INTEGER NOT NULL,
    -- Protobuf: the plan's summary.
    plan            BLOB    NOT NULL,
    plan_ms         INTEGER NOT NULL
) STRICT;

-- Reports can arrive before the query is recorded, so tickets do not refer to queries.
CREATE TABLE tickets (
    log_id           INTEGER PRIMARY KEY AUTOINCREMENT,
    query_id         TEXT    NOT NULL,
    ticket_id        TEXT    NOT NULL,
    finished_unix_ms INTEGER NOT NULL,
    complete         INTEGER NOT NULL,
    error            TEXT    NOT NULL,
    report           BLOB    NOT NULL,
    UNIQUE (query_id, ticket_id)
) STRICT;

CREATE INDEX tickets_by_time ON tickets (finished_unix_ms);

CREATE TABLE skips (
    log_id            INTEGER PRIMARY KEY AUTOINCREMENT,
    query_id          TEXT    NOT NULL,
    ticket_id         TEXT    NOT NULL,
    schema_name       TEXT    NOT NULL,
    table_name        TEXT    NOT NULL,
    skip              BLOB    NOT NULL
) STRICT;

CREATE INDEX skips_of_ticket ON skips (query_id, ticket_id);
