from __future__ import annotations

import pickle

import pytest

from penstock.common import Row, RowKind, Types
from penstock.common.flink_text import to_flink_text
from penstock.errors import TypeMismatchError
from penstock.graph.row_types import make_converter, needs_flink_text

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


@pytest.mark.parametrize(
    "given",
    [
        ("ann", 3),
        ["ann", 3],
        {"age": 3, "name": "ann"},
        Row("ann", 3),
        Row(age=3, name="ann"),
        Row(name="ann", age=3),
    ],
)
def test_a_record_of_a_row_type_becomes_a_row_with_the_declared_names(given):
    convert = pickle.loads(pickle.dumps(make_converter(PERSON)))
    assert convert(given) == Row(name="ann", age=3)


def test_a_row_that_fits_already_is_not_copied():
    row = Row(name="ann", age=3)
    assert make_converter(PERSON)(row) is row


def test_unnamed_fields_are_called_f0_f1():
    assert make_converter(Types.ROW([Types.INT(), Types.INT()]))((1, 2)).f1 == 2


def test_rows_inside_rows_are_converted_and_the_kind_is_kept():
    outer = Types.ROW_NAMED(["id", "who"], [Types.INT(), PERSON])
    given = Row.of_kind(RowKind.DELETE, 1, ("ann", 3))
    result = make_converter(outer)(given)
    assert result.who == Row(name="ann", age=3)
    assert result.get_row_kind() is RowKind.DELETE


def test_none_stays_none_and_other_types_need_no_conversion():
    assert make_converter(PERSON)(None) is None
    assert make_converter(None) is None
    assert make_converter(Types.STRING()) is None
    assert make_converter(Types.TUPLE([Types.STRING()])) is None


def test_a_record_of_another_length_is_an_error():
    with pytest.raises(TypeMismatchError) as caught:
        make_converter(PERSON)(("ann",))
    assert str(caught.value) == (
        "a record of this ROW type must have 2 fields\n"
        "  where: ROW of name, age\n"
        "  got:   tuple ('ann',)\n"
        "  to do: correct the declared type, or what the function returns"
    )


def test_a_record_without_fields_is_an_error():
    with pytest.raises(TypeMismatchError) as caught:
        make_converter(PERSON)(5)
    assert caught.value.what == "a record of a ROW type must be a Row, tuple, list or dict"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (("a", 1), "(a,1)"),
        (("a", ("b", None)), "(a,(b,null))"),
        ([1, 2], "[1, 2]"),
        ({"a": True}, "{a=true}"),
        (Row(1, "a"), "+I[1, a]"),
        ("text", "text"),
    ],
)
def test_values_print_as_in_flink(value, text):
    assert to_flink_text(value) == text


def test_only_types_that_python_prints_differently_need_flinks_text():
    assert needs_flink_text(Types.TUPLE([Types.INT()]))
    assert needs_flink_text(Types.BOOLEAN())
    assert needs_flink_text(Types.LIST(Types.INT()))
    assert not needs_flink_text(Types.STRING())
    assert needs_flink_text(PERSON)
    assert not needs_flink_text(None)
