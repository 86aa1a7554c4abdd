"""The program that asks one server: everything once or more (`scan`), or small statements one after another (`small`).

Prints one JSON object: for `scan` rows, bytes and the seconds of each repetition; for `small` milliseconds per
statement and number of clients, each client a connection on a thread of its own.
"""

import argparse
import json
import os
import random
import sys
import threading
import time

MESSAGE_BYTES = 1 << 28
STATEMENTS = {1: 100, 8: 40}


class Adbc:
    """One connection of the ADBC driver of Flight SQL."""

    def __init__(self, uri):
        import adbc_driver_flightsql.dbapi as flightsql
        from adbc_driver_flightsql import DatabaseOptions

        # Some of the servers send batches that are larger than the driver takes by default.
        options = {DatabaseOptions.WITH_MAX_MSG_SIZE.value: str(MESSAGE_BYTES)}
        self.connection = flightsql.connect(uri, autocommit=True, db_kwargs=options)
        self.cursor = self.connection.cursor()

    def batches(self, sql):
        """Runs a statement."""
        self.cursor.execute(sql)
        yield from self.cursor.fetch_record_batch()


class Flight:
    """One connection of a client that knows Flight without SQL."""

    def __init__(self, uri):
        import pyarrow.flight

        self.client, self.ticket = pyarrow.flight.connect(uri), pyarrow.flight.Ticket(b"")

    def batches(self, sql):
        """Fetches the one stream that there is."""
        for chunk in self.client.do_get(self.ticket):
            yield chunk.data


def scan(client, table, reps, limit):
    """All rows of a table, batch by batch; repeats until the limit in seconds."""
    seconds, began = [], time.monotonic()
    while len(seconds) < reps and (not seconds or time.monotonic() - began < limit):
        rows = size = 0
        started = time.perf_counter()
        for batch in client.batches(f"SELECT * FROM {table}"):
            rows, size = rows + batch.num_rows, size + batch.nbytes
        seconds.append(time.perf_counter() - started)
    return {"rows": rows, "bytes": size, "seconds": seconds}


def select_one(_):
    return "SELECT 1"


def lookup_in(table):
    """Statements that find a random order: every 32nd key begins eight orders that exist."""

    def lookup(dice):
        key = dice.randrange(1, 6_000_000) // 32 * 32 + 1
        return f"SELECT l_orderkey, l_linenumber, l_shipdate, l_extendedprice FROM {table} WHERE l_orderkey = {key}"

    return lookup


def small(clients, statement, limit):
    """Milliseconds of each statement of all clients together."""
    stop, times, errors = time.monotonic() + limit, [], []

    def ask(client, seed, count):
        dice = random.Random(seed)
        try:
            for place in range(count + 1):
                if place > 1 and time.monotonic() > stop:
                    return
                started = time.perf_counter()
                rows = sum(batch.num_rows for batch in client.batches(statement(dice)))
                # The first one makes what a connection makes once.
                if place:
                    times.append((time.perf_counter() - started) * 1e3)
                if not rows:
                    raise ValueError("a small statement found no row")
        except Exception as error:  # noqa: BLE001 - whatever a driver raises ends the run
            errors.append(error)

    count = STATEMENTS[len(clients)]
    threads = [threading.Thread(target=ask, args=(client, seed, count)) for seed, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["scan", "small"])
    parser.add_argument("--client", choices=["adbc", "flight"], required=True)
    parser.add_argument("--uri", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--reps", type=int, required=True)
    parser.add_argument("--limit", type=float, required=True, help="seconds after which a phase begins nothing more")
    flags = parser.parse_args()
    connect = {"adbc": Adbc, "flight": Flight}[flags.client]
    clients = [connect(flags.uri)]
    if flags.what == "scan":
        answer = scan(clients[0], flags.table, flags.reps, flags.limit)
    else:
        answer = {}
        for count in STATEMENTS:
            clients += [connect(flags.uri) for _ in range(count - len(clients))]
            for name, statement in (("select1", select_one), ("lookup", lookup_in(flags.table))):
                answer[f"{name}_{count}"] = small(clients[:count], statement, flags.limit)
    print(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
