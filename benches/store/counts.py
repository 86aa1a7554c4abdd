"""From the log of a store's requests to the numbers of a table. Pure: it must not know the server."""

from collections import Counter
from dataclasses import dataclass

# A request that starts this soon before another ends counts as waiting for it: clocks and wake-ups are not exact.
SLACK_SECONDS = 0.002


@dataclass
class Request:
    """One request as the server saw it. Times are of a monotonic clock; `size` is what was sent of the body."""

    kind: str
    key: str
    started: float
    ended: float | None = None
    size: int = 0


def counts(log):
    """Requests by kind, bytes and depth of a log."""
    kinds = Counter(request.kind for request in log)
    return {"kinds": dict(kinds), "bytes": sum(request.size for request in log), "depth": depth(log)}


def depth(log):
    """Dependent round trips: the longest chain of requests of which each starts after the one before it ended.

    Only meaningful with a latency, without which independent requests hardly overlap, and an upper bound: requests
    that queue behind a limit of concurrency look like dependent ones.
    """
    chain, last = 0, float("-inf")
    for request in sorted((request for request in log if request.ended), key=lambda request: request.ended):
        if request.started >= last - SLACK_SECONDS:
            chain, last = chain + 1, request.ended
    return chain
