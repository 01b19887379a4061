from __future__ import annotations

import pickle
from collections import namedtuple
from dataclasses import dataclass

import pytest

from penstock.common import Row
from penstock.errors import TypeMismatchError
from penstock.graph.fields import FieldKey, Projection, get_field, replace_field

Point = namedtuple("Point", ["x", "y"])


@dataclass(frozen=True)
class Reading:
    sensor: str
    value: float


@dataclass
class Slotted:
    __slots__ = ("name",)
    name: str


class Plain:
    def __init__(self) -> None:
        self.first = 1
        self.inner = {"deep": Reading("a", 2.0)}


@pytest.mark.parametrize(
    ("record", "field", "expected"),
    [
        (("a", 2), 1, 2),
        (("a", 2), -1, 2),
        (("a", 2), "f1", 2),
        (["a", 2], 0, "a"),
        (Point(3, 4), "y", 4),
        (Point(3, 4), 0, 3),
        (Row("a", 2), 1, 2),
        (Row(name="a", count=2), "count", 2),
        ({"name": "a"}, "name", "a"),
        ({"a.b": 1}, "a.b", 1),
        (Reading("s", 1.5), "value", 1.5),
        (Reading("s", 1.5), 0, "s"),
        (Slotted("n"), "name", "n"),
        (Plain(), "first", 1),
        (Plain(), 0, 1),
        (Plain(), "inner.deep.value", 2.0),
        (("a", Reading("s", 1.5)), "f1.sensor", "s"),
        (7, 0, 7),
        ("word", 0, "word"),
    ],
)
def test_a_field_is_read_by_position_or_name(record, field, expected):
    assert get_field(record, field) == expected


@pytest.mark.parametrize(
    ("record", "field", "changed"),
    [
        (("a", 2, "z"), 1, ("a", 9, "z")),
        (("a", 2), "f0", (9, 2)),
        (["a", 2], 0, [9, 2]),
        (Point(3, 4), "y", Point(3, 9)),
        (Point(3, 4), 0, Point(9, 4)),
        (Row(name="a", count=2), "count", Row(name="a", count=9)),
        ({"n": 1, "m": 2}, "n", {"n": 9, "m": 2}),
        (Reading("s", 1.5), "value", Reading("s", 9)),
        (Reading("s", 1.5), 0, Reading(9, 1.5)),
        (Slotted("n"), "name", Slotted(9)),
        ({"in": ("a", 1)}, "in.f1", {"in": ("a", 9)}),
        (7, 0, 9),
    ],
)
def test_a_field_is_replaced_in_a_copy(record, field, changed):
    before = pickle.dumps(record) if not isinstance(record, int) else None
    result = replace_field(record, field, 9)
    assert result == changed
    assert type(result) is type(changed)
    if before is not None:
        assert pickle.dumps(record) == before


def test_a_row_keeps_its_kind_and_names_when_a_field_is_replaced():
    row = Row(a=1, b=2)
    assert replace_field(row, 0, 5).as_dict() == {"a": 5, "b": 2}
    assert row.a == 1


@pytest.mark.parametrize(
    ("record", "field"),
    [((1, 2), 2), ((1, 2), "x"), ({"a": 1}, "b"), (5, 1), (5, "a"), (Reading("s", 1.0), "no")],
)
def test_a_missing_field_is_named(record, field):
    with pytest.raises(TypeMismatchError) as caught:
        get_field(record, field)
    assert caught.value.what == f"the record has no field {field!r}"


def test_the_text_for_a_missing_field():
    with pytest.raises(TypeMismatchError) as caught:
        replace_field((1, 2), 5, 0)
    assert str(caught.value) == (
        "the record has no field 5\n  got:   tuple (1, 2)\n  to do: the fields are 0, 1"
    )


def test_a_key_of_one_field_is_the_field_and_of_several_a_tuple():
    assert FieldKey((0,))(("a", "b")) == "a"
    assert FieldKey((1, 0))(("a", "b")) == ("b", "a")
    assert pickle.loads(pickle.dumps(FieldKey(("x",)))) == FieldKey(("x",))


def test_a_projection_is_a_tuple_in_the_given_order():
    assert Projection((2, 0))(("a", "b", "c")) == ("c", "a")
    assert Projection((1,))(("a", "b")) == ("b",)
