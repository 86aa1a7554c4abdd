"""The program of one run: one engine answers one query in a process that has done nothing before.

The clock starts when libraries are loaded and a session exists; for Fulmar it starts before the client connects. The
counts of the store are taken, and so forgotten, right before. Prints one JSON object. No engine is torn down: some
take their time to stop, and nobody waits for that.
"""

import argparse
import json
import os
import sys
import time

from ..store.handle import take
from .answers import answer
from .peers import PEERS
from .queries import queries


def fulmar(query, uri):
    import adbc_driver_flightsql
    import adbc_driver_flightsql.dbapi as flightsql
    import pyarrow  # noqa: F401 - what fetch_arrow_table would import while the clock runs

    # Loads the driver's library, as importing does for the other engines. It does not connect.
    adbc_driver_flightsql.connect(uri).close()

    def run():
        connection = flightsql.connect(uri, autocommit=True)
        cursor = connection.cursor()
        cursor.execute(query.sql(query.table))
        return cursor.fetch_arrow_table()

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", required=True, choices=["fulmar", *PEERS])
    parser.add_argument("--query", required=True)
    parser.add_argument("--place", required=True, help="bucket and key of the table")
    parser.add_argument("--store", required=True, help="HOST:PORT of the store")
    parser.add_argument("--uri", help="where Fulmar's planner is")
    parser.add_argument("--order-id", type=int, required=True)
    parser.add_argument("--customer-id", type=int, required=True)
    flags = parser.parse_args()
    query = queries(flags.order_id, flags.customer_id)[flags.query]
    if flags.engine == "fulmar":
        run = fulmar(query, flags.uri)
    else:
        run = PEERS[flags.engine](query, flags.place, flags.store)
    take(flags.store)
    started = time.perf_counter()
    table = run()
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "answer": answer(table, query.checked)}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
