from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.functions import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
)

CASES: list[tuple[Callable[[], Accumulator[Any, Any]], Any, Any]] = [
    (IntCounter, 9, 0),
    (LongCounter, 9, 0),
    (DoubleCounter, 9.0, 0.0),
    (AverageAccumulator, 3.0, 0.0),
    (IntMaximum, 5, None),
    (IntMinimum, 2, None),
    (DoubleMaximum, 5, None),
    (DoubleMinimum, 2, None),
    (ListAccumulator, [5, 2, 2], []),
    (Histogram, {2: 2, 5: 1}, {}),
]


def filled(kind: Callable[[], Accumulator[Any, Any]], *values: int) -> Accumulator[Any, Any]:
    accumulator = kind()
    for value in values:
        accumulator.add(value)
    return accumulator


@pytest.mark.parametrize(("kind", "total", "start"), CASES)
def test_accumulators(kind: Callable[[], Accumulator[Any, Any]], total: Any, start: Any) -> None:
    whole = filled(kind, 5, 2, 2)
    assert whole.get_local_value() == total
    parts = filled(kind, 5)
    parts.merge(filled(kind, 2, 2))
    parts.merge(kind())
    assert parts.get_local_value() == total
    again = pickle.loads(pickle.dumps(whole))
    assert again == whole
    clone = whole.clone()
    clone.add(100)
    assert whole.get_local_value() == total
    whole.reset_local()
    assert whole.get_local_value() == start
    assert whole == kind()


def test_a_counter_counts_one_if_nothing_is_said() -> None:
    counter = IntCounter()
    counter.add()
    assert counter.get_local_value() == 1
    assert repr(counter) == "IntCounter(1)"
