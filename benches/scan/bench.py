"""Thirteen queries over an object store that counts: Fulmar, DataFusion, DuckDB, Polars, pyarrow and chDB.

This file owns the order of things: flags, what can run, measuring, the report.
"""

import contextlib
import pathlib
import tempfile

from .. import children, lineitem, machine
from ..failure import Failure, chosen
from ..output import add_out_flag, deliver, say
from ..store.handle import StoreServer
from . import fulmar, report, tables
from .measure import Refused, measure
from .peers import PEERS
from .queries import NAMES, queries

NAME, HEADING = "scan", "Scans of an object store"
# Engines that are Fulmar, and with which flags.
OURS = {
    "fulmar": [],
    "fulmar-fast": [fulmar.PROFILE_FLAG, "fast"],
    "fulmar-bytes": [fulmar.PROFILE_FLAG, "bytes"],
}
LABELS = {
    "fulmar": "Fulmar",
    "fulmar-fast": "Fulmar, profile fast",
    "fulmar-bytes": "Fulmar, profile bytes",
    "datafusion": "DataFusion",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "pyarrow": "pyarrow",
    "chdb": "chDB",
}
ORDERS = ["orders_by_month", "orders_sorted", "orders_paged", "orders_shuffled", "orders_bloom"]


def add_flags(parser):
    parser.add_argument(
        "--fixtures", type=pathlib.Path, required=True, metavar="DIR", help="a sub-folder per table of orders"
    )
    parser.add_argument("--tpch", type=pathlib.Path, required=True, metavar="DIR", help="where lineitem is, or is made")
    parser.add_argument("--reps", type=int, default=5, help="repetitions of each engine and network [default: 5]")
    parser.add_argument("--queries", metavar="A,B", help=f"only these of {', '.join(NAMES)}")
    parser.add_argument("--engines", metavar="A,B", help=f"only these of {', '.join(LABELS)}")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="seconds for one run [default: 60]")
    add_out_flag(parser)


def run(flags):
    skipped = []
    found, wanted = find_tables(flags, skipped)
    order_id, customer_id, rows = tables.values(found["orders_sorted"])
    all_queries = queries(order_id, customer_id)
    engines = usable_engines(flags, skipped)
    for reason in skipped:
        say(f"skipping {reason}")
    mounts = {table.prefix: table.folder for table in found.values()}
    with StoreServer(mounts) as store, runners(flags, engines, found, store, (order_id, customer_id)) as asks:
        results = {
            name: measure(all_queries[name], asks, store, flags.reps, numbered(position, len(wanted)))
            for position, name in enumerate(wanted, 1)
        }
    facts = {
        "command": command(flags, rows),
        "machine": machine.machine(),
        "rows": rows,
        "reps": flags.reps,
        "versions": versions(flags, engines),
        "skipped": skipped,
    }
    deliver(flags.out, HEADING, report.section(results, all_queries, LABELS, list(OURS), facts))
    own_failures(results)


def numbered(position, total):
    """Says lines with how far the benchmark is."""
    return lambda line: say(f"[{position}/{total}] {line}")


def find_tables(flags, skipped):
    """The tables by name, and the queries whose table is there."""
    found = tables.find(flags.fixtures, ORDERS)
    if "orders_sorted" not in found:
        raise Failure(f"{flags.fixtures} has no folder orders_sorted")
    wanted = chosen(flags.queries, NAMES, "query")
    every = queries(0, 0)
    if any(every[name].table == "lineitem" for name in wanted):
        found["lineitem"] = tables.Table("lineitem", lineitem.by_month(flags.tpch))
    for name in wanted:
        if every[name].table not in found:
            skipped.append(f"{name}: there is no table {every[name].table}")
    return found, [name for name in wanted if every[name].table in found]


def usable_engines(flags, skipped):
    """The engines that were chosen and can run."""
    engines = chosen(flags.engines, LABELS, "engine")
    if not fulmar.has_profiles(flags.fulmar):
        for engine in [engine for engine in engines if OURS.get(engine)]:
            engines.remove(engine)
            skipped.append(f"{engine}: this binary's `fulmar local` has no {fulmar.PROFILE_FLAG}")
    return engines


@contextlib.contextmanager
def runners(flags, engines, found, store, values):
    """A function per engine that runs a query once, cold, and returns its time and answer."""

    def once(engine, query, *more):
        words = ["--engine", engine, "--query", query.name, "--place", found[query.table].place()]
        words += ["--store", store.endpoint, "--order-id", values[0], "--customer-id", values[1]]
        return children.ask(children.python("scan.once", *words, *more), flags.timeout)

    def ours(services, profile):
        def ask(query):
            with services.cold(profile) as uri:
                return once("fulmar", query, "--uri", uri)

        return ask

    with tempfile.TemporaryDirectory() as folder:
        services = fulmar.Fulmar(flags.fulmar, store, folder)
        if any(engine in OURS for engine in engines):
            say("warming the catalog")
            services.warm_up()
        yield {
            engine: ours(services, OURS[engine]) if engine in OURS else lambda query, engine=engine: once(engine, query)
            for engine in engines
        }


def versions(flags, engines):
    """By label; both lines of Fulmar are one binary."""
    found = {"Fulmar": machine.fulmar_version(flags.fulmar)} if any(engine in OURS for engine in engines) else {}
    return found | {LABELS[engine]: machine.package_version(engine) for engine in engines if engine in PEERS}


def command(flags, rows):
    words = [f"cargo xtask bench {NAME} --rows {rows} --reps {flags.reps}"]
    words += [f"--{flag} {value}" for flag, value in (("queries", flags.queries), ("engines", flags.engines)) if value]
    return " ".join(words)


def own_failures(results):
    """Fails when Fulmar did not answer: another engine may, but then the table says so."""
    failed = [
        f"{query}: {LABELS[engine]}: {result.reason}"
        for query, engines in results.items()
        for engine, result in engines.items()
        if engine in OURS and isinstance(result, Refused)
    ]
    if failed:
        raise Failure("; ".join(failed))
