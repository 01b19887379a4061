"""Equal keys meet in one slot, in every process; a key that cannot promise that is refused."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.types import Row
from penstock.core.key_groups import (
    default_max_parallelism,
    groups_of_slot,
    key_group,
    slot_of_group,
    stable_hash,
)
from penstock.errors import UnstableKeyError


class Colour(Enum):
    RED = 1
    BLUE = 2


class Level(IntEnum):
    LOW = 1


class Word(str, Enum):
    HELLO = "hello"


class Place(NamedTuple):
    street: str
    number: int


@dataclass(frozen=True)
class Order:
    number: int
    colour: Colour = Colour.RED
    note: str = field(default="", compare=False)


@dataclass(frozen=True, eq=False)
class CaselessName:
    """Equal by its own rule, not by its fields."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CaselessName) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())


class Version:
    """A class that defines equality by hand."""

    def __init__(self, *parts: int) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


UTC = dt.timezone.utc
EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
EQUAL_KEYS = [
    [1, 1.0, True, Decimal(1), Decimal("1.00"), Fraction(1), 1 + 0j, Level.LOW],
    [0, 0.0, -0.0, False, Decimal("-0")],
    [0.5, Fraction(1, 2), Decimal("0.5")],
    [2**80, float(2**80), Decimal(2**80)],
    [-1, -1.0],
    ["hello", Word.HELLO],
    [("a", 1), ("a", 1.0), Place("a", 1)],
    [(1, (2, "x")), (1.0, (2.0, "x"))],
    [dt.datetime(2024, 3, 1, 12, tzinfo=UTC), dt.datetime(2024, 3, 1, 17, 30, tzinfo=EAST)],
    [dt.datetime(2024, 3, 1, 2), dt.datetime(2024, 3, 1, 2, fold=1)],
    [dt.time(12, 0, tzinfo=UTC), dt.time(17, 30, tzinfo=EAST)],
    [dt.timedelta(hours=1), dt.timedelta(seconds=3600)],
    [frozenset({1, 2, "x"}), frozenset(["x", 2.0, True])],
    [Order(1, note="a"), Order(1, note="b"), Order(1.0)],  # type: ignore[arg-type]
    [CaselessName("Ann"), CaselessName("ANN")],
    [Version(1, 2), Version(1, 2)],
    [Row("a", 1), Row("a", 1.0)],
]


@pytest.mark.parametrize("keys", EQUAL_KEYS, ids=lambda keys: type(keys[0]).__name__)
def test_equal_keys_hash_equal(keys: list[Any]) -> None:
    assert all(key == keys[0] for key in keys), "the case itself is wrong"
    assert len({stable_hash(key) for key in keys}) == 1


@given(st.data())
def test_equal_numbers_hash_equal(data: st.DataObject) -> None:
    number = data.draw(st.integers(-(2**70), 2**70) | st.fractions(max_denominator=64))
    forms = [number, Fraction(number), Decimal(number.numerator) / Decimal(number.denominator)]
    if abs(number) < 2**52:
        forms.append(float(number))
    equal = [form for form in forms if form == number]
    assert len({stable_hash(form) for form in equal}) == 1


@given(st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(2100, 1, 1)), st.integers(-1439, 1439))
def test_equal_instants_hash_equal_in_all_zones(moment: dt.datetime, minutes: int) -> None:
    there = moment.replace(tzinfo=UTC).astimezone(dt.timezone(dt.timedelta(minutes=minutes)))
    assert stable_hash(there) == stable_hash(moment.replace(tzinfo=UTC))


#: Keys whose hash is made from their value alone, as text that makes them.
VALUE_KEYS = [
    "'text'", "'\\ud800'", "b'bytes'", "7", "-3.25", "True", "None", "('a', 1, None)",
    "Decimal('2.5')", "Fraction(1, 3)", "dt.date(2024, 1, 1)",
    "dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)", "dt.time(3)", "dt.timedelta(3)",
    "uuid.UUID(int=5)", "frozenset({'a', 'b', 'c'})", "keys.Colour.RED", "keys.Word.HELLO",
    "keys.Order(3, keys.Colour.BLUE)", "keys.Place('x', 1)", "Row('a', 1)", "Row(name='a')",
]  # fmt: skip


def hashes_of_value_keys(keys: Any) -> list[int]:
    names = {"keys": keys, "dt": dt, "uuid": uuid, "Row": Row}
    names |= {"Decimal": Decimal, "Fraction": Fraction}
    return [stable_hash(eval(text, names)) for text in VALUE_KEYS]


def test_the_hash_is_the_same_in_a_process_with_another_hash_seed() -> None:
    here = Path(__file__)
    program = (
        "import importlib.util, json, sys\n"
        f"spec = importlib.util.spec_from_file_location('key_cases', {str(here)!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules['key_cases'] = module\n"
        "spec.loader.exec_module(module)\n"
        "print(json.dumps(module.hashes_of_value_keys(module)))\n"
    )
    seed = "4321" if os.environ.get("PYTHONHASHSEED") != "4321" else "1234"
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == hashes_of_value_keys(sys.modules[__name__])


def test_the_hash_never_changes_between_versions() -> None:
    # State is kept by key group: another hash would lose the state of a job that goes on.
    assert stable_hash("penstock") == 2937512684
    assert [key_group(key, 128) for key in ("a", "b", 1, 2, (1, "a"), None)] == [
        55, 60, 55, 6, 84, 70,
    ]  # fmt: skip


def test_keys_spread_over_all_groups() -> None:
    for keys in (
        range(12_800),
        [f"user-{i}" for i in range(12_800)],
        [i * 4096 for i in range(12_800)],
    ):
        counts = [0] * 128
        for key in keys:
            counts[key_group(key, 128)] += 1
        assert min(counts) > 50
        assert max(counts) < 170


def refused(key: Any) -> str:
    with pytest.raises(UnstableKeyError) as caught:
        key_group(key, 128)
    return str(caught.value)


class Plain:
    def __repr__(self) -> str:
        return "Plain()"


class ByAddress:
    """Has a hash of its own, that does not survive a copy."""

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return "ByAddress()"


NO_HASH = (
    "  to do: use a tuple, a string or a number, or declare the class with @dataclass(frozen=True)"
)


def test_a_list_is_refused() -> None:
    assert refused(["a"]) == f"a list cannot be a key: it has no hash\n  got:   ['a']\n{NO_HASH}"


def test_a_dict_is_refused_inside_a_tuple_too() -> None:
    expected = f"a dict cannot be a key: it has no hash\n  got:   {{'a': 1}}\n{NO_HASH}"
    assert refused({"a": 1}) == expected
    assert refused((1, {"a": 1})) == expected


def test_a_field_without_a_hash_is_named() -> None:
    assert refused(Order([1])) == f"a list cannot be a key: it has no hash\n  got:   [1]\n{NO_HASH}"  # type: ignore[arg-type]


def test_an_object_that_is_hashed_by_its_address_is_refused() -> None:
    assert refused(Plain()) == (
        "a Plain cannot be a key: its hash is its address in memory\n"
        "  got:   Plain()\n"
        "  to do: declare the class with @dataclass(frozen=True), or define __eq__ and __hash__"
    )


def test_an_object_whose_copy_is_another_key_is_refused() -> None:
    assert refused(ByAddress()) == (
        "a ByAddress cannot be a key: a copy of it is another key\n"
        "  got:   ByAddress()\n"
        "  to do: define __eq__ and __hash__ over its values"
    )


@pytest.mark.parametrize("nan", [float("nan"), Decimal("nan"), Decimal("snan"), complex("nan")])
def test_nan_is_refused(nan: Any) -> None:
    assert refused(nan) == (
        "NaN cannot be a key: it is not equal to itself\n"
        f"  got:   {nan!r}\n"
        "  to do: filter NaN out, or map it to None, in front of key_by"
    )


def test_a_local_class_can_be_a_key() -> None:
    class Local:
        def __init__(self, value: int) -> None:
            self.value = value

        def __eq__(self, other: object) -> bool:
            return type(other) is type(self) and vars(other) == vars(self)

        def __hash__(self) -> int:
            return self.value

    assert stable_hash(Local(3)) == stable_hash(Local(3))


# --- key groups and slots ---------------------------------------------------------------------


def flink_ranges(parallelism: int, max_parallelism: int) -> Iterator[range]:
    """Return the key groups of each subtask as Flink's documentation has them: near-equal runs."""
    for index in range(parallelism):
        start = -(-index * max_parallelism // parallelism)
        end = -(-(index + 1) * max_parallelism // parallelism)
        yield range(start, end)


@given(st.integers(1, 200), st.integers(0, 400))
def test_every_group_belongs_to_exactly_one_slot(parallelism: int, more: int) -> None:
    max_parallelism = parallelism + more
    ranges = [groups_of_slot(slot, parallelism, max_parallelism) for slot in range(parallelism)]
    assert ranges == list(flink_ranges(parallelism, max_parallelism))
    assert [group for groups in ranges for group in groups] == list(range(max_parallelism))
    for slot, groups in enumerate(ranges):
        assert {slot_of_group(group, parallelism, max_parallelism) for group in groups} == {slot}


def test_flink_ranges_by_example() -> None:
    assert [groups_of_slot(i, 3, 128) for i in range(3)] == [
        range(43), range(43, 86), range(86, 128),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [(1, 128), (85, 128), (86, 256), (100, 256), (171, 256), (172, 512), (30_000, 32_768)],
)
def test_default_max_parallelism_is_flinks(parallelism: int, expected: int) -> None:
    assert default_max_parallelism(parallelism) == expected
