from __future__ import annotations

import copy
import pickle

import pytest

from penstock.common import Row, RowKind
from penstock.common.flink_text import to_flink_text

NAMED = Row(name="Alice", age=11)
UNNAMED = Row("Alice", 11)


@pytest.mark.parametrize(
    ("row", "text", "printed"),
    [
        (NAMED, "Row(name='Alice', age=11)", "+I[Alice, 11]"),
        (UNNAMED, "<Row('Alice', 11)>", "+I[Alice, 11]"),
        (Row(None, True, [1, None]), "<Row(None, True, [1, None])>", "+I[null, true, [1, null]]"),
        (Row({"a": False}, Row(1)), "<Row({'a': False}, <Row(1)>)>", "+I[{a=false}, +I[1]]"),
        (Row.of_kind(RowKind.DELETE, 1), "<Row(1)>", "-D[1]"),
        (Row.of_kind(RowKind.UPDATE_BEFORE, a=1), "Row(a=1)", "-U[1]"),
        (Row.of_kind(RowKind.UPDATE_AFTER), "<Row()>", "+U[]"),
    ],
)
def test_text(row: Row, text: str, printed: str) -> None:
    assert repr(row) == str(row) == text
    assert to_flink_text(row) == printed


def test_rows_are_equal_if_their_names_have_the_same_values_in_any_order() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1, b=2) != Row(b=1, a=2)
    assert Row(a=1) != Row(1)
    assert Row(1) != Row(a=1)
    assert Row(a=1) != Row(a=1, b=None)
    assert Row.of_kind(RowKind.DELETE, a=1, b=2) != Row(b=2, a=1)


def test_fields_are_reached_by_position_name_and_attribute() -> None:
    assert (NAMED[0], NAMED["age"], NAMED.name, NAMED[:]) == ("Alice", 11, "Alice", ["Alice", 11])
    assert list(NAMED) == ["Alice", 11]
    assert len(NAMED) == 2


def test_fields_can_be_set() -> None:
    row = Row(a=1, b=2, c=3)
    row[0], row["b"], row.c = 10, 20, 30
    assert row == Row(a=10, b=20, c=30)


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError):
        NAMED.size
    with pytest.raises(AttributeError):
        NAMED.size = 1
    with pytest.raises(ValueError):
        NAMED["size"]
    with pytest.raises(KeyError):
        UNNAMED["name"]
    with pytest.raises(AttributeError):
        UNNAMED.name


def test_membership_is_of_names_if_there_are_any() -> None:
    assert "name" in NAMED
    assert "Alice" not in NAMED
    assert "Alice" in UNNAMED


def test_a_row_of_names_makes_rows() -> None:
    person = Row("name", "age")
    assert person("Alice", 11) == NAMED
    with pytest.raises(ValueError, match="expected 2 values but got"):
        person(1, 2, 3)


def test_positions_and_names_cannot_be_mixed() -> None:
    with pytest.raises(ValueError, match="Can not use both args and kwargs to create Row"):
        Row(1, a=2)


def test_as_dict() -> None:
    row = Row(key=1, value=[Row(a=2)])
    assert row.as_dict() == {"key": 1, "value": [Row(a=2)]}
    assert row.as_dict(recursive=True) == {"key": 1, "value": [{"a": 2}]}
    with pytest.raises(TypeError, match="Cannot convert a Row class into dict"):
        UNNAMED.as_dict()


def test_values_by_names_follow_the_names_asked_for() -> None:
    assert NAMED.get_fields_by_names(["age", "name"]) == [11, "Alice"]
    assert UNNAMED.get_fields_by_names(["age", "name"]) == ["Alice", 11]


def test_equal_means_names_values_and_kind() -> None:
    assert NAMED != UNNAMED
    assert Row(name="Alice", age=11) == NAMED
    assert Row.of_kind(RowKind.DELETE, "Alice", 11) != UNNAMED
    assert UNNAMED != ("Alice", 11)
    assert len({NAMED, Row(name="Alice", age=11)}) == 1


def test_names_can_be_given_later() -> None:
    row = Row("Alice", 11)
    row.set_field_names(["name", "age"])
    assert row == NAMED
    assert row.get_field_names() == ["name", "age"]


@pytest.mark.parametrize("row", [NAMED, UNNAMED, Row.of_kind(RowKind.DELETE, a=[1])])
def test_copies_are_equal(row: Row) -> None:
    assert pickle.loads(pickle.dumps(row)) == row
    assert copy.deepcopy(row) == row
    assert copy.copy(row) == row
