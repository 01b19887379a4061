"""The priority queue of sorted runs gives what a sorted list gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.time import MAX_WATERMARK
from penstock.runtime import sorted_runs
from penstock.runtime.sorted_runs import SortedRuns

entries = st.tuples(st.integers(0, 9), st.sampled_from(["a", 1, None, ("b", 2)]))
operations = st.lists(
    st.tuples(st.just("add"), entries)
    | st.tuples(st.just("discard"), entries)
    | st.tuples(st.just("take"), st.integers(0, 9))
    | st.tuples(st.just("first"), st.none()),
    max_size=80,
)


def run(operations: list[Any]) -> None:
    queue, model = SortedRuns(), []
    for what, argument in operations:
        if what == "add" and argument not in model:
            queue.add(argument)
            model.append(argument)
        elif what == "discard" and argument in model:
            queue.discard(argument)
            model.remove(argument)
        elif what == "take":
            due = sorted((e for e in model if e[0] <= argument), key=lambda e: e[0])
            model = [e for e in model if e[0] > argument]
            assert queue.take(argument) == due
        elif what == "first":
            assert queue.first_time() == min((e[0] for e in model), default=None)
    assert queue.take(MAX_WATERMARK) == sorted(model, key=lambda e: e[0])
    assert queue.first_time() is None


@given(operations)
def test_it_gives_what_a_sorted_list_gives(operations: list[Any]) -> None:
    run(operations)


@given(operations)
def test_it_does_so_when_what_was_discarded_is_cleared_away_at_once(operations: list[Any]) -> None:
    few, sorted_runs._FEW = sorted_runs._FEW, 0
    try:
        run(operations)
    finally:
        sorted_runs._FEW = few


def test_what_was_discarded_does_not_pile_up() -> None:
    queue = SortedRuns()
    queue.add((10**9, "stays"))
    for time in range(20_000):
        queue.add((time, "moves"))
        queue.discard((time, "moves"))
    held = len(queue._fresh) + sum(map(len, queue._runs)) + len(queue._gone)
    assert held < 5000
    assert queue.take(MAX_WATERMARK) == [(10**9, "stays")]
