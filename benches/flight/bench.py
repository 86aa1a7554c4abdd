"""Flight servers over lineitem: throughput and memory of a full scan, latency of small statements.

This file owns the order of things: flags, which servers, what is kept of each, the report.
"""

import pathlib
import statistics
import tempfile

from .. import children, lineitem, machine
from ..failure import Failure, chosen
from ..output import add_out_flag, deliver, say
from . import report
from .servers import OURS, PEERS, SERVERS, Place

NAME, HEADING = "flight", "Flight servers"
LABELS = {name: label for name, (_, label) in SERVERS.items()}
CLIENT_SECONDS = 300


def add_flags(parser):
    parser.add_argument("--tpch", type=pathlib.Path, required=True, metavar="DIR", help="where lineitem is, or is made")
    parser.add_argument("--peers", type=pathlib.Path, metavar="DIR", help="the folder of programs with sail and roapi")
    parser.add_argument("--reps", type=int, default=3, help="repetitions of the full scan [default: 3]")
    parser.add_argument("--servers", metavar="A,B", help=f"only these of {', '.join(SERVERS)}")
    parser.add_argument(
        "--limit", type=float, default=10, metavar="S", help="seconds of one phase of a client [default: 10]"
    )
    add_out_flag(parser)


def run(flags):
    names, skipped = usable(flags)
    for reason in skipped:
        say(f"skipping {reason}")
    results = {}
    for position, name in enumerate(names, 1):
        say(f"[{position}/{len(names)}] {LABELS[name]}")
        results[name] = kept(flags, name)
        say(f"[{position}/{len(names)}] {LABELS[name]}: {progress(results[name])}")
    facts = {
        "command": command(flags),
        "machine": machine.machine(),
        "rows": lineitem.ROWS,
        "reps": flags.reps,
        "versions": versions(flags, names),
        "skipped": skipped,
    }
    deliver(flags.out, HEADING, report.section(results, LABELS, facts))
    own_failures(results)


def usable(flags):
    """The servers that were chosen and are installed, and why others are not run."""
    names = chosen(flags.servers, SERVERS, "server")
    missing = [
        name for name in names if name in PEERS and not (flags.peers and (flags.peers / name.split("-")[0]).exists())
    ]
    return [name for name in names if name not in missing], [f"{LABELS[name]}: it is not installed" for name in missing]


def kept(flags, name):
    """What one server showed, or why it failed."""
    start, _ = SERVERS[name]
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(
            flags.fulmar.absolute(),
            flags.peers and flags.peers.absolute(),
            flags.tpch.absolute(),
            pathlib.Path(scratch),
        )
        try:
            with start(place) as serving:
                return measured(flags, serving)
        except Failure as failure:
            return {"failed": str(failure)}


def measured(flags, serving):
    """Memory at rest, the scans, memory at its peak, then the small statements."""
    idle, _ = serving.server.memory()
    result = asked(flags, serving, "scan")
    if result["rows"] != lineitem.ROWS:
        raise Failure(f"{result['rows']:,} rows came instead of {lineitem.ROWS:,}")
    _, peak = serving.server.memory()
    result |= {"idle": idle, "peak": peak}
    result["beside"] = {name: server.memory()[1] for name, server in serving.beside.items()}
    if serving.client == "adbc":
        result |= asked(flags, serving, "small")
    return result


def asked(flags, serving, what):
    words = ["--client", serving.client, "--uri", serving.uri, "--table", serving.table]
    words += ["--reps", flags.reps, "--limit", flags.limit]
    try:
        return children.ask(children.python("flight.client", what, *words), CLIENT_SECONDS)
    except Failure as failure:
        raise Failure(f"{what}: {failure}; the server said: {serving.server.last_words()}") from None


def progress(result):
    if "failed" in result:
        return f"failed: {result['failed']}"
    seconds = statistics.median(result["seconds"])
    return f"{result['rows'] / seconds:,.0f} rows/s, peak {result['peak'] / report.MB:.0f} MB"


def versions(flags, names):
    found = {"Fulmar": machine.fulmar_version(flags.fulmar)} if any(name in OURS for name in names) else {}
    packages = ["adbc-driver-flightsql", "pyarrow"]
    found |= {package: machine.package_version(package) for package in packages}
    for program in dict.fromkeys(name.split("-")[0] for name in names if name in PEERS):
        found[program] = machine.said(flags.peers / program, "--version").split()[-1]
    return found


def command(flags):
    return f"cargo xtask bench {NAME} --reps {flags.reps}" + (f" --servers {flags.servers}" if flags.servers else "")


def own_failures(results):
    """Fails when Fulmar did not serve: others may, but then the table says so."""
    failed = [
        f"{LABELS[name]}: {result['failed']}" for name, result in results.items() if name in OURS and "failed" in result
    ]
    if failed:
        raise Failure("; ".join(failed))
