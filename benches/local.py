"""The fortnight over local files, everything warm: Fulmar, DataFusion, DuckDB and pyarrow.

Fulmar runs as `fulmar local` and is asked through ADBC, so its times include planning, tickets, gRPC and the client;
the other engines run inside this process. Every engine gets its tables before the clock starts and delivers one Arrow
table. Repetitions are interleaved, so that a busy moment of the machine hits all engines alike. An engine whose rows
differ from the others' fails the run.
"""

import functools
import operator
import pathlib
import statistics
import tempfile
import time

from .clients import LocalServer
from .machine import machine
from .scan.answers import answer, must_agree
from .scan.peers import comparisons
from .scan.queries import queries

NAME = "local"
FORTNIGHT = queries(0, 0)["fortnight_month"]


def add_flags(parser):
    parser.add_argument(
        "--fixtures", type=pathlib.Path, required=True, metavar="DIR", help="a sub-folder per table of orders"
    )
    parser.add_argument("--reps", type=int, default=7, help="repetitions of each engine [default: 7]")


def run(flags):
    folders = sorted(path for path in flags.fixtures.iterdir() if path.is_dir() and not path.name.startswith("."))
    print(f"{FORTNIGHT.sql()}\n{flags.reps} repetitions over local files, {machine()}")
    with tempfile.TemporaryDirectory() as state, LocalServer(flags.fulmar, flags.fixtures, state) as server:
        for folder in folders:
            engines = {
                "Fulmar": fulmar(server.uri, folder),
                "DataFusion": datafusion(folder),
                "DuckDB": duckdb(folder),
                "pyarrow": pyarrow(folder),
            }
            report(folder, *measure(folder.name, engines, flags.reps))


def fulmar(uri, folder):
    import adbc_driver_flightsql.dbapi

    connection = adbc_driver_flightsql.dbapi.connect(uri, autocommit=True)

    def ask():
        with connection.cursor() as cursor:
            cursor.execute(FORTNIGHT.sql(folder.name))
            return cursor.fetch_arrow_table()

    return ask


def datafusion(folder):
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("t", str(folder))
    return lambda: context.sql(FORTNIGHT.sql()).to_arrow_table()


def duckdb(folder):
    import duckdb

    connection = duckdb.connect()
    source = f"read_parquet('{folder}/**/*.parquet')"
    return lambda: connection.execute(FORTNIGHT.sql(source)).to_arrow_table()


def pyarrow(folder):
    import pyarrow.dataset as ds

    dataset = ds.dataset(folder, format="parquet")
    kept = functools.reduce(operator.and_, comparisons(FORTNIGHT, ds.field))
    return lambda: dataset.to_table(columns=list(FORTNIGHT.select), filter=kept)


def measure(table, engines, reps):
    """The rows of the answer and seconds per engine, one warm-up round apart. Every round runs every engine once."""
    answers = {name: answer(ask(), FORTNIGHT.checked) for name, ask in engines.items()}
    must_agree(table, answers)
    seconds = {name: [] for name in engines}
    for _ in range(reps):
        for name, ask in engines.items():
            started = time.perf_counter()
            ask()
            seconds[name].append(time.perf_counter() - started)
    return answers["Fulmar"][0], seconds


def report(folder, rows, seconds):
    print(f"\n{folder.name}: {rows} rows")
    print(f"  {'engine':<12}{'median ms':>10}{'best ms':>10}{'to Fulmar':>11}")
    ours = statistics.median(seconds["Fulmar"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"  {name:<12}{median * 1e3:>10.1f}{min(times) * 1e3:>10.1f}{median / ours:>10.2f}x", flush=True)
