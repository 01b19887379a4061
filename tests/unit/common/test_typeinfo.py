from __future__ import annotations

import dataclasses
import datetime
import decimal
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, Optional

import pytest

from penstock.common import Instant, Row, Types
from penstock.common.typeinfo import (
    PojoTypeInfo,
    TypeInformation,
    return_type_of,
    type_info_of,
)
from penstock.errors import TypeMismatchError

ALL = {
    "String": Types.STRING(),
    "Boolean": Types.BOOLEAN(),
    "Byte": Types.BYTE(),
    "Short": Types.SHORT(),
    "Integer": Types.INT(),
    "Long": Types.LONG(),
    "Float": Types.FLOAT(),
    "Double": Types.DOUBLE(),
    "Character": Types.CHAR(),
    "BigInteger": Types.BIG_INT(),
    "BigDecimal": Types.BIG_DEC(),
    "Instant": Types.INSTANT(),
    "DateTypeInfo": Types.SQL_DATE(),
    "TimeTypeInfo": Types.SQL_TIME(),
    "TimestampTypeInfo": Types.SQL_TIMESTAMP(),
    "PickledByteArrayTypeInfo": Types.PICKLED_BYTE_ARRAY(),
    "RowTypeInfo(String, Integer)": Types.ROW([Types.STRING(), Types.INT()]),
    "RowTypeInfo(a: String)": Types.ROW_NAMED(["a"], [Types.STRING()]),
    "TupleTypeInfo(String, Integer)": Types.TUPLE([Types.STRING(), Types.INT()]),
    "PrimitiveArrayTypeInfo<Integer>": Types.PRIMITIVE_ARRAY(Types.INT()),
    "BasicArrayTypeInfo<String>": Types.BASIC_ARRAY(Types.STRING()),
    "ObjectArrayTypeInfo<DateTypeInfo>": Types.OBJECT_ARRAY(Types.SQL_DATE()),
    "ListTypeInfo<Long>": Types.LIST(Types.LONG()),
    "MapTypeInfo<String, Double>": Types.MAP(Types.STRING(), Types.DOUBLE()),
}


@pytest.mark.parametrize(("text", "info"), ALL.items())
def test_a_type_prints_as_in_flink_and_equals_only_itself(text: str, info: TypeInformation) -> None:
    assert str(info) == repr(info) == text
    assert [name for name, other in ALL.items() if other == info] == [text]
    again = pickle.loads(pickle.dumps(info))
    assert again == info
    assert hash(again) == hash(info)


@pytest.mark.parametrize(
    ("info", "value", "inside"),
    [
        (Types.INT(), 5, 5),
        (Types.SQL_DATE(), datetime.date(1970, 1, 3), 2),
        (Types.SQL_DATE(), datetime.date(1969, 12, 31), -1),
        (Types.SQL_TIME(), datetime.time(1, 0, 0, 5), 3_600_000_005),
        (Types.INSTANT(), Instant(2, 3000), 2_000_003),
        (Types.LIST(Types.SQL_DATE()), [datetime.date(1970, 1, 2), None], [1, None]),
        (
            Types.MAP(Types.STRING(), Types.SQL_DATE()),
            {"a": datetime.date(1970, 1, 2)},
            {"a": 1},
        ),
        (Types.TUPLE([Types.STRING(), Types.SQL_DATE()]), ("a", None), ("a", None)),
        (
            Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.SQL_DATE()]),
            Row(a=1, b=datetime.date(1970, 1, 2)),
            (1, 1),
        ),
    ],
    ids=str,
)
def test_values_look_different_inside_and_come_back(
    info: TypeInformation, value: Any, inside: Any
) -> None:
    assert info.to_internal_type(value) == inside
    assert info.from_internal_type(inside) == value
    assert info.to_internal_type(None) is info.from_internal_type(None) is None
    assert info.need_conversion() or inside == value


def test_timestamps_come_back_in_local_time() -> None:
    info, moment = Types.SQL_TIMESTAMP(), datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
    assert info.from_internal_type(info.to_internal_type(moment)) == moment
    aware = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    assert info.to_internal_type(aware) == 1_000_000


@dataclasses.dataclass
class Order:
    id: int
    price: float | None
    tags: list[str]
    parent: Optional[Order] = None  # noqa: UP045 - this spelling must be understood too


@pytest.mark.parametrize(
    "value", [Row(b="x", a=1), Row(1, "x"), {"a": 1, "b": "x"}, (1, "x"), [1, "x"]], ids=repr
)
def test_rows_are_made_of_many_things(value: Any) -> None:
    assert Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]).to_internal_type(value) == (
        1,
        "x",
    )


def test_rows_are_made_of_objects() -> None:
    info = Types.ROW_NAMED(["id", "tags"], [Types.INT(), Types.LIST(Types.STRING())])
    assert info.to_internal_type(Order(3, 1.0, ["a"])) == (3, ["a"])


def test_a_row_of_the_wrong_length() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        Types.ROW([Types.INT(), Types.INT()]).to_internal_type((1, 2, 3))
    assert str(caught.value) == (
        "a row of 2 fields was expected\n  where: RowTypeInfo(Integer, Integer)\n  got:   (1, 2, 3)"
    )


def test_an_array_of_what_is_not_primitive() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        Types.PRIMITIVE_ARRAY(Types.STRING())
    assert str(caught.value) == (
        "invalid element type for a primitive array\n"
        "  got:   String\n"
        "  to do: use one of Boolean, Byte, Short, Integer, Long, Float, Double, Character, "
        "or Types.OBJECT_ARRAY"
    )


@pytest.mark.parametrize(
    ("info", "good", "bad"),
    [
        (Types.INT(), 1, True),
        (Types.INT(), None, "1"),
        (Types.DOUBLE(), 1, "1"),
        (Types.BOOLEAN(), True, 1),
        (Types.STRING(), "a", b"a"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a", "a"),
        (Types.LIST(Types.INT()), [1], {1}),
        (Types.TUPLE([Types.INT()]), (1,), (1, 2)),
        (Types.BIG_DEC(), decimal.Decimal(1), 1.0),
    ],
)
def test_a_type_knows_its_python_classes(info: TypeInformation, good: Any, bad: Any) -> None:
    assert info.accepts(good)
    assert not info.accepts(bad)
    assert info.python_type_names()


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "Long"),
        (str, "String"),
        (bool, "Boolean"),
        (bytes, "PrimitiveArrayTypeInfo<Byte>"),
        (decimal.Decimal, "BigDecimal"),
        (datetime.datetime, "TimestampTypeInfo"),
        (datetime.date, "DateTypeInfo"),
        (list[int], "ListTypeInfo<Long>"),
        (dict[str, float], "MapTypeInfo<String, Double>"),
        (tuple[str, int], "TupleTypeInfo(String, Long)"),
        (tuple[int, ...], "ListTypeInfo<Long>"),
        (Optional[str], "String"),  # noqa: UP045
        (str | None, "String"),
        (int | str, "PickledByteArrayTypeInfo"),
        (set[int], "PickledByteArrayTypeInfo"),
        (Any, "PickledByteArrayTypeInfo"),
        (Types.SHORT(), "Short"),
        (
            Order,
            "PojoType<Order, fields = [id: Long, price: Double, tags: ListTypeInfo<String>, "
            "parent: PickledByteArrayTypeInfo]>",
        ),
    ],
    ids=str,
)
def test_types_from_annotations(annotation: Any, text: str) -> None:
    assert str(type_info_of(annotation)) == text


def test_a_dataclass_knows_its_fields() -> None:
    info = type_info_of(Order)
    assert isinstance(info, PojoTypeInfo)
    assert info.get_field_names() == ["id", "price", "tags", "parent"]
    assert info.accepts(Order(1, None, []))
    assert not info.accepts(1)


def returns_pair() -> tuple[str, int]:
    return "", 0


def yields_words() -> Iterator[str]:
    yield ""


def returns_many() -> Iterable[int]:
    return []


def returns_nothing() -> None: ...


@pytest.mark.parametrize(
    ("function", "of_elements", "expected"),
    [
        (returns_pair, False, "TupleTypeInfo(String, Long)"),
        (yields_words, True, "String"),
        (returns_many, True, "Long"),
        (returns_nothing, False, "None"),
        (returns_pair, True, "None"),
        (lambda: 1, False, "None"),
        (len, False, "None"),
    ],
)
def test_types_of_what_functions_return(function: Any, of_elements: bool, expected: str) -> None:
    assert str(return_type_of(function, of_elements=of_elements)) == expected
