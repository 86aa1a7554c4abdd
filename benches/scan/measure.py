"""Repetitions, interleaved over engines, and their medians. It must not know how an engine is asked."""

import statistics
from collections import Counter
from dataclasses import dataclass, field

from ..failure import Failure
from ..store.handle import Network
from .answers import must_agree

NEAR = Network("0 ms", 0, 0)
FAR = Network("30 ms", 0.030, 80e6)


@dataclass(frozen=True)
class Measured:
    """Medians of one engine and query. Counts and depth are of the far store, seconds by the name of the network."""

    rows: int
    kinds: Counter
    size: int
    depth: int
    seconds: dict

    @property
    def requests(self):
        return sum(self.kinds.values())


@dataclass(frozen=True)
class Refused:
    """An engine that did not answer a query, and why."""

    reason: str


@dataclass
class Runs:
    """What is known of one engine and query so far."""

    seconds: dict = field(default_factory=lambda: {NEAR.name: [], FAR.name: []})
    counts: list = field(default_factory=list)
    answer: tuple | None = None
    refused: Refused | None = None

    def add(self, network, run, counts):
        self.answer = tuple(run["answer"])
        self.seconds[network.name].append(run["seconds"])
        if network is FAR:
            self.counts.append(counts)

    def result(self):
        """The medians, each of a count that was really seen."""
        if self.refused:
            return self.refused
        middle = sorted(self.counts, key=lambda counts: sum(counts["kinds"].values()))[(len(self.counts) - 1) // 2]
        return Measured(
            rows=self.answer[0],
            kinds=Counter(middle["kinds"]),
            size=statistics.median_low(counts["bytes"] for counts in self.counts),
            depth=statistics.median_low(counts["depth"] for counts in self.counts),
            seconds={name: statistics.median(times) for name, times in self.seconds.items()},
        )


def measure(query, engines, store, reps, tell):
    """Results by engine. `engines` maps a name to a function that runs a query once, cold."""
    runs = {name: Runs() for name in engines}
    for network in (NEAR, FAR):
        store.set(network)
        for repetition in range(reps):
            for name, ask in engines.items():
                if not runs[name].refused:
                    once(query, network, store, ask, runs[name])
            answers = {name: run.answer for name, run in runs.items() if run.answer and not run.refused}
            if answers:
                must_agree(query.name, answers)
            tell(progress(query, network, repetition + 1, reps, runs))
    return {name: run.result() for name, run in runs.items()}


def once(query, network, store, ask, runs):
    """One run of one engine; a failure is kept as its result."""
    try:
        run = ask(query)
        counts = store.take()
    except Failure as failure:
        runs.refused = Refused(str(failure))
        return
    runs.add(network, run, counts)


def progress(query, network, repetition, reps, runs):
    def shown(run):
        return "failed" if run.refused else f"{run.seconds[network.name][-1]:.3f}"

    times = ", ".join(f"{name} {shown(run)}" for name, run in runs.items())
    return f"{query.name}, {network.name}, {repetition} of {reps}: {times} s"
