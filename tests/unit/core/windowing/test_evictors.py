from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.common import Time
from penstock.core.windowing import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
)
from tests.unit.core.windowing.fake_context import FakeContext

Elements = list[TimestampedValue[Any]]


def distance(element: float, last: float) -> float:
    return abs(last - element)


def elements(*times: int | None) -> Elements:
    return [TimestampedValue(time, time) for time in times]


CASES = [
    (CountEvictor.of(2), (1, 2, 3), [2, 3]),
    (CountEvictor.of(5), (1, 2, 3), [1, 2, 3]),
    (CountEvictor.of(0), (1, 2), []),
    (TimeEvictor.of(Time.milliseconds(10)), (1, 20, 10, 11), [20, 11]),
    (TimeEvictor.of(Time.milliseconds(10)), (), []),
    (TimeEvictor.of(Time.milliseconds(1)), (None, None), [None, None]),
    (DeltaEvictor.of(3, distance), (1, 9, 4, 6, 7), [9, 6, 7]),
    (DeltaEvictor.of(3, distance), (), []),
]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("evictor", "times", "left"), CASES, ids=range(len(CASES)))
def test_evictors(
    evictor: Any, times: tuple[int | None, ...], left: list[int | None], after: bool
) -> None:
    again = pickle.loads(pickle.dumps(evictor))
    assert again == evictor
    chosen = type(evictor)(**{**vars(evictor), "do_evict_after": after})
    kept = elements(*times)
    untouched, works = chosen.evict_after, chosen.evict_before
    if after:
        untouched, works = works, untouched
    untouched(kept, len(kept), TimeWindow(0, 100), FakeContext())
    assert kept == elements(*times)
    works(kept, len(kept), TimeWindow(0, 100), FakeContext())
    assert [element.get_value() for element in kept] == left


class OnlyEven(Evictor[Any, TimeWindow]):
    """An evictor of the user's own."""

    def evict_before(self, elements: Elements, size: int, window: Any, ctx: Any) -> None:
        elements[:] = [each for each in elements if each.value % 2 == 0]

    def evict_after(self, elements: Elements, size: int, window: Any, ctx: Any) -> None: ...


def test_an_evictor_of_ones_own_changes_the_list_in_place() -> None:
    kept = elements(1, 2, 3, 4)
    OnlyEven().evict_before(kept, 4, TimeWindow(0, 1), None)
    assert [(each.value, each.get_timestamp(), each.has_timestamp()) for each in kept] == [
        (2, 2, True),
        (4, 4, True),
    ]
