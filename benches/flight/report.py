"""The results as Markdown. Pure."""

import statistics

from .. import markdown

MB = 1e6
SMALL = {
    "select1_1": "SELECT 1, 1 client",
    "select1_8": "SELECT 1, 8 clients",
    "lookup_1": "lookup, 1 client",
    "lookup_8": "lookup, 8 clients",
}
HEADS = ["server", "seconds", "rows/s", "MB/s", "to bare", "memory peak MB", "above idle MB", *SMALL.values()]
INTRODUCTION = """\
Client and server share the machine; files are local and in the page cache. All servers have the same file of lineitem
at scale factor 1 ({rows:,} rows) as the generator writes it; one line of Fulmar has it as 84 files. `SELECT *` is
streamed and counted batch by batch: median seconds of {reps}. MB/s is rows/s times the size of a row as plain Arrow, so
that no server gains by a wider encoding. Memory is of the server's process: the peak (VmHWM) after the scans, and how
much that is above what it occupied before the first query. Then `SELECT 1`, and the rows of one random `l_orderkey`:
p50 / p95 in milliseconds. The client is the ADBC driver of Flight SQL; the bare server sends a table from memory and
knows no SQL, which is what gRPC and Arrow can do here."""


def section(results, labels, facts):
    """The body of the section. A result is a dict of numbers, or has only the key `failed`."""
    bare = results.get("bare", {})
    row_bytes = bare["bytes"] / bare["rows"] if "rows" in bare else None
    rows = [line(labels[name], result, row_bytes, bare) for name, result in results.items()]
    parts = [
        f"Written by `{facts['command']}` on {facts['machine']}.",
        "Versions: " + ", ".join(f"{name} {version}" for name, version in facts["versions"].items()) + ".",
        INTRODUCTION.format(rows=facts["rows"], reps=facts["reps"]),
        *(f"Left out: {reason}." for reason in facts["skipped"]),
        markdown.table(HEADS, rows),
        *(beside(labels[name], result) for name, result in results.items() if result.get("beside")),
    ]
    return "\n\n".join(parts)


def line(label, result, row_bytes, bare):
    if "failed" in result:
        return [label, f"failed: {result['failed']}", *[""] * (len(HEADS) - 2)]
    seconds = statistics.median(result["seconds"])
    rows = result["rows"] / seconds
    size = f"{rows * row_bytes / MB:.0f}" if row_bytes else "-"
    to_bare = f"{statistics.median(bare['seconds']) / seconds:.2f}" if "seconds" in bare else "-"
    memory = [f"{result['peak'] / MB:.0f}", f"{(result['peak'] - result['idle']) / MB:.0f}"]
    small = [percentiles(result.get(name)) for name in SMALL]
    return [label, f"{seconds:.2f}", f"{rows:,.0f}", size, to_bare, *memory, *small]


def percentiles(times):
    if not times:
        return "-"
    ordered = sorted(times)
    p50, p95 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95))
    return f"{p50:.1f} / {p95:.1f}"


def beside(label, result):
    peaks = ", ".join(f"{name} {peak / MB:.0f} MB" for name, peak in result["beside"].items())
    return f"{label}: the memory is of its Flight server; beside it peaked: {peaks}."
