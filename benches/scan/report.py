"""The results as Markdown: a summary of Fulmar beside the best of each count, then a table per query. Pure."""

from .. import markdown
from .measure import FAR, NEAR, Measured

HEADS = ["requests", "MB", "depth", f"wall {FAR.name}", f"wall {NEAR.name}"]
KINDS = ("GET", "HEAD", "LIST")
INTRODUCTION = """\
Every run is a fresh process against an S3 server on loopback that counts. {far}: 30 ms before the first byte of each
request and 80 MB/s per connection; {near}: neither. Requests, MB and depth are of the {far} runs. Depth is the number
of dependent round trips: the longest chain of requests of which each starts after the one before it ended. Times are
seconds, medians of {reps}, with engines taking turns; the answers of all engines agreed.

The clock starts when an engine's library is loaded and ends with the whole result as Arrow. For Fulmar that is from the
connecting of an ADBC client: planning, tickets, gRPC, scan. Its services start cold for every run, on a catalog that
has seen the files before, which is how it is deployed: it knows their names, bounds and footers. The other engines are libraries
that start from a path, so their time has no network between client and engine, but it has the listing or the look at
the file. DataFusion runs with filter pushdown on.

Ratios are Fulmar's number divided by that of the best other engine: below 1, Fulmar needs less."""


def section(results, queries, labels, fulmar, facts):
    """The body of the section. `fulmar` are the engines that are ours, `facts` what was measured how."""
    parts = [
        f"Written by `{facts['command']}` on {facts['machine']}. {facts['rows']:,} orders; lineitem at scale factor 1, "
        f"one file per month of shipping.",
        "Versions: " + ", ".join(f"{name} {version}" for name, version in facts["versions"].items()) + ".",
        INTRODUCTION.format(far=FAR.name, near=NEAR.name, reps=facts["reps"]),
        *(f"Left out: {reason}." for reason in facts["skipped"]),
        "### Summary",
        "Fulmar / best other engine (which) = ratio.",
        summary(results, labels, fulmar),
    ]
    for name, engines in results.items():
        parts += [f"### {name}", f"`{queries[name].sql()}` over `{queries[name].table}`"]
        parts.append(detail(engines, labels, fulmar))
    return "\n\n".join(parts)


def summary(results, labels, fulmar):
    rows = []
    for name, engines in results.items():
        for engine in fulmar:
            ours = engines.get(engine)
            if isinstance(ours, Measured):
                cells = [compared(*pair, labels) for pair in zip(numbers(ours), best(engines, fulmar), strict=True)]
                rows.append([name, labels[engine], *cells])
    return markdown.table(["query", "engine", *HEADS], rows, text_columns=2)


def compared(ours, other, labels):
    if other is None:
        return shown(ours)
    theirs, engine = other
    return f"{shown(ours)} / {shown(theirs)} ({labels[engine]}) = **{ratio(ours, theirs)}**"


def detail(engines, labels, fulmar):
    heads = ["engine", "rows", "requests", "GET/HEAD/LIST", *HEADS[1:]]
    rows = []
    for engine, result in engines.items():
        if not isinstance(result, Measured):
            rows.append([labels[engine], f"failed: {result.reason}", *[""] * (len(heads) - 2)])
            continue
        requests, *others = map(shown, numbers(result))
        rows.append([labels[engine], f"{result.rows:,}", requests, kinds(result), *others])
    for engine in fulmar:
        ours = engines.get(engine)
        if isinstance(ours, Measured):
            pairs = zip(numbers(ours), best(engines, fulmar), strict=True)
            ratios = [f"**{ratio(own, other[0])}**" if other else "" for own, other in pairs]
            rows.append([f"**{labels[engine]} to the best other**", "", ratios[0], "", *ratios[1:]])
    return markdown.table(heads, rows)


def best(engines, fulmar):
    """Per number the least of the engines that are not ours, and whose it is."""
    peers = [
        (numbers(result), engine)
        for engine, result in engines.items()
        if engine not in fulmar and isinstance(result, Measured)
    ]
    if not peers:
        return [None] * len(HEADS)
    return [min((values[place], engine) for values, engine in peers) for place in range(len(HEADS))]


def numbers(result):
    """In the order of the heads."""
    return [result.requests, result.size / 1e6, result.depth, result.seconds[FAR.name], result.seconds[NEAR.name]]


def kinds(result):
    text = "/".join(str(result.kinds.get(kind, 0)) for kind in KINDS)
    others = result.requests - sum(result.kinds.get(kind, 0) for kind in KINDS)
    return f"{text} + {others}" if others else text


def shown(number):
    return str(number) if isinstance(number, int) else f"{number:.3f}"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if theirs else "-"
