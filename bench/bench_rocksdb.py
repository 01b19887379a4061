"""State larger than memory: what the backend `rocksdb` costs beside `hashmap`.

A job fills its state with a record for each key, in large batches, and then touches a thousand keys
in each of many small ones. Printed: keys a second while it fills, the median of the
last small batches, what one of these writes to Spark's state store, and the most memory that a
Python worker and the JVM took.

    python -m bench.bench_rocksdb --backend rocksdb --keys 10000000 --payload 180
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import psutil

from bench.bench_slot_state import noise
from penstock.common import Configuration
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
FILL_BYTES = 20_000_000  # of a batch while the state is being filled
WARM = 0.5  # of the small batches: the last ones of them count
_MB = 1 << 20


class FillThenTouch(Source):
    """All keys once in large batches, then a thousand of them in each small batch."""

    bounded = True
    parallel = False

    def __init__(self, given: argparse.Namespace, checkpoints: str) -> None:
        self.keys: int = given.keys
        self.given = given
        self.checkpoints = checkpoints

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Enumerator(self.given, self.checkpoints)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        for start in range(split_range.start, split_range.end, 10_000):
            end = min(start + 10_000, split_range.end)
            # A stride that is prime to the number of keys: batches touch keys all over the state.
            yield SourceBatch([(i * 7919) % self.keys for i in range(start, end)])


class _Enumerator(SplitEnumerator):
    fill_starts: ClassVar[list[float]] = []
    small_starts: ClassVar[list[float]] = []
    written: ClassVar[list[int]] = []

    def __init__(self, given: argparse.Namespace, checkpoints: str) -> None:
        self._keys: int = given.keys
        self._fill = FILL_BYTES // given.payload
        self._checkpoints = Path(checkpoints)
        self._end = given.keys + given.batches * TOUCHED

    def initial(self) -> Position:
        return {"splits": {"all": {"at": 0, "subtask": 0, "done": False}}, "done": False}

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        at = start["splits"]["all"]["at"]
        now = time.perf_counter()
        if at < self._keys:
            self.fill_starts.append(now)
        else:
            self.small_starts.append(now)
            self.written.append(last_changelogs(self._checkpoints))
        step = min(self._fill, self._keys - at) if at < self._keys else TOUCHED
        end = min(at + step, self._end)
        done = end == self._end
        return {"splits": {"all": {"at": end, "subtask": 0, "done": done}}, "done": done}

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        first, last = (p["splits"]["all"]["at"] for p in (start, end))
        return [[SplitRange("all", first, last)] if first < last else []]


def last_changelogs(checkpoints: Path) -> int:
    """Return the bytes that the last batch added to Spark's state store, over all slots."""
    newest: dict[Path, tuple[int, int]] = {}
    for file in checkpoints.rglob("*.changelog"):
        try:
            found = (int(file.name.split("_")[0].split(".")[0]), file.stat().st_size)
        except (OSError, ValueError):
            continue
        newest[file.parent] = max(found, newest.get(file.parent, (-1, 0)))
    return sum(size for _, size in newest.values())


class Keep(KeyedProcessFunction):
    """Count the records of each key, beside something that weighs."""

    def __init__(self, payload: int) -> None:
        self.payload = payload

    def open(self, runtime_context) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value, ctx):
        count, payload = self.held.value() or (0, noise(value, self.payload))
        self.held.update((count + 1, payload))
        if count == 1_000_000:  # nothing is sent on: the batch is about state
            yield value


class Memory(threading.Thread):
    """Look at how much memory the workers and the JVM take, until told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.worker = 0  # the most that one had, without what it shares with others
        self.jvm = 0
        self._stop_now = threading.Event()

    def run(self) -> None:
        while not self._stop_now.wait(1.0):
            for process in psutil.Process().children(recursive=True):
                try:
                    if process.name() == "java":
                        self.jvm = max(self.jvm, process.memory_info().rss)
                    else:
                        self.worker = max(self.worker, process.memory_full_info().pss)
                except psutil.Error:
                    continue

    def stop(self) -> None:
        """Look no more."""
        self._stop_now.set()
        self.join()


def measure(given: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Run the job and return what was found."""
    configuration = Configuration()
    configuration.set_string("state.backend.type", given.backend)
    configuration.set_string("state.backend.rocksdb.memory.fixed-per-slot", given.memory)
    configuration.set_string("penstock.worker.cache-bytes", "16 gb")
    configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = env.from_source(FillThenTouch(given, f"{folder}/checkpoints"), None, "keys")
    source.key_by(lambda key: key).process(Keep(given.payload)).print()
    onlooker = Memory()
    onlooker.start()
    env.execute(f"{given.backend} {given.keys}")
    onlooker.stop()
    fill, small = _Enumerator.fill_starts, _Enumerator.small_starts
    warm = int(given.batches * WARM)
    batches = [later - earlier for earlier, later in pairwise(small[-warm - 1 :])]
    assert len(fill) > 1, "there must be keys for two batches at least"
    filled = given.keys - FILL_BYTES // given.payload
    return {
        "backend": given.backend,
        "keys": given.keys,
        "payload_mb": round(given.keys * given.payload / _MB),
        "keys_per_s_filling": round(filled / (small[0] - fill[1])),
        "small_batch_ms": round(statistics.median(batches) * 1000),
        "small_batch_p95_ms": round(statistics.quantiles(batches, n=20)[-1] * 1000),
        "bytes_written_per_batch": round(statistics.median(_Enumerator.written[-warm:])),
        "worker_mb": round(onlooker.worker / _MB),
        "jvm_mb": round(onlooker.jvm / _MB),
    }


def main() -> int:
    """Measure one backend at one size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="rocksdb", choices=("hashmap", "rocksdb"))
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--payload", type=int, default=180, help="bytes of each key's value")
    parser.add_argument("--batches", type=int, default=150, help="small ones")
    parser.add_argument("--memory", default="128 mb", help="of RocksDB in each worker")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-rocksdb-") as folder:
        print(json.dumps(measure(given, folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
