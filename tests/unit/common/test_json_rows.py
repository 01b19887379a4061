"""Rows as JSON in messages."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Instant, Row, Types
from penstock.common.serialization import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.errors import ConfigurationError, SerializationError

WORDS = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])


def reading(type_info: Any, *calls: str) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(type_info)
    for call in calls:
        getattr(builder, call)()
    return builder.build()


def writing(type_info: Any) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(type_info).build()


EVERYTHING = Types.ROW_NAMED(
    ["s", "b", "i", "d", "dec", "big", "day", "time", "at", "point", "raw", "list", "map", "row"],
    [
        Types.STRING(),
        Types.BOOLEAN(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.BIG_INT(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.INT()),
        Types.MAP(Types.INT(), Types.STRING()),
        Types.ROW_NAMED(["x"], [Types.OBJECT_ARRAY(Types.ROW_NAMED(["y"], [Types.FLOAT()]))]),
    ],
)
RECORD = Row(
    s='café "quoted"\n',
    b=True,
    i=-(1 << 63),
    d=0.1,
    dec=Decimal("12345678901234567890.123456789"),
    big=1 << 100,
    day=dt.date(2024, 2, 29),
    time=dt.time(23, 59, 58, 250000),
    at=dt.datetime(2024, 2, 29, 12, 0, 0, 5000),
    point=Instant(1709208000, 123456789),
    raw=b"\x00\xff",
    list=[1, None, 3],
    map={1: "a", 2: None},
    row=Row(x=[Row(y=1.5)]),
)


def test_json_holds_every_type() -> None:
    message = writing(EVERYTHING).serialize(RECORD)
    assert json.loads(message, parse_float=str) == {
        "s": 'café "quoted"\n',
        "b": True,
        "i": -(1 << 63),
        "d": "0.1",
        "dec": "12345678901234567890.123456789",
        "big": 1 << 100,
        "day": "2024-02-29",
        "time": "23:59:58.250000Z",
        "at": "2024-02-29T12:00:00.005000Z",
        "point": "2024-02-29T12:00:00.123456789Z",
        "raw": "AP8=",
        "list": [1, None, 3],
        "map": {"1": "a", "2": None},
        "row": {"x": [{"y": "1.5"}]},
    }
    assert reading(EVERYTHING).deserialize(message) == RECORD


def test_json_is_compact_utf8() -> None:
    assert writing(WORDS).serialize({"word": "é", "count": None}) == (
        '{"word":"é","count":null}'.encode()
    )


def test_json_of_tuples_dicts_and_objects() -> None:
    class Word:
        def __init__(self) -> None:
            self.count, self.word = 2, "be"

    for record in (("be", 2), {"count": 2, "word": "be"}, Row(count=2, word="be"), Word()):
        assert writing(WORDS).serialize(record) == b'{"word":"be","count":2}'


def test_json_takes_numbers_in_quotes_and_anything_as_text() -> None:
    schema = reading(WORDS)
    assert schema.deserialize(b'{"word": 7, "count": " 8 "}') == Row(word="7", count=8)
    assert schema.deserialize(b'{"word": {"a": [1.5, true]}}') == Row(
        word='{"a":[1.5,true]}', count=None
    )


def test_json_of_any_kind() -> None:
    types = Types.ROW_NAMED(["any"], [Types.PICKLED_BYTE_ARRAY()])
    message = b'{"any":{"a":[1,2.5,null,"x"]}}'
    row = reading(types).deserialize(message)
    assert row == Row(any={"a": [1, 2.5, None, "x"]})
    assert writing(types).serialize(row) == message


def test_special_doubles_are_quoted_as_java_does() -> None:
    types = Types.ROW_NAMED(["a", "b"], [Types.DOUBLE(), Types.FLOAT()])
    message = writing(types).serialize((float("-inf"), float("nan")))
    assert message == b'{"a":"-Infinity","b":"NaN"}'
    row = reading(types).deserialize(message)
    assert row is not None and row.a == float("-inf") and row.b != row.b


def test_moments_with_an_offset_become_utc() -> None:
    types = Types.ROW_NAMED(["at"], [Types.SQL_TIMESTAMP()])
    row = reading(types).deserialize(b'{"at": "2024-03-01T01:30:00+02:00"}')
    assert row == Row(at=dt.datetime(2024, 2, 29, 23, 30))


def test_missing_fields_are_none_or_an_error() -> None:
    assert reading(WORDS).deserialize(b'{"word": "be"}') == Row(word="be", count=None)
    strict = reading(WORDS, "fail_on_missing_field")
    assert strict.deserialize(b'{"word": "be", "count": null}') == Row(word="be", count=None)
    with pytest.raises(SerializationError) as caught:
        strict.deserialize(b'{"word": "be"}')
    assert str(caught.value) == (
        "a message is no JSON object with the fields of the row\n"
        "  where: JsonRowDeserializationSchema, RowTypeInfo(word: String, count: Integer)\n"
        '  got:   b\'{"word": "be"}\' (count: the field is missing)\n'
        "  to do: correct the type, or leave such messages out by ignore_parse_errors()"
    )


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (b"no json", "Expecting value"),
        (b"[1]", "[1] is no object"),
        (b"\xff", "invalid start byte"),
        (b'{"count": "x"}', "count: invalid literal"),
        (b'{"count": 2147483648}', "count: 2147483648 is out of the range of Integer"),
        (b'{"count": 1.5}', "count: invalid literal"),
        (b'{"count": true}', "count: invalid literal"),
    ],
)
def test_what_is_wrong_is_told(message: bytes, says: str) -> None:
    with pytest.raises(SerializationError) as caught:
        reading(WORDS).deserialize(message)
    assert says in str(caught.value)


def test_the_error_names_the_inner_field() -> None:
    inner = Types.ROW_NAMED(["y"], [Types.SQL_DATE()])
    with pytest.raises(SerializationError, match=r"\(x\.y: "):
        reading(Types.ROW_NAMED(["x"], [inner])).deserialize(b'{"x": {"y": "soon"}}')


def test_ignored_errors() -> None:
    lenient = reading(WORDS, "ignore_parse_errors")
    assert lenient.deserialize(b'{"word": "be", "count": "x"}') == Row(word="be", count=None)
    assert lenient.deserialize(b"no json") is None
    assert lenient.deserialize(b"[]") is None


def test_both_ways_of_errors_are_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        reading(WORDS, "ignore_parse_errors", "fail_on_missing_field")
    assert str(caught.value) == (
        "errors cannot be ignored and raised at once\n"
        "  where: JsonRowDeserializationSchema.builder()\n"
        "  to do: call either fail_on_missing_field() or ignore_parse_errors()"
    )


def test_a_row_type_is_needed() -> None:
    with pytest.raises(ConfigurationError) as caught:
        JsonRowSerializationSchema.builder().build()
    assert str(caught.value) == (
        "the type of the rows is needed\n"
        "  where: JsonRowSerializationSchema.builder().with_type_info()\n"
        "  got:   None\n"
        "  to do: pass Types.ROW_NAMED(names, types)"
    )
    with pytest.raises(ConfigurationError, match="no form in JSON"):
        writing(Types.ROW([Types.TUPLE([Types.INT()])]))


def test_a_record_that_does_not_fit() -> None:
    with pytest.raises(SerializationError) as caught:
        writing(WORDS).serialize(("be", "2"))
    assert str(caught.value) == (
        "a record does not have the fields of the row\n"
        "  where: JsonRowSerializationSchema, RowTypeInfo(word: String, count: Integer)\n"
        "  got:   ('be', '2') (count: '2' is no whole number)\n"
        "  to do: map the stream to rows of this type in front of the sink"
    )
    for record in (("be",), ("be", True), (1, 2), 5):
        with pytest.raises(SerializationError):
            writing(WORDS).serialize(record)


def test_json_schema() -> None:
    text = json.dumps(
        {
            "type": "object",
            "definitions": {"place": {"type": "object", "properties": {"x": {"type": "number"}}}},
            "properties": {
                "name": {"type": ["string", "null"]},
                "at": {"type": "string", "format": "date-time"},
                "raw": {"type": "string", "contentEncoding": "base64"},
                "ok": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
                "places": {"type": "array", "items": {"$ref": "#/definitions/place"}},
            },
        }
    )
    schema = JsonRowDeserializationSchema.builder().json_schema(text).build()
    assert schema.get_produced_type() == Types.ROW_NAMED(
        ["name", "at", "raw", "ok", "places"],
        [
            Types.STRING(),
            Types.SQL_TIMESTAMP(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.BOOLEAN(),
            Types.OBJECT_ARRAY(Types.ROW_NAMED(["x"], [Types.BIG_DEC()])),
        ],
    )
    row = schema.deserialize(b'{"places": [{"x": 1.10}]}')
    assert row is not None and row.places == [Row(x=Decimal("1.10"))]


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"type": "string"}',
        '{"type": "object", "properties": {"a": {}}}',
        '{"type": "object", "properties": {"a": {"type": "array"}}}',
        '{"type": "object", "properties": {"a": {"type": ["string", "number"]}}}',
        '{"type": "object", "properties": {"a": {"$ref": "#"}}}',
    ],
)
def test_what_is_no_json_schema(text: str) -> None:
    with pytest.raises(ConfigurationError, match="this JSON schema does not describe rows"):
        JsonRowDeserializationSchema.builder().json_schema(text)
