"""Flight SQL spoken by hand: the commands as protobuf bytes, and a reader that keeps what other clients throw away.

It must not lean on any Flight SQL client: what is on the wire is the point.
"""

import pyarrow as pa
import pyarrow.flight

TYPE_URL = "type.googleapis.com/arrow.flight.protocol.sql."


def length_delimited(field, payload):
    """One protobuf field of wire type 2."""
    out, size = bytearray([field << 3 | 2]), len(payload)
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out) + payload


def command(name, body=b""):
    """A FlightDescriptor whose command is `google.protobuf.Any` of a Flight SQL message."""
    wrapped = length_delimited(1, (TYPE_URL + name).encode()) + length_delimited(2, body)
    return pa.flight.FlightDescriptor.for_command(wrapped)


def statement(sql):
    """CommandStatementQuery: its first field is the query."""
    return command("CommandStatementQuery", length_delimited(1, sql.encode()))


def read(reader):
    """All batches of a stream, and the last message's app_metadata."""
    batches, last = [], None
    while True:
        try:
            chunk = reader.read_chunk()
        except StopIteration:
            break
        if chunk.data is not None:
            batches.append(chunk.data)
        last = chunk.app_metadata.to_pybytes() if chunk.app_metadata is not None else None
    return pa.Table.from_batches(batches, reader.schema), last
