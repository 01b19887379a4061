"""Rates of the DataSet API beside a hand-written PySpark program and plain multiprocessing.

    python -m bench.bench_dataset [--records N] [--rounds N]

Word count, join, and group with sort over the same generated data on 2 cores. Results are
compared. Sides take turns; a rate is records of input by seconds, best of the
rounds, without the start of Spark. The plain processes exchange nothing: each makes, or reads, the
part of the input that is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from penstock.dataset import ExecutionEnvironment, Order

WORDS = [f"word{n}" for n in range(5000)]
_PER_LINE = 10


def _line(number: int) -> str:
    return " ".join(WORDS[(number * 31 + i * 977) % len(WORDS)] for i in range(_PER_LINE))


def write_text(path: Path, lines: int) -> None:
    with open(path, "w") as file:
        for number in range(lines):
            file.write(_line(number) + "\n")


# ------------------------------------------------------------------------------------- penstock


def penstock_words(env: ExecutionEnvironment, path: Path, records: int) -> Any:
    counts = (
        env.read_text_file(path)
        .flat_map(lambda line: line.split())
        .map(lambda word: (word, 1))
        .group_by(0)
        .sum(1)
    )
    return dict(counts.collect())


def penstock_join(env: ExecutionEnvironment, path: Path, records: int) -> Any:
    left = env.generate_sequence(0, records - 1).map(lambda n: (n, n % 10))
    right = env.generate_sequence(0, records - 1).map(lambda n: (n * 2, n % 7))
    joined = left.join(right).where(0).equal_to(0).with_(lambda a, b: a[1] * b[1])
    return joined.reduce(add).collect()[0]


def penstock_groups(env: ExecutionEnvironment, path: Path, records: int) -> Any:
    data = env.generate_sequence(0, records - 1).map(lambda n: (n % 1000, (n * 7919) % 10007))
    groups = data.group_by(0).sort_group(1, Order.ASCENDING)
    return sorted(groups.reduce_group(_first_and_last).collect())


def _first_and_last(values: Any) -> list[tuple[int, int, int]]:
    held = list(values)
    return [(held[0][0], held[0][1], held[-1][1])]


# -------------------------------------------------------------------------------------- pyspark


def pyspark_words(context: SparkContext, path: Path, records: int) -> Any:
    counts = (
        context.textFile(str(path), 2)
        .flatMap(lambda line: line.split())
        .map(lambda word: (word, 1))
        .reduceByKey(add, 2)
    )
    return dict(counts.collect())


def pyspark_join(context: SparkContext, path: Path, records: int) -> Any:
    numbers = context.range(0, records, numSlices=2)
    left = numbers.map(lambda n: (n, n % 10))
    right = numbers.map(lambda n: (n * 2, n % 7))
    return left.join(right, 2).map(lambda pair: pair[1][0] * pair[1][1]).reduce(add)


def pyspark_groups(context: SparkContext, path: Path, records: int) -> Any:
    data = context.range(0, records, numSlices=2).map(lambda n: (n % 1000, (n * 7919) % 10007))

    def ends(group: tuple[int, Any]) -> tuple[int, int, int]:
        values = sorted(group[1])
        return group[0], values[0], values[-1]

    return sorted(data.groupByKey(2).map(ends).collect())


# ------------------------------------------------------------------------------ multiprocessing


def _count_part(part: tuple[str, int, int]) -> Counter[str]:
    path, start, end = part
    counts: Counter[str] = Counter()
    with open(path, "rb") as file:
        if start:
            file.seek(start - 1)
            file.readline()
        while file.tell() < end:
            counts.update(file.readline().decode().split())
    return counts


def plain_words(pool: Any, path: Path, records: int) -> Any:
    half = path.stat().st_size // 2
    parts = [(str(path), 0, half), (str(path), half, path.stat().st_size)]
    total: Counter[str] = Counter()
    for counts in pool.map(_count_part, parts):
        total.update(counts)
    return dict(total)


def _join_part(part: tuple[int, int]) -> int:
    side, records = part
    # Each process makes the keys that are its own; there is no exchange.
    right = {n * 2: n % 7 for n in range(side, records, 2)}
    left = {n: n % 10 for n in range(side * 2, records, 4)}
    return sum(value * right[key] for key, value in left.items() if key in right)


def plain_join(pool: Any, path: Path, records: int) -> Any:
    return sum(pool.map(_join_part, [(0, records), (1, records)]))


def _group_part(part: tuple[int, int]) -> list[tuple[int, int, int]]:
    side, records = part
    groups: dict[int, list[int]] = {}
    for n in range(records):
        if n % 1000 % 2 == side:
            groups.setdefault(n % 1000, []).append((n * 7919) % 10007)
    ordered = ((key, sorted(values)) for key, values in groups.items())
    return [(key, values[0], values[-1]) for key, values in ordered]


def plain_groups(pool: Any, path: Path, records: int) -> Any:
    parts = pool.map(_group_part, [(0, records), (1, records)])
    return sorted(parts[0] + parts[1])


_WORK = {
    "words": (penstock_words, pyspark_words, plain_words),
    "join": (penstock_join, pyspark_join, plain_join),
    "group with sort": (penstock_groups, pyspark_groups, plain_groups),
}


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    pool = multiprocessing.get_context("fork").Pool(2)
    env = ExecutionEnvironment.create_local_environment(2)
    env.from_elements(1).count()
    context = SparkContext.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        write_text(path, options.records // _PER_LINE)
        print("| work | Penstock | PySpark by hand | multiprocessing | of PySpark |")
        print("| --- | --- | --- | --- | --- |")
        for name, functions in _WORK.items():
            hosts = (env, context, pool)
            best = [float("inf")] * 3
            for _ in range(options.rounds):
                results = []
                for side, (function, host) in enumerate(zip(functions, hosts, strict=True)):
                    seconds, result = _timed(lambda: function(host, path, options.records))  # noqa: B023
                    best[side] = min(best[side], seconds)
                    results.append(result)
                assert results[0] == results[1] == results[2], f"{name}: results differ"
            rates = [options.records / seconds for seconds in best]
            shown = " | ".join(f"{rate:,.0f}" for rate in rates)
            print(f"| {name} | {shown} | {rates[0] / rates[1]:.2f} |", flush=True)
    pool.terminate()


if __name__ == "__main__":
    main()
