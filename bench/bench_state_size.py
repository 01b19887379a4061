"""Does a batch cost what changed in it, or what is in state?

Two jobs in one process count records by key. One has 10,000 keys in state, the other 1,000,000; in
both a batch touches 1,000 keys. Printed: the median of the warm batches of each, and their ratio.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

from penstock.core.functions import KeyedProcessFunction
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
)
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

TOUCHED = 1_000
FILL = 250_000  # records a batch while the state is being filled
SMALL_BATCHES = 120
WARM = 60  # the last ones of them count
GOAL = 1.5


class FillThenTouch(Source):
    """All keys once in large batches, then a thousand of them in each small batch."""

    bounded = True
    parallel = False

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Enumerator(self.keys)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        for start in range(split_range.start, split_range.end, 10_000):
            end = min(start + 10_000, split_range.end)
            # A stride that is prime to the number of keys: batches touch keys all over the state.
            yield SourceBatch([(i * 7919) % self.keys for i in range(start, end)])


class _Enumerator(SplitEnumerator):
    batch_starts: ClassVar[list[float]] = []

    def __init__(self, keys: int) -> None:
        self._keys = keys
        self._end = keys + SMALL_BATCHES * TOUCHED
        _Enumerator.batch_starts = []

    def initial(self) -> Position:
        return {"splits": {"all": {"at": 0, "subtask": 0, "done": False}}, "done": False}

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        at = start["splits"]["all"]["at"]
        if at >= self._keys:
            self.batch_starts.append(time.perf_counter())
        step = min(FILL, self._keys - at) if at < self._keys else TOUCHED
        end = min(at + step, self._end)
        done = end == self._end
        return {"splits": {"all": {"at": end, "subtask": 0, "done": done}}, "done": done}

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        first, last = (p["splits"]["all"]["at"] for p in (start, end))
        return [[SplitRange("all", first, last)] if first < last else []]


class Count(KeyedProcessFunction):
    """Count the records of each key."""

    def open(self, runtime_context) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 1_000_000:  # nothing is sent on: the batch is about state
            yield value


def warm_batch_ms(keys: int) -> float:
    """Return the median time of a small batch with that many keys in state."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = env.from_source(FillThenTouch(keys), None, "keys")
    source.key_by(lambda key: key).process(Count()).print()
    env.execute(f"state of {keys} keys")
    starts = _Enumerator.batch_starts[-WARM - 1 :]
    return statistics.median((later - earlier) * 1000 for earlier, later in pairwise(starts))


def main() -> int:
    """Run both and print the ratio."""
    warm_batch_ms(1_000)  # the JVM compiles its hot code
    small = warm_batch_ms(10_000)
    large = warm_batch_ms(1_000_000)
    ratio = large / small
    print(f"   10,000 keys in state: {small:6.1f} ms a batch of {TOUCHED:,} keys")
    print(f"1,000,000 keys in state: {large:6.1f} ms")
    print(f"ratio {ratio:.2f} (goal: at most {GOAL})")
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
