"""Logical types print as Flink prints them, and combine by its rules."""

from __future__ import annotations

import pickle

import pytest

from penstock.graph.relational import types as t
from penstock.graph.relational.type_rules import (
    arithmetic_type,
    can_cast_implicitly,
    common_type,
    comparable,
)

D = t.DecimalType


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (t.INT, "INT"),
        (t.INT.not_null(), "INT NOT NULL"),
        (t.BIGINT, "BIGINT"),
        (t.STRING, "STRING"),
        (t.VarCharType(5), "VARCHAR(5)"),
        (t.CharType(3), "CHAR(3)"),
        (t.BYTES, "BYTES"),
        (t.VarBinaryType(5), "VARBINARY(5)"),
        (D(5, 2), "DECIMAL(5, 2)"),
        (t.TimeType(3), "TIME(3)"),
        (t.TimestampType(3), "TIMESTAMP(3)"),
        (t.LocalZonedTimestampType(3), "TIMESTAMP_LTZ(3)"),
        (
            t.LocalZonedTimestampType(3, attribute=t.TimeAttribute.ROWTIME),
            "TIMESTAMP_LTZ(3) *ROWTIME*",
        ),
        (t.YearMonthIntervalType("YEAR"), "INTERVAL YEAR(2)"),
        (t.DayTimeIntervalType(), "INTERVAL DAY(2) TO SECOND(6)"),
        (t.ArrayType(t.INT.not_null()), "ARRAY<INT NOT NULL>"),
        (t.MapType(t.STRING, t.INT), "MAP<STRING, INT>"),
        (t.MultisetType(t.INT), "MULTISET<INT>"),
        (t.RowType.of(("a", t.INT), ("b`c", t.STRING)), "ROW<`a` INT, `b``c` STRING>"),
        (t.NULL, "NULL"),
    ],
)
def test_a_type_prints_as_flink_prints_it(given: t.LogicalType, text: str) -> None:
    assert given.as_summary_string() == text
    assert pickle.loads(pickle.dumps(given)) == given


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (t.INT, t.BIGINT, "BIGINT"),
        (t.INT.not_null(), t.BIGINT.not_null(), "BIGINT NOT NULL"),
        (t.INT, t.FLOAT, "FLOAT"),
        (t.FLOAT, D(5, 2), "DOUBLE"),
        (t.INT, D(5, 2), "DECIMAL(12, 2)"),
        (t.NULL, t.INT.not_null(), "INT"),
        (t.CharType(2), t.CharType(5), "VARCHAR(5)"),
        (t.CharType(2), t.CharType(2), "CHAR(2)"),
        (t.CharType(2), t.VarCharType(1), "VARCHAR(2)"),
        (t.DATE, t.TimestampType(3), "TIMESTAMP(3)"),
        (t.TimestampType(3), t.LocalZonedTimestampType(6), "TIMESTAMP_LTZ(6)"),
        (t.ArrayType(t.INT), t.ArrayType(t.DOUBLE), "ARRAY<DOUBLE>"),
        (t.INT, t.STRING, None),
        (t.BOOLEAN, t.INT, None),
        (t.DATE, t.TIME, None),
    ],
)
def test_types_have_a_type_in_common(
    left: t.LogicalType, right: t.LogicalType, common: str | None
) -> None:
    for pair in ([left, right], [right, left]):
        found = common_type(pair)
        assert (None if found is None else found.as_summary_string()) == common


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("+", t.INT, t.INT, "INT"),
        ("+", t.TINYINT, t.BIGINT, "BIGINT"),
        ("/", t.INT, t.INT, "INT"),
        ("%", t.BIGINT, t.INT, "INT"),
        ("+", D(10, 2), D(5, 3), "DECIMAL(12, 3)"),
        ("*", D(10, 2), D(5, 3), "DECIMAL(16, 5)"),
        ("/", D(10, 2), D(5, 3), "DECIMAL(19, 8)"),
        ("*", D(38, 10), D(38, 10), "DECIMAL(38, 6)"),
        ("+", D(5, 2), t.DOUBLE, "DOUBLE"),
        ("+", t.STRING, t.INT, None),
    ],
)
def test_arithmetic_has_the_type_that_flink_derives(
    operator: str, left: t.LogicalType, right: t.LogicalType, result: str | None
) -> None:
    found = arithmetic_type(operator, left, right)
    assert (None if found is None else found.as_summary_string()) == result


def test_a_text_is_compared_with_a_number_as_a_number() -> None:
    assert comparable(t.STRING, t.INT) == t.INT
    assert comparable(t.ArrayType(t.INT), t.INT) is None


def test_numbers_widen_by_themselves_and_never_narrow() -> None:
    assert can_cast_implicitly(t.INT, t.BIGINT)
    assert can_cast_implicitly(t.BIGINT, t.DOUBLE)
    assert not can_cast_implicitly(t.BIGINT, t.INT)
    assert not can_cast_implicitly(t.DOUBLE, D(10, 2))
    assert not can_cast_implicitly(t.STRING, t.INT)
