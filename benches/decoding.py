"""Decoding and filtering what is in memory, beside DataFusion's own Parquet scan: one thread, footers known.

The program `benches/decode` measures, with criterion; this makes a section of its estimates.
"""

import json
import pathlib
import subprocess
import tempfile

from . import machine, markdown
from .failure import Failure
from .output import add_out_flag, deliver

NAME, HEADING = "decode", "Decoding in memory"
PROGRAM = "fulmar-decode-bench"
ABOUT = """One file of {rows:,} orders in random order, in memory: no bound rules anything out, so each query decodes its filter's
column whole. One thread, plans made and footers known before: what is left is decompressing, decoding and filtering.
The filtered queries return four columns, one of them text. Milliseconds, medians of criterion; the last columns are
Fulmar's time divided by that of DataFusion's fastest way, and by that of DataFusion when it makes the same arrays:
by default its strings are views of the pages, which Fulmar does not send because not all clients of Flight read them."""
OURS, SAME = "Fulmar", "DataFusion, plain strings"


def add_flags(parser):
    parser.add_argument("--fixtures", type=pathlib.Path, required=True, metavar="DIR", help="has orders_shuffled")
    parser.add_argument("--rows", type=int, required=True, help="rows of the file")
    parser.add_argument("--seconds", type=int, default=5, help="for each query and engine [default: 5]")
    add_out_flag(parser)


def run(flags):
    program = flags.fulmar.with_name(PROGRAM)
    [file] = flags.fixtures.glob("orders_shuffled/*.parquet")
    with tempfile.TemporaryDirectory() as home:
        words = [program, "--file", file, "--home", home, "--seconds", flags.seconds]
        if subprocess.run([*map(str, words)]).returncode:
            raise Failure(f"{PROGRAM} failed")
        times = estimates(pathlib.Path(home))
    deliver(flags.out, HEADING, section(times, flags))


def estimates(home):
    """Milliseconds by query and engine, in the order in which they were measured."""
    found = {}
    files = home.glob("*/*/new/estimates.json")
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
        names = json.loads(path.with_name("benchmark.json").read_text())
        median = json.loads(path.read_text())["median"]["point_estimate"]
        found.setdefault(names["group_id"], {})[names["function_id"]] = median / 1e6
    return found


def section(times, flags):
    engines = list(next(iter(times.values())))
    rows = []
    for query, found in times.items():
        fastest = min(time for engine, time in found.items() if engine != OURS)
        ratios = [found[OURS] / fastest, found[OURS] / found[SAME]]
        rows.append([query, *(f"{found[engine]:.1f}" for engine in engines), *(f"**{ratio:.2f}**" for ratio in ratios)])
    heads = ["query", *engines, "to the fastest", "to plain strings"]
    written = f"Written by `cargo xtask bench {NAME} --rows {flags.rows}` on {machine.machine()}."
    return "\n\n".join([written, ABOUT.format(rows=flags.rows), markdown.table(heads, rows)])
