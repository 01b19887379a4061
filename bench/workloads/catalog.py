"""Every workload, once: its input, what it must give, and at how many records an engine starts.

An engine runs a workload at two sizes. The larger one is found by trying (`engines/program.py`), so
that a fast engine and a slow one both have some seconds of work. The result is checked at both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from bench.workloads import expected
from bench.workloads.checksum import Checksum
from bench.workloads.records import Record, record_maker, word


@dataclass(frozen=True, eq=False)
class Workload:
    """A workload by name; `results` computes what it must give."""

    name: str
    title: str
    keys: int
    #: Records of the smaller run, by engine.
    starts: dict[str, int]
    results: Callable[[Iterable[Record]], Iterable[expected.Result]]
    pause_ms: int = 0
    text: bool = False
    #: Engines that give one result a key and batch where others give one a record.
    updates_in_batches: frozenset[str] = frozenset()

    def checksum(self, engine: str, records: int, keys: int) -> Checksum:
        """Return the checksum of what the engine must give for so many records and keys."""
        return Checksum(*_checksum(self, engine in self.updates_in_batches, records, keys))


@cache
def _checksum(workload: Workload, final: bool, records: int, keys: int) -> tuple[int, ...]:
    if workload.text:
        words = (word(number, keys) for number in range(records))
        made: Iterable[Record] = ((int(text[1:]), 1, 0) for text in words)
    else:
        made = map(record_maker(records, keys, workload.pause_ms), range(records))
    results = expected.final_values(workload.results) if final else workload.results
    return tuple(Checksum().add(results(made)).as_list())


def _starts(penstock: int, pyflink: int, bytewax: int, pyspark: int) -> dict[str, int]:
    return {"penstock": penstock, "pyflink": pyflink, "bytewax": bytewax, "pyspark": pyspark}


_IN_BATCHES = frozenset({"pyspark"})

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "map",
            "stateless map",
            1000,
            _starts(400_000, 20_000, 100_000, 400_000),
            expected.mapped,
        ),
        Workload(
            "reduce",
            "keyed rolling reduce",
            1000,
            _starts(400_000, 4000, 100_000, 400_000),
            expected.rolling_sums,
            updates_in_batches=_IN_BATCHES,
        ),
        Workload(
            "state",
            "keyed count in ValueState",
            1000,
            _starts(400_000, 4000, 100_000, 10_000),
            expected.rolling_counts,
        ),
        Workload(
            "timer",
            "an event-time timer a record",
            1000,
            _starts(100_000, 2000, 50_000, 400),
            expected.timers,
        ),
        Workload(
            "tumbling",
            "tumbling window of 10 s",
            1000,
            _starts(400_000, 2000, 50_000, 400_000),
            expected.tumbling,
        ),
        Workload(
            "sliding",
            "sliding window of 60 s by 1 s",
            20,
            _starts(50_000, 40, 2000, 100_000),
            expected.sliding,
        ),
        Workload(
            "session",
            "session window, gap of 10 s",
            1000,
            _starts(200_000, 1000, 50_000, 400_000),
            expected.sessions,
            pause_ms=20_000,
        ),
        Workload(
            "join",
            "window join of two streams",
            1000,
            _starts(100_000, 2000, 20_000, 200_000),
            expected.joined,
        ),
        Workload(
            "words",
            "word count of a text file",
            1000,
            _starts(400_000, 4000, 100_000, 400_000),
            expected.rolling_sums,
            text=True,
            updates_in_batches=_IN_BATCHES,
        ),
    )
}
