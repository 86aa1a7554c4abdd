-- Files that were removed, to find those that no snapshot has any more.

CREATE INDEX dead_files ON files (table_id, removed_sequence) WHERE removed_sequence IS NOT NULL;
