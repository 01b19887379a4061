from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property

import cloudpickle
import pytest

from penstock.core.pickling import detached, dumps, loads
from penstock.errors import SerializationError


@pytest.mark.parametrize("value", [1, "a", None, (1, "a", 2.5)])
def test_what_cannot_change_is_kept(value: object) -> None:
    assert detached(value) is value


@pytest.mark.parametrize("value", [[1], {"a": [1]}, ([1], 2), {1, 2}])
def test_what_can_change_is_copied(value: object) -> None:
    copied = detached(value)
    assert copied == value
    assert copied is not value


def test_a_class_inside_a_function() -> None:
    @dataclass
    class Local:
        items: list[int]

    value = Local([1])
    copied = detached(value)
    assert copied == value
    assert copied.items is not value.items
    assert loads(dumps(value)).items == [1]


def test_what_cannot_travel() -> None:
    lock = threading.Lock()
    for attempt in (dumps, detached):
        with pytest.raises(SerializationError) as caught:
            attempt([lock])
        assert str(caught.value) == (
            "a list cannot be pickled, so it cannot travel between workers or be kept in state\n"
            f"  got:   [{lock!r}] (TypeError: cannot pickle '_thread.lock' object)\n"
            "  to do: send plain data (numbers, strings, tuples, dataclasses) and open files, "
            "locks and connections in open()"
        )


class Lazy:
    def __init__(self) -> None:
        self.asked = 0

    @cached_property
    def answer(self) -> int:
        self.asked += 1
        return 42


def test_a_class_with_a_cached_property_travels() -> None:
    Lazy.__module__ = "__main__"  # a class of a script goes along by value
    try:
        again = cloudpickle.loads(cloudpickle.dumps(Lazy))()
    finally:
        Lazy.__module__ = __name__
    assert (again.answer, again.answer, again.asked) == (42, 42, 1)
