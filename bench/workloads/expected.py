"""What each workload must give, computed by plain Python from its definition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from bench.workloads.records import Record

Result = tuple[int, int]

TUMBLING_S = 10
SLIDING_S, SLIDE_S = 60, 1
SESSION_GAP_S = 10
JOIN_S = 4
TIMER_MS = 1000


def scaled(key: int, value: int) -> Result:
    """Do what the map does."""
    return key, value * 3 + 1


def paired(key: int, left: int, right: int) -> Result:
    """Do what the join does with a pair."""
    return key, left * 3 + right


def is_left(time: int) -> bool:
    """Tell on which side of the join a record is: the turns of a key alternate."""
    return time // 1000 % 2 == 0


def mapped(records: Iterable[Record]) -> Iterator[Result]:
    for key, value, _ in records:
        yield scaled(key, value)


def rolling_sums(records: Iterable[Record]) -> Iterator[Result]:
    sums: dict[int, int] = defaultdict(int)
    for key, value, _ in records:
        sums[key] += value
        yield key, sums[key]


def rolling_counts(records: Iterable[Record]) -> Iterator[Result]:
    return rolling_sums((key, 1, time) for key, _, time in records)


def timers(records: Iterable[Record]) -> Iterator[Result]:
    for key, _, time in records:
        yield key, time + TIMER_MS


def tumbling(records: Iterable[Record]) -> Iterator[Result]:
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for key, value, time in records:
        sums[key, time // (TUMBLING_S * 1000)] += value
    return ((key, total) for (key, _), total in sums.items())


def sliding(records: Iterable[Record]) -> Iterator[Result]:
    by_key: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for key, value, time in records:
        by_key[key][time // 1000] += value
    panes = SLIDING_S // SLIDE_S
    for key, seconds in by_key.items():
        total = seen = 0
        for end in range(min(seconds), max(seconds) + panes):
            total += seconds.get(end, 0) - seconds.get(end - panes, 0)
            seen += (end in seconds) - (end - panes in seconds)
            if seen:
                yield key, total


def sessions(records: Iterable[Record]) -> Iterator[Result]:
    gap = SESSION_GAP_S * 1000
    last: dict[int, int] = {}
    sums: dict[int, int] = {}
    for key, value, time in records:
        if key in last and time - last[key] > gap:
            yield key, sums.pop(key)
        last[key] = time
        sums[key] = sums.get(key, 0) + value
    yield from sums.items()


def joined(records: Iterable[Record]) -> Iterator[Result]:
    sides: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for key, value, time in records:
        left, right = sides[key, time // (JOIN_S * 1000)]
        (left if is_left(time) else right).append(value)
    for (key, _), (left, right) in sides.items():
        for a in left:
            for b in right:
                yield paired(key, a, b)


def final_values(results: Callable[[Iterable[Record]], Iterable[Result]]) -> Callable:
    """Return only the last result of each key: what an engine gives that updates in batches."""
    return lambda records: dict(results(records)).items()
