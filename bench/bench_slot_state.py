"""One slot's state without Spark: what a backend costs in CPU, memory and bytes, at any size.

Keys are filled in large batches and then touched by the thousand, in a process of its own with a
log in files. Printed: CPU of a key while filling, CPU and bytes written of a small batch, and the
most memory that the process took, beside the weight of the log.

    python -m bench.bench_slot_state --backend rocksdb --keys 10000000 --payload 180
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.core.state import ValueStateDescriptor
from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.log import SlotLog, TaskInventory

FILL_BYTES = 20_000_000  # of a batch while the state is being filled
TOUCHED = 1_000
SMALL_BATCHES = 100
_MB = 1 << 20


class FileStore:
    """A slot's log in a folder, in the place of Spark's state store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written = 0

    def read_meta(self) -> bytes | None:
        return self._read("meta")

    def write_meta(self, data: bytes) -> None:
        self._write("meta", data)

    def read(self, number: int) -> bytes | None:
        return self._read(str(number))

    def write(self, number: int, data: bytes) -> None:
        self._write(str(number), data)

    def remove(self, number: int) -> None:
        (self._folder / str(number)).unlink()

    def _read(self, name: str) -> bytes | None:
        path = self._folder / name
        return path.read_bytes() if path.exists() else None

    def _write(self, name: str, data: bytes) -> None:
        self.written += len(data)
        (self._folder / name).write_bytes(data)


_NOISE = random.Random(1).randbytes(1 << 23)


def noise(key: int, length: int) -> bytes:
    """Return bytes that nobody can compress."""
    start = key * 2_654_435_761 % (len(_NOISE) - length)
    return _NOISE[start : start + length]


class OneState:
    """What a task is to its log: one value by key."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.backend = make_backend("bench", lambda: 0, settings)
        self.value = self.backend.get_state(ValueStateDescriptor("held"))

    def touch(self, key: int, payload: int) -> None:
        """Count a record of a key, beside something that weighs."""
        self.backend.context.key = key
        count, held = self.value.value() or (0, noise(key, payload))
        self.value.update((count + 1, held))

    def take_delta(self) -> dict[Any, Any]:
        changes = self.backend.take_delta()
        return {"op": changes} if changes else {}

    def full_plain_state(self) -> dict[Any, bytes]:
        return {}

    def apply(self, delta: dict[Any, Any]) -> None:
        for changes in delta.values():
            self.backend.apply(changes)

    def settle(self) -> None:
        self.backend.settle()

    def flush(self) -> None:
        self.backend.flush()

    def inventory(self) -> Iterator[TaskInventory]:
        for part in self.backend.inventory():
            yield ("op", *part)


def memory_mb() -> int:
    """Return the most memory that this process has had."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Fill, touch, and return what was found."""
    settings = {
        "state.backend.type": given.backend,
        "state.backend.rocksdb.memory.fixed-per-slot": given.memory,
        "state.backend.rocksdb.localdir": str(folder / "rocksdb"),
    }
    (folder / "log").mkdir()
    store, state, log = FileStore(folder / "log"), OneState(settings), SlotLog()
    fill, keys = FILL_BYTES // given.payload, given.keys
    before = time.process_time()
    for start in range(0, keys, fill):
        for number in range(start, min(start + fill, keys)):
            state.touch(number * 7919 % keys, given.payload)
        log.append(store, state)
    filled = time.process_time() - before
    written = store.written
    batches, sizes = [], []
    for number in range(SMALL_BATCHES):
        store.written, before = 0, time.process_time()
        for touched in range(number * TOUCHED, (number + 1) * TOUCHED):
            state.touch(touched * 104_729 % keys, given.payload)
        log.append(store, state)
        batches.append(time.process_time() - before)
        sizes.append(store.written)
    return {
        "backend": given.backend,
        "keys": keys,
        "payload_mb": round(keys * given.payload / _MB),
        "log_mb": round(sum(f.stat().st_size for f in (folder / "log").iterdir()) / _MB),
        "written_filling_mb": round(written / _MB),
        "us_per_key_filling": round(filled / keys * 1e6, 1),
        "ms_per_small_batch": round(statistics.median(batches) * 1000, 1),
        "ms_per_small_batch_mean": round(statistics.mean(batches) * 1000, 1),
        "kb_per_small_batch": round(statistics.median(sizes) / 1024),
        "kb_per_small_batch_mean": round(statistics.mean(sizes) / 1024),
        "memory_mb": memory_mb(),
    }


def main() -> int:
    """Measure one backend at one size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="rocksdb", choices=("hashmap", "rocksdb"))
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--payload", type=int, default=180, help="bytes of each key's value")
    parser.add_argument("--memory", default="128 mb", help="of RocksDB")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-slot-") as folder:
        print(json.dumps(measure(given, Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
