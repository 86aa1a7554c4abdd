"""The fortnight query on Fulmar, DataFusion, DuckDB and pyarrow over the same local files. Started by `cargo xtask bench scan`.

Fulmar runs as `fulmar local` and is asked through ADBC, so its times include planning, tickets, gRPC and the client; the
other engines run inside this process. Every engine gets its tables before the clock starts and delivers one Arrow table.
Repetitions are interleaved, so that a busy moment of the machine hits all engines alike. An engine whose rows differ from
the others' fails the run.
"""

import argparse
import datetime
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/clients"))
from local_server import LocalServer  # noqa: E402

COLUMNS = ["order_id", "customer_id", "amount"]
FIRST, END = datetime.date(2024, 3, 1), datetime.date(2024, 3, 15)
WHERE = f"order_date >= DATE '{FIRST}' AND order_date < DATE '{END}'"


def sql(source):
    return f"SELECT {', '.join(COLUMNS)} FROM {source} WHERE {WHERE}"


def fulmar(uri, table):
    import adbc_driver_flightsql.dbapi

    connection = adbc_driver_flightsql.dbapi.connect(uri, autocommit=True)

    def run():
        with connection.cursor() as cursor:
            cursor.execute(sql(table.name))
            return cursor.fetch_arrow_table()

    return run


def datafusion(table):
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("t", str(table))
    return lambda: context.sql(sql("t")).to_arrow_table()


def duckdb(table):
    import duckdb

    connection = duckdb.connect()
    return lambda: connection.execute(sql(f"read_parquet('{table}/**/*.parquet')")).to_arrow_table()


def pyarrow(table):
    import pyarrow.dataset as ds

    dataset = ds.dataset(table, format="parquet")
    date = ds.field("order_date")
    return lambda: dataset.to_table(columns=COLUMNS, filter=(date >= FIRST) & (date < END))


def answer(table):
    """What must be equal between engines: the number of rows and the sum of their ids."""
    return table.num_rows, sum(table.column("order_id").to_pylist())


def measure(engines, reps):
    """Seconds per engine, one warm-up round apart. Every round runs every engine once."""
    answers = {name: answer(run()) for name, run in engines.items()}
    if len(set(answers.values())) != 1:
        sys.exit(f"error: the engines disagree (rows, sum of order_id): {answers}")
    seconds = {name: [] for name in engines}
    for _ in range(reps):
        for name, run in engines.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    return answers["Fulmar"][0], seconds


def report(table, rows, seconds):
    print(f"\n{table.name}: {rows} rows")
    print(f"  {'engine':<12}{'median ms':>10}{'best ms':>10}{'to Fulmar':>11}")
    ours = statistics.median(seconds["Fulmar"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"  {name:<12}{median * 1e3:>10.1f}{min(times) * 1e3:>10.1f}{median / ours:>10.2f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="a folder with one sub-folder per table")
    parser.add_argument("--fulmar", type=pathlib.Path, required=True, help="the release binary")
    parser.add_argument("--reps", type=int, default=7)
    flags = parser.parse_args()
    tables = sorted(path for path in flags.data.iterdir() if path.is_dir() and not path.name.startswith("."))
    print(f"the fortnight: {sql('t')}\n{flags.reps} repetitions, {os.cpu_count()} cores, local files")
    with tempfile.TemporaryDirectory() as state, LocalServer(flags.fulmar, flags.data, state) as server:
        for table in tables:
            engines = {
                "Fulmar": fulmar(server.uri, table),
                "DataFusion": datafusion(table),
                "DuckDB": duckdb(table),
                "pyarrow": pyarrow(table),
            }
            report(table, *measure(engines, flags.reps))


if __name__ == "__main__":
    main()
