"""Group and join a text file that is many times larger than Spark's memory.

    python -m bench.bench_dataset_large [--gigabytes 5] [--folder DIR]

The driver's JVM, which on a local master does all of Spark's work, has 1 GB; a worker begins to use
the disk at 256 MB. Lines are `key,number,padding` of 200 bytes. *Group*: all lines by key,
sorted by number, so everything is shuffled and nothing combined. *Join*: all lines with a second
file that has one line for each key. Results are checked by what the generator must have
written. Told are seconds, and the most memory that the JVM and a worker have had.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil

from penstock.common import Configuration
from penstock.dataset import DataSet, ExecutionEnvironment, Order

_LINE = 200
_KEYS = 500_009  # a prime: every key comes equally often, far apart
_STEP = 7919
_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.python.worker.memory": "256m",
}


class Memory(threading.Thread):
    """Watch the resident memory of the processes below this one."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.jvm = 0
        self.worker = 0
        self._ended = threading.Event()

    def run(self) -> None:
        here = psutil.Process()
        while not self._ended.wait(0.2):
            for child in here.children(recursive=True):
                try:
                    rss = child.memory_info().rss
                    if "java" in child.name():
                        self.jvm = max(self.jvm, rss)
                    else:
                        self.worker = max(self.worker, rss)
                except psutil.Error:
                    continue

    def stop(self) -> None:
        self._ended.set()
        self.join()


def write_lines(path: Path, repeats: int) -> int:
    """Write every key `repeats` times; return the number of lines."""
    padding = "x" * (_LINE - len("k0000000,0000000000,\n"))
    with open(path, "w") as file:
        for start in range(0, repeats * _KEYS, 10_000):
            end = min(start + 10_000, repeats * _KEYS)
            file.write(
                "".join(f"k{n * _STEP % _KEYS:07},{n:010},{padding}\n" for n in range(start, end))
            )
    return repeats * _KEYS


def write_keys(path: Path) -> None:
    with open(path, "w") as file:
        for key in range(_KEYS):
            file.write(f"k{key:07},{key % 100}\n")


def _fields(line: str) -> tuple[str, int, str]:
    key, number, padding = line.split(",")
    return key, int(number), padding


def _group(records: Iterable[tuple[str, int, str]]) -> Iterator[tuple[int, int]]:
    first = last = None
    count = 0
    for _, number, _ in records:
        assert last is None or last < number, "a group is not sorted"
        first = number if first is None else first
        last = number
        count += 1
    assert first is not None and last is not None
    yield count, last - first


def _add(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(sum, zip(one, other, strict=True)))


def grouped(lines: DataSet) -> Any:
    """Return the number of lines, and the sum of the spans of all groups."""
    groups = lines.map(_fields).group_by(0).sort_group(1, Order.ASCENDING)
    return groups.reduce_group(_group).reduce(_add).collect()[0]


def joined(lines: DataSet, keys: DataSet) -> Any:
    """Return the number of pairs, and a sum over both sides."""
    weights = keys.map(lambda line: (line.split(",")[0], int(line.split(",")[1])))
    pairs = lines.map(_fields).join(weights).where(0).equal_to(0)
    return pairs.with_(lambda a, b: (1, a[1] % 7 + b[1])).reduce(_add).collect()[0]


def _expected(repeats: int) -> tuple[tuple[int, int], tuple[int, int]]:
    lines = repeats * _KEYS
    weights = repeats * sum(key % 100 for key in range(_KEYS))
    sevens = sum(n % 7 for n in range(lines % 7)) + lines // 7 * 21
    return (lines, _KEYS * _KEYS * (repeats - 1)), (lines, weights + sevens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--folder", help="where the files are generated; default: a temporary one")
    options = parser.parse_args()
    repeats = max(round(options.gigabytes * 1e9 / _LINE / _KEYS), 1)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        large, small = Path(folder) / "lines.txt", Path(folder) / "keys.txt"
        lines = write_lines(large, repeats)
        write_keys(small)
        print(f"{large.stat().st_size / 1e9:.2f} GB, {lines:,} lines, {_KEYS:,} keys", flush=True)
        configuration = Configuration()
        for key, value in _SETTINGS.items():
            configuration.set_string(key, value)
        # Shuffled and spilled data, beside the input.
        configuration.set_string("spark.local.dir", folder)
        os.environ["SPARK_LOCAL_DIRS"] = folder
        env = ExecutionEnvironment.create_local_environment(2, configuration)
        by_group, by_join = _expected(repeats)
        print("| work | seconds | MB/s | JVM at most | a worker at most |")
        print("| --- | --- | --- | --- | --- |")
        for name, work, due in (
            ("group with sort", lambda: grouped(env.read_text_file(large)), by_group),
            (
                "join",
                lambda: joined(env.read_text_file(large), env.read_text_file(small)),
                by_join,
            ),
        ):
            memory = Memory()
            memory.start()
            began = time.perf_counter()
            result = work()
            seconds = time.perf_counter() - began
            memory.stop()
            assert result == due, f"{name}: {result} in place of {due}"
            rate = large.stat().st_size / 1e6 / seconds
            peaks = f"{memory.jvm >> 20:,} MB | {memory.worker >> 20:,} MB"
            print(f"| {name} | {seconds:.0f} | {rate:.0f} | {peaks} |", flush=True)


if __name__ == "__main__":
    main()
