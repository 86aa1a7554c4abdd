"""A Flight server that sends one table from memory, whatever the ticket: the ceiling of gRPC, Arrow and this machine.

Prints its port when it serves.
"""

import argparse

import pyarrow.flight
import pyarrow.parquet

from ..lineitem import with_plain_strings


class Bare(pyarrow.flight.FlightServerBase):
    """The server."""

    def __init__(self, table):
        super().__init__("grpc://127.0.0.1:0")
        self.table = table

    def do_get(self, context, ticket):
        return pyarrow.flight.RecordBatchStream(self.table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="the Parquet file that is loaded")
    table = with_plain_strings(pyarrow.parquet.read_table(parser.parse_args().file))
    server = Bare(table)
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
