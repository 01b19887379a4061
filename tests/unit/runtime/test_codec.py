"""What has been handed over stays what it was, and is copied only if it could change."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import pickle
import threading
import uuid
from collections import OrderedDict, namedtuple
from decimal import Decimal
from enum import Enum, Flag
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.types import Row
from penstock.errors import SerializationError
from penstock.runtime.codec import (
    Frozen,
    dumps,
    freeze,
    is_immutable,
    loads,
    pack_times,
    thaw,
    unpack_times,
)

T = TypeVar("T")


class Colour(Enum):
    RED = "red"


class Rights(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: Any
    y: Any = 0


class NamedPoint(Point):
    """A subclass of a named tuple has a dictionary, which can change."""


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass(frozen=True)
class Reading:
    sensor: str
    value: Any = None


@dataclasses.dataclass(frozen=True)
class Box(Generic[T]):
    content: T


class PlainSubclass(Reading):
    """Not frozen: the generated `__setattr__` protects the fields of `Reading` only."""


@dataclasses.dataclass(frozen=True)
class FrozenSubclass(Reading):
    unit: str = "C"


@dataclasses.dataclass(frozen=True)
class FrozenList(list):  # type: ignore[type-arg]
    name: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class WithSlots:
    content: Any


@dataclasses.dataclass(frozen=True)
class PrivateSlot:
    __slots__ = ("__hidden",)


@dataclasses.dataclass(frozen=True)
class WithUnsetField:
    name: str
    later: list[int] = dataclasses.field(init=False)


@dataclasses.dataclass(frozen=True)
class WithCache:
    numbers: tuple[int, ...]

    @functools.cached_property
    def doubled(self) -> list[int]:
        return [2 * number for number in self.numbers]


@dataclasses.dataclass
class Mutable:
    items: list[int]


class Text(str):
    """A subclass of an atomic type can have attributes."""


IMMUTABLE = [
    None, True, 7, 1.5, 2j, "text", b"bytes", ..., range(3), Decimal("1.5"), Fraction(1, 3),
    uuid.UUID(int=7), dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
    dt.time(1, 2), dt.timedelta(1), dt.timezone.utc, (), (1, ("a", (None,))),
    frozenset({1, ("a", 2)}), Colour.RED, Rights.READ | Rights.WRITE, Point(1, (2, 3)),
    Pair("a", 1), Reading("a", 1.5), Reading("a", Point(1, Reading("b"))), Box(("a", 1)),
    FrozenSubclass("a", 1), (Reading("a"), Colour.RED), WithSlots((1, 2)),
]  # fmt: skip
MUTABLE = [
    [1], {"a": 1}, {1}, bytearray(b"a"), (1, [2]), ("a", ({},)), Point(1, [2]), NamedPoint(1, 2),
    Pair([], 1), Reading("a", []), Reading("a", Reading("b", {})), Box({1: 2}), Mutable([1]),
    PlainSubclass("a", 1), FrozenList(name="a"), FrozenSubclass("a", [1]), WithSlots([1]),
    Row(1, 2), Row(name="a"), (Row(1),), Text("a"), OrderedDict(a=1), frozenset({(Row(1),)}),
]  # fmt: skip


@pytest.mark.parametrize("value", IMMUTABLE, ids=lambda value: type(value).__name__)
def test_what_cannot_change_is_kept_as_it_is(value: Any) -> None:
    assert is_immutable(value)
    assert freeze(value) is value
    assert thaw(value) is value


@pytest.mark.parametrize("value", MUTABLE, ids=repr)
def test_what_can_change_is_frozen(value: Any) -> None:
    assert not is_immutable(value)
    entry = freeze(value)
    assert type(entry) is Frozen
    assert thaw(entry) == value
    assert type(thaw(entry)) is type(value)
    assert thaw(entry) is not thaw(entry)


def test_an_attribute_of_a_plain_subclass_of_a_frozen_dataclass_counts() -> None:
    reading = PlainSubclass("a", 1)
    reading.note = "first"  # type: ignore[attr-defined]
    entry = freeze(reading)
    reading.note = "second"  # type: ignore[attr-defined]
    assert thaw(entry).note == "first"


def test_what_a_cached_property_holds_can_change() -> None:
    value = WithCache((1, 2))
    assert is_immutable(value)
    value.doubled.append(99)
    entry = freeze(value)
    value.doubled.append(100)
    assert thaw(entry).doubled == [2, 4, 99]


def test_a_private_slot_is_looked_at() -> None:
    value = PrivateSlot()
    object.__setattr__(value, "_PrivateSlot__hidden", [])
    assert not is_immutable(value)


def test_a_field_that_was_never_set_is_no_error() -> None:
    value = WithUnsetField("a")
    assert freeze(value) is value


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.builds(Reading, st.text(max_size=3), inner)
        | st.builds(Point, inner, inner)
        | st.builds(Row, inner, inner)
        | st.builds(Mutable, st.lists(st.integers(), max_size=2))
    ),
    max_leaves=8,
)


def change_deeply(value: Any) -> None:
    """Change everything inside a value that can be changed."""
    if isinstance(value, (list, Row)):
        for item in list(value):
            change_deeply(item)
        value.append("changed") if isinstance(value, list) else value.__setitem__(0, "changed")
    elif isinstance(value, dict):
        for item in list(value.values()):
            change_deeply(item)
        value["changed"] = True
    elif isinstance(value, tuple):
        for item in value:
            change_deeply(item)
    elif isinstance(value, Reading):
        change_deeply(value.value)
    elif isinstance(value, Mutable):
        value.items.append(99)


@given(plain_values)
def test_no_later_change_shows(value: Any) -> None:
    before = pickle.loads(pickle.dumps(value))
    entry = freeze(value)
    change_deeply(value)
    assert thaw(entry) == before
    change_deeply(thaw(entry))
    assert thaw(entry) == before


def test_frozen_values_compare_and_travel_by_their_bytes() -> None:
    assert freeze([1]) == freeze([1])
    assert freeze([1]) != freeze([2])
    assert freeze([1]) != [1]
    assert len({freeze([1]), freeze([1])}) == 1
    assert pickle.loads(pickle.dumps(freeze([1]))) == freeze([1])


def test_reading_a_value_and_freezing_it_again_gives_the_same_bytes() -> None:
    values = [[1, "a", "a"], {"b": {"c": (1, [2])}}, Mutable([1]), Row(name="a", tags=["x", "x"])]
    for value in values:
        once = freeze(thaw(freeze(value)))
        assert freeze(thaw(once)) == once


def test_an_instance_of_a_local_class_travels_with_its_class() -> None:
    @dataclasses.dataclass
    class Local:
        items: list[int]

    value = Local([1])
    entry = freeze(value)
    value.items.append(2)
    assert thaw(entry) == Local([1])
    assert isinstance(loads(dumps(value)), Local)


def test_a_lambda_can_be_sent() -> None:
    assert loads(dumps(lambda x: x + 1))(1) == 2


def test_what_cannot_be_pickled_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(SerializationError) as caught:
        freeze({"lock": threading.Lock()})
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "a dict cannot be pickled, so it cannot travel between workers or be kept in state"
    )
    assert lines[1].startswith("  got:   {'lock': <unlocked _thread.lock object at 0x")
    assert lines[1].endswith("(TypeError: cannot pickle '_thread.lock' object)")
    assert lines[2] == (
        "  to do: send plain data (numbers, strings, tuples, dataclasses) and open files, "
        "locks and connections in open()"
    )
    assert len(lines) == 3


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")

    def __reduce__(self) -> Any:
        raise RuntimeError("no way")


def test_a_value_that_cannot_even_be_shown_does_not_hide_the_error() -> None:
    with pytest.raises(SerializationError) as caught:
        dumps(Unspeakable())
    assert str(caught.value) == (
        "a Unspeakable cannot be pickled, so it cannot travel between workers or be kept in state\n"
        "  got:   <Unspeakable whose repr raised RuntimeError> (RuntimeError: no way)\n"
        "  to do: send plain data (numbers, strings, tuples, dataclasses) and open files, "
        "locks and connections in open()"
    )


@given(st.lists(st.integers(-(2**70), 2**70) | st.none()))
def test_timestamps_come_back(timestamps: list[int | None]) -> None:
    unpacked = unpack_times(pack_times(list(timestamps)))
    if unpacked is None:
        assert all(timestamp is None for timestamp in timestamps)
    else:
        assert unpacked == timestamps


def test_timestamps_are_compact() -> None:
    assert pack_times([None, None]) is None
    assert len(pack_times(list(range(1000)))) == 8000
