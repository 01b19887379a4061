"""SQL queries that are measured: one text for Penstock and Flink, one for Spark, and the answer.

The input is made of a row's number by SQL itself, so that no engine reads anything: `datagen`
counts for Penstock and Flink, `range` for Spark. What a query must give, plain Python computes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

Row = tuple[Any, ...]

KEYS = 1000
WINDOW_MS = 10_000
TOP = 3
EPOCH = datetime(1970, 1, 1)

_COUNTED = """
    'connector' = 'datagen', 'rows-per-second' = '1000000000',
    'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '{last}'
"""
_COLUMNS = "k AS n % 1000, v AS n % 997 + 1, score AS n * 7919 % 1000003"
#: Tables by name: how Penstock and Flink create them, and how Spark does.
TABLES = {
    "records": (
        f"CREATE TEMPORARY TABLE records (n BIGINT, {_COLUMNS}) WITH ({_COUNTED})",
        """CREATE OR REPLACE TEMPORARY VIEW records AS SELECT id AS n, id % 1000 AS k,
        id % 997 + 1 AS v, id * 7919 % 1000003 AS score FROM range(0, {rows}, 1, 2)""",
    ),
    "timed": (
        f"""CREATE TEMPORARY TABLE timed (n BIGINT, {_COLUMNS}, ts AS TO_TIMESTAMP_LTZ(n, 3),
        WATERMARK FOR ts AS ts) WITH ({_COUNTED})""",
        """CREATE OR REPLACE TEMPORARY VIEW timed AS SELECT id AS n, id % 1000 AS k,
        id % 997 + 1 AS v, timestamp_millis(id) AS ts FROM range(0, {rows}, 1, 2)""",
    ),
}


@dataclass(frozen=True, eq=False)
class Query:
    """A query by name.

    :param result: columns of its result, as in CREATE TABLE.
    :param flink: its text for Penstock and Flink.
    :param spark: its text for Spark; None: the same; empty: Spark cannot say it.
    :param starts: rows of the smaller run, by engine.
    :param expected: the final rows for so many rows of input.
    :param most: rows of the larger run at most.
    """

    name: str
    title: str
    result: str
    flink: str
    starts: dict[str, int]
    expected: Callable[[int], Iterable[Row]]
    spark: str | None = None
    tables: tuple[str, ...] = ("records",)
    most: int = 20_000_000
    #: Functions of the user that it calls.
    functions: tuple[str, ...] = ()
    #: Whether a further engine, or a further set-up of one, is measured on it.
    extras: frozenset[str] = field(default_factory=frozenset)
    #: Whether the result depends on the time of day: only its sums can be compared.
    by_clock: bool = False
    #: Whether Penstock and Flink run it in BATCH mode: it has `OVER` on rows that change.
    batch: bool = False
    #: How many rows it reads when there are so many records.
    rows_read: Callable[[int], int] = int

    def runs_on(self, engine: str) -> bool:
        """Return whether an engine can be measured on it."""
        if engine == "pyspark":
            return self.spark != ""
        return engine in ("penstock", "pyflink") or engine in self.extras


def key_of(n: int) -> int:
    return n % KEYS


def value_of(n: int) -> int:
    return n % 997 + 1


def score_of(n: int) -> int:
    return n * 7919 % 1_000_003


def mixed(value: int, number: int) -> int:
    """Do what the scalar function of the workload does."""
    return (value * 31 + number) % 1009


def projected(rows: int) -> Iterator[Row]:
    for n in range(rows):
        if value_of(n) > 300:
            yield key_of(n), value_of(n) * 3 + 1


def counted(rows: int) -> Iterator[Row]:
    counts = Counter(key_of(n) for n in range(rows))
    sums: Counter[int] = Counter()
    for n in range(rows):
        sums[key_of(n)] += value_of(n)
    return ((key, count, sums[key]) for key, count in counts.items())


def windowed(rows: int) -> Iterator[Row]:
    counts = Counter((key_of(n), n // WINDOW_MS) for n in range(rows))
    for (key, window), count in counts.items():
        yield key, EPOCH + timedelta(milliseconds=window * WINDOW_MS), count


def joined(rows: int) -> Iterator[Row]:
    for n in range(0, rows - 1, 2):
        yield n // 2, value_of(n) + value_of(n + 1)


def topmost(rows: int) -> Iterator[Row]:
    by_key: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for n in range(rows):
        by_key[key_of(n)].append((-score_of(n), n))
    for key, scores in by_key.items():
        for score, n in sorted(scores)[:TOP]:
            yield key, n, -score


def scored(rows: int) -> Iterator[Row]:
    return ((key_of(n), mixed(value_of(n), n)) for n in range(rows))


def averaged(rows: int) -> Iterator[Row]:
    """Give for each key the mean of its values weighted by their place, cut to a whole number."""
    held: dict[int, tuple[int, int]] = {}
    for n in range(rows):
        total, weight = held.get(key_of(n), (0, 0))
        held[key_of(n)] = (total + value_of(n) * (n % 7 + 1), weight + n % 7 + 1)
    return ((key, total // weight) for key, (total, weight) in held.items())


def starts(penstock: int, pyflink: int, pyspark: int) -> dict[str, int]:
    """Return the rows of the smaller run by engine."""
    return {"penstock": penstock, "pyflink": pyflink, "pyspark": pyspark}


_BY_HAND = frozenset({"penstock by hand"})
_IN_PYTHON = _BY_HAND | {"pyflink defaults"}

QUERIES = {
    query.name: query
    for query in (
        Query(
            "sql-projection",
            "projection with filter",
            "k BIGINT, number BIGINT",
            "SELECT k, v * 3 + 1 FROM records WHERE v > 300",
            starts(200_000, 200_000, 1_000_000),
            projected,
            extras=_BY_HAND,
        ),
        Query(
            "sql-group",
            "group count and sum",
            "k BIGINT, many BIGINT, total BIGINT",
            "SELECT k, COUNT(*), SUM(v) FROM records GROUP BY k",
            starts(100_000, 100_000, 1_000_000),
            counted,
            extras=_BY_HAND,
        ),
        Query(
            "sql-tumbling",
            "count in tumbling windows of 10 s",
            "k BIGINT, started TIMESTAMP(3), many BIGINT",
            """SELECT k, window_start, COUNT(*)
            FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '10' SECOND))
            GROUP BY k, window_start, window_end""",
            starts(100_000, 100_000, 1_000_000),
            windowed,
            spark="""SELECT k, window(ts, '10 seconds').start, COUNT(*) FROM timed
            GROUP BY k, window(ts, '10 seconds')""",
            tables=("timed",),
            extras=_BY_HAND,
        ),
        Query(
            "sql-join",
            "join of two streams, one to one",
            "id BIGINT, number BIGINT",
            """SELECT a.n / 2, a.v + b.v
            FROM (SELECT * FROM records WHERE n % 2 = 0) a
            JOIN (SELECT * FROM records WHERE n % 2 = 1) b ON a.n / 2 = b.n / 2""",
            starts(50_000, 50_000, 1_000_000),
            joined,
            spark="""SELECT a.n DIV 2, a.v + b.v
            FROM (SELECT * FROM records WHERE n % 2 = 0) a
            JOIN (SELECT * FROM records WHERE n % 2 = 1) b ON a.n DIV 2 = b.n DIV 2""",
            most=4_000_000,
            extras=_BY_HAND,
        ),
        Query(
            "sql-top-n",
            "the three highest of each key",
            "k BIGINT, n BIGINT, score BIGINT",
            """SELECT k, n, score FROM (SELECT k, n, score,
            ROW_NUMBER() OVER (PARTITION BY k ORDER BY score DESC, n) AS place FROM records)
            WHERE place <= 3""",
            starts(100_000, 100_000, 1_000_000),
            topmost,
        ),
        Query(
            "sql-udf",
            "projection with a Python function",
            "k BIGINT, number BIGINT",
            "SELECT k, mixed(v, n) FROM records",
            starts(100_000, 20_000, 200_000),
            scored,
            functions=("mixed",),
            extras=_IN_PYTHON,
        ),
        Query(
            "sql-udaf",
            "group with a Python aggregate",
            "k BIGINT, number BIGINT",
            "SELECT k, averaged(v, n % 7 + 1) FROM records GROUP BY k",
            starts(100_000, 4000, 200_000),
            averaged,
            functions=("averaged",),
            extras=_IN_PYTHON,
        ),
    )
}  # fmt: skip
