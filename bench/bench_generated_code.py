"""Rows a second through code that is generated for queries, without an engine around it.

One thread, chunks of tuples with five columns of which one is NULL in a third of the rows; CPU
time, the best of several passes.

    python bench/bench_generated_code.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph.relational.codegen.aggregates import aggregate_program
from penstock.graph.relational.codegen.chunks import calc, keys
from penstock.graph.relational.expressions import Expr, InputRef, Literal, UdfCall
from penstock.graph.relational.functions.catalog import resolve, resolve_aggregate
from penstock.graph.relational.types import BIGINT, DOUBLE, INT, STRING, CharType
from penstock.table.udf import udf

CHUNK = 8192
PASSES = 40
A, B = InputRef(0, INT, "a"), InputRef(1, INT, "b")
D, S, N = InputRef(2, DOUBLE, "d"), InputRef(3, STRING, "s"), InputRef(4, INT, "n")
ROWS = [(i, i * 2, float(i), f"x{i}", i % 7 if i % 3 else None) for i in range(CHUNK)]
PLUS_ONE = udf(lambda x: x + 1, result_type=BIGINT, name="plus_one").function


def number(value: int) -> Literal:
    return Literal(value, INT.not_null())


def rate(work: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(PASSES):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return CHUNK / best


def projected(exprs: Sequence[Expr] | None, where: Expr | None = None) -> Callable[[], Any]:
    function = calc(exprs, where, 5).load()["calc"]
    return lambda: function(ROWS)


def aggregated() -> Callable[[], Any]:
    calls = [resolve_aggregate("COUNT", ()), resolve_aggregate("SUM", (A,))]
    accumulate = aggregate_program(calls, retract=False).load()["accumulate"]
    create = aggregate_program(calls, retract=False).load()["create"]

    def work() -> None:
        groups: dict[int, Any] = {}
        for row in ROWS:
            key = row[0] % 100
            groups[key] = accumulate(groups.get(key) or create(), row)

    return work


def measured() -> dict[str, Callable[[], Any]]:
    total = resolve("+", (A, B))
    half = resolve("*", (D, Literal(2.5, DOUBLE.not_null())))
    like = resolve("LIKE", (S, Literal("x1%", CharType(3, is_nullable=False))))
    positive = resolve(">", (N, number(2)))
    key_of = keys([N], 5).load()["keys"]
    return {
        "project a, a + b, d * 2.5, s": projected([A, total, half, S]),
        "the same where n > 2": projected([A, total, half, S], positive),
        "where n > 2 and s like 'x1%'": projected(None, resolve("AND", (positive, like))),
        "project upper(s), n": projected([resolve("UPPER", (S,)), N]),
        "project a function of the user": projected([UdfCall(PLUS_ONE, (A,), BIGINT), S]),
        "keys": lambda: key_of(ROWS),
        "count and sum by 100 keys, a call for each row": aggregated(),
    }


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, work in measured().items():
        print(f"{name:<50}{rate(work) / 1e6:7.1f} M rows/s")


if __name__ == "__main__":
    main()
