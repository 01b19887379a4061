"""Formats of rows: what is read, what is written, what is refused."""

from __future__ import annotations

import datetime
import json
import pickle
from decimal import Decimal
from typing import Any

import pytest

from penstock.errors import SourceError, ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.base import TableContext
from penstock.table.factories.formats.base import RowFormat
from penstock.table.factories.formats.registry import find_format
from tests.unit.common.test_avro_messages import Registry, registry

__all__ = ["registry"]  # the fixture
_LTZ = t.LocalZonedTimestampType(precision=3)
_UTC = datetime.timezone.utc
ALL = t.RowType.of(
    ("i", t.INT), ("s", t.STRING), ("d", t.DecimalType(precision=20, scale=2)), ("f", t.DOUBLE),
    ("b", t.BOOLEAN), ("day", t.DATE), ("at", t.TimestampType(precision=3)), ("utc", _LTZ),
    ("time", t.TIME), ("data", t.BYTES), ("list", t.ArrayType(element=t.INT)),
    ("map", t.MapType(key=t.STRING, value=t.INT)),
    ("row", t.RowType.of(("x", t.INT), ("y", t.STRING))),
)  # fmt: skip
ROW = (
    7, "tea, hot", Decimal("12345678901234567.80"), 0.1, True, datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 500_000),
    datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=_UTC), datetime.time(4, 5, 6), b"\x00\xff",
    [1, None, 3], {"a": 1, "b": None}, (1, None),
)  # fmt: skip
NONE = (None,) * len(ROW)


def _format(name: str, schema: t.RowType = ALL, **options: str) -> RowFormat:
    given = {f"{name}.{key.replace('__', '.').replace('_', '-')}": v for key, v in options.items()}
    context = TableContext("t", schema, {"connector": "kafka", "format": name, **given})
    made = find_format(context)
    copy: RowFormat = pickle.loads(pickle.dumps(made))
    return copy


_AB = t.RowType.of(("a", t.INT), ("b", t.STRING))


@pytest.mark.parametrize("name", ["json", "avro"])
@pytest.mark.parametrize("row", [ROW, NONE], ids=["values", "nulls"])
def test_what_is_written_is_read_again(name: str, row: tuple[Any, ...]) -> None:
    made = _format(name)
    data = made.encode(row)
    assert data is not None
    assert made.decode(data) == [row]


@pytest.mark.parametrize("name", ["debezium-json", "canal-json", "maxwell-json", "ogg-json"])
def test_changes_are_written_and_read_again(name: str) -> None:
    made = _format(name)
    for kind, again in ((0, 0), (1, 3), (2, 0), (3, 3)):
        data = made.encode((*ROW, kind))
        assert data is not None
        assert made.decode(data) == [(*ROW, again)]


def test_json_is_written_as_flink_writes_it() -> None:
    assert _format("json").encode(ROW) == (
        b'{"i":7,"s":"tea, hot","d":12345678901234567.8,"f":0.1,"b":true,"day":"2024-02-29",'
        b'"at":"2024-02-29 01:02:03.5","utc":"2024-02-29 01:02:03Z","time":"04:05:06",'
        b'"data":"AP8=","list":[1,null,3],"map":{"a":1,"b":null},"row":{"x":1,"y":null}}'
    )


def test_options_of_json_that_writes() -> None:
    schema = t.RowType.of(("at", t.TimestampType(precision=3)), ("utc", _LTZ), ("x", t.INT))
    row = (datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=_UTC), None)
    iso = _format(
        "json", schema, timestamp_format__standard="ISO-8601", encode__ignore_null_fields="true"
    )
    assert iso.encode(row) == b'{"at":"2024-01-01T00:00:00","utc":"2024-01-01T00:00:00Z"}'
    small = t.RowType.of(("d", t.DecimalType(precision=20, scale=10)))
    assert _format("json", small).encode((Decimal("0.0000000270"),)) == b'{"d":2.7E-8}'
    plain = _format("json", small, encode__decimal_as_plain_number="true")
    assert plain.encode((Decimal("0.0000000270"),)) == b'{"d":0.000000027}'
    maps = t.RowType.of(("m", t.MapType(key=t.STRING, value=t.INT)))
    dropped = _format("json", maps, map_null_key__mode="DROP")
    assert dropped.encode(({None: 1, "a": 2},)) == b'{"m":{"a":2}}'
    named = _format("json", maps, map_null_key__mode="LITERAL", map_null_key__literal="none")
    assert named.encode(({None: 1},)) == b'{"m":{"none":1}}'


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('{"a": "7", "b": 1.50}', (7, "1.5")),
        ('{"a": null, "c": 1}', (None, None)),
        ('{"a": 1, "b": {"x": [1, "ü"]}}', (1, '{"x":[1,"ü"]}')),
        ('{"a": 1.9, "b": true}', (1, "true")),
    ],
)
def test_json_takes_values_of_other_forms(text: str, row: tuple[Any, ...]) -> None:
    assert _format("json", _AB).decode(text.encode()) == [row]


@pytest.mark.parametrize("text", ['{"a": "x"}', '{"a": 3000000000}', "[1]", "{", "\xff"])
def test_json_that_is_none_fails_or_is_passed_over(text: str) -> None:
    data = text.encode("latin-1")
    with pytest.raises(SourceError, match="this is no row in the format json"):
        _format("json", _AB).decode(data)
    if text != "\xff":
        quiet = _format("json", _AB, ignore_parse_errors="true")
        assert quiet.decode(data) == ([(None, None)] if '"a"' in text else [])


def test_the_error_of_a_message_names_the_field_and_what_to_do() -> None:
    with pytest.raises(SourceError) as caught:
        _format("json", _AB).decode(b'{"b": "x", "a": "y"}')
    assert str(caught.value) == (
        "this is no row in the format json: field 'a': invalid literal for int() with base 10: "
        "'y'\n"
        '  got:   \'{"b": "x", "a": "y"}\'\n'
        "  to do: correct the data or the table's columns, or set 'json.ignore-parse-errors' = "
        "'true'"
    )


def test_a_missing_field_fails_if_it_is_to() -> None:
    strict = _format("json", _AB, fail_on_missing_field="true")
    assert strict.decode(b'{"a": null, "b": null}') == [(None, None)]
    with pytest.raises(SourceError, match="there is no field 'b'"):
        strict.decode(b'{"a": 1}')
    with pytest.raises(ValidationError, match="cannot both be true"):
        _format("json", _AB, fail_on_missing_field="true", ignore_parse_errors="true")


def test_csv_has_all_of_flinks_options() -> None:
    schema = t.RowType.of(
        ("a", t.INT), ("s", t.STRING), ("l", t.ArrayType(element=t.INT)),
        ("r", t.RowType.of(("x", t.INT), ("y", t.STRING))),
    )  # fmt: skip
    plain = _format("csv", schema)
    assert plain.encode((1, 'a"b,c', [1, 2], (3, "z"))) == b'1,"a""b,c",1;2,3;z'
    assert plain.decode(b'1,"a""b,c",1;2,3;z') == [(1, 'a"b,c', [1, 2], (3, "z"))]
    other = _format(
        "csv", schema, field_delimiter="\\t", null_literal="n/a", quote_character="'",
        array_element_delimiter="|", allow_comments="true",
    )  # fmt: skip
    assert other.decode(b"1\tn/a\t1|2\t3|z") == [(1, None, [1, 2], (3, "z"))]
    assert other.encode((None, "x\ty", [1], (3, "z"))) == b"n/a\t'x\ty'\t1\t3|z"
    assert other.decode(b"# no row") == []
    quiet = _format("csv", schema, ignore_parse_errors="true")
    assert quiet.decode(b"x,y,1;z,3;z") == [(None, "y", None, (3, "z"))]
    assert quiet.decode(b"1,y") == [(1, "y", None, None)]
    escaped = _format("csv", _AB, disable_quote_character="true", escape_character="\\")
    assert escaped.encode((1, "a,b")) == b"1,a\\,b"
    assert escaped.decode(b"1,a\\,b") == [(1, "a,b")]


def test_csv_with_another_number_of_values_fails() -> None:
    with pytest.raises(SourceError, match="3 values for 2 columns"):
        _format("csv", _AB).decode(b"1,2,3")


@pytest.mark.parametrize(
    ("kind", "value", "data", "options"),
    [
        (t.STRING, "grün", "grün".encode(), {}),
        (t.STRING, "grün", "grün".encode("latin-1"), {"charset": "ISO-8859-1"}),
        (t.BYTES, b"\x01", b"\x01", {}),
        (t.BOOLEAN, True, b"\x01", {}),
        (t.INT, 258, b"\x00\x00\x01\x02", {}),
        (t.BIGINT, 1, b"\x01" + b"\x00" * 7, {"endianness": "little-endian"}),
        (t.DOUBLE, 0.5, b"\x3f\xe0" + b"\x00" * 6, {}),
    ],
)
def test_raw_is_the_value_alone(
    kind: t.LogicalType, value: Any, data: bytes, options: dict[str, str]
) -> None:
    made = _format("raw", t.RowType.of(("v", kind)), **options)
    assert made.encode((value,)) == data
    assert made.decode(data) == [(value,)]
    assert made.encode((None,)) is None


def test_raw_refuses_what_it_cannot_be() -> None:
    with pytest.raises(ValidationError, match="the format 'raw' has one column"):
        _format("raw", _AB)
    with pytest.raises(ValidationError, match="no bytes for type DATE"):
        _format("raw", t.RowType.of(("v", t.DATE)))
    with pytest.raises(SourceError, match="no row in the format raw"):
        _format("raw", t.RowType.of(("v", t.INT))).decode(b"\x01")


def _context(name: str, metadata: tuple[str, ...], **options: str) -> RowFormat:
    context = TableContext("t", _AB, {"connector": "kafka", "format": name, **options})
    return find_format(context, metadata=metadata)


def test_debezium_tells_what_was_done() -> None:
    made = _context("debezium-json", ("source.table", "ingestion-timestamp", "source.properties"))
    message = {
        "before": {"a": 1, "b": "x"}, "after": {"a": 1, "b": "y"},
        "source": {"db": "shop", "table": "items", "ts_ms": 5}, "op": "u", "ts_ms": 1000,
    }  # fmt: skip
    more = (
        "items", datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=_UTC),
        {"db": "shop", "table": "items", "ts_ms": "5"},
    )  # fmt: skip
    assert made.decode(json.dumps(message).encode()) == [(1, "x", *more, 1), (1, "y", *more, 2)]
    plain = _format("debezium-json", _AB)
    assert plain.decode(b'{"before":null,"after":{"a":1,"b":"x"},"op":"r"}') == [(1, "x", 0)]
    assert plain.decode(b'{"before":{"a":1},"after":null,"op":"d"}') == [(1, None, 3)]
    assert plain.decode(b"") == []
    with pytest.raises(SourceError, match="REPLICA IDENTITY of the table to FULL"):
        plain.decode(b'{"before":null,"after":{"a":1},"op":"u"}')
    wrapped = _format("debezium-json", _AB, schema_include="true")
    assert wrapped.decode(
        b'{"schema":{},"payload":{"before":null,"after":{"a":1,"b":"x"},"op":"c"}}'
    ) == [(1, "x", 0)]


def test_canal_tells_only_what_changed() -> None:
    made = _context(
        "canal-json", ("table", "event-timestamp"), **{"canal-json.database.include": "sh.*"}
    )
    message = {
        "data": [{"a": "1", "b": "y"}, {"a": "2", "b": "z"}],
        "old": [{"b": "x"}, {"b": None}],
        "type": "UPDATE", "database": "shop", "table": "items", "es": 0,
    }  # fmt: skip
    more = ("items", datetime.datetime(1970, 1, 1, tzinfo=_UTC))
    assert made.decode(json.dumps(message).encode()) == [
        (1, "x", *more, 1), (1, "y", *more, 2), (2, None, *more, 1), (2, "z", *more, 2),
    ]  # fmt: skip
    assert made.decode(json.dumps({**message, "database": "other"}).encode()) == []
    assert made.decode(json.dumps({**message, "type": "CREATE"}).encode()) == []
    with pytest.raises(SourceError, match="unknown type 'DROP'"):
        made.decode(json.dumps({**message, "type": "DROP"}).encode())


def test_maxwell_tells_only_what_changed() -> None:
    made = _context("maxwell-json", ("table", "primary-key-columns", "ingestion-timestamp"))
    message = {
        "database": "shop", "table": "items", "type": "update", "ts": 3,
        "primary_key_columns": ["a"], "data": {"a": 1, "b": "y"}, "old": {"b": "x"},
    }  # fmt: skip
    more = ("items", ["a"], datetime.datetime(1970, 1, 1, 0, 0, 3, tzinfo=_UTC))
    assert made.decode(json.dumps(message).encode()) == [(1, "x", *more, 1), (1, "y", *more, 2)]
    assert made.decode(json.dumps({**message, "type": "insert"}).encode()) == [(1, "y", *more, 0)]
    assert made.decode(json.dumps({**message, "type": "delete"}).encode()) == [(1, "y", *more, 3)]
    with pytest.raises(SourceError, match="unknown type 'bootstrap-start'"):
        made.decode(json.dumps({**message, "type": "bootstrap-start"}).encode())


def test_golden_gate_tells_rows_before_and_after() -> None:
    made = _context("ogg-json", ("table", "primary-keys", "event-timestamp"))
    message = {
        "table": "OGG.ITEMS", "op_type": "U", "op_ts": "2020-05-13 15:40:06.000000",
        "primary_keys": ["a"], "before": {"a": 1, "b": "x"}, "after": {"a": 1, "b": "y"},
    }  # fmt: skip
    more = ("OGG.ITEMS", ["a"], datetime.datetime(2020, 5, 13, 15, 40, 6, tzinfo=_UTC))
    assert made.decode(json.dumps(message).encode()) == [(1, "x", *more, 1), (1, "y", *more, 2)]
    assert made.decode(json.dumps({**message, "op_type": "I"}).encode()) == [(1, "y", *more, 0)]
    assert made.decode(json.dumps({**message, "op_type": "D"}).encode()) == [(1, "x", *more, 3)]
    with pytest.raises(SourceError, match="ADD TRANDATA"):
        made.decode(json.dumps({**message, "before": None}).encode())


def test_unknown_formats_and_options_are_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        _format("yaml")
    assert str(caught.value) == (
        "there is no format 'yaml'\n"
        "  where: table t\n"
        "  to do: use one of: avro, avro-confluent, canal-json, csv, debezium-json, json, "
        "maxwell-json, ogg-json, raw"
    )
    with pytest.raises(ValidationError) as caught:
        _format("raw", _AB, encoding="utf-8")
    assert str(caught.value) == (
        "the format 'raw' does not know the option 'raw.encoding'\n"
        "  where: table t\n"
        "  got:   'raw.encoding' = 'utf-8'\n"
        "  to do: it knows: charset, endianness"
    )
    with pytest.raises(ValidationError) as caught:
        _format("json", _AB, ignore_parse_errors="yes")
    assert str(caught.value) == (
        "the option 'json.ignore-parse-errors' has no such value\n"
        "  where: table t\n"
        "  got:   'yes'\n"
        "  to do: use 'true' or 'false'"
    )


def test_a_schema_registry_has_the_schema_of_the_columns(registry: Registry) -> None:
    options = {
        "connector": "kafka", "topic": "items", "value.format": "avro-confluent",
        "value.avro-confluent.url": registry.url,
        "value.avro-confluent.basic-auth.user-info": "eve:s3cret",
    }  # fmt: skip
    made = find_format(TableContext("t", ALL, options), "value.format")
    data = made.encode(ROW)
    assert data is not None
    assert data[:5] == b"\x00\x00\x00\x01\x2c"
    assert made.decode(data) == [ROW]
    [(path, account)] = {entry for entry in registry.asked if entry[0].startswith("/subjects")}
    assert path == "/subjects/items-value/versions"
    assert account is not None
    with pytest.raises(ValidationError) as caught:
        _format("avro-confluent", _AB)
    assert str(caught.value) == (
        "the format 'avro-confluent' needs the option 'avro-confluent.url'\n"
        "  where: table t\n"
        "  to do: add 'avro-confluent.url' = '...' to the WITH clause"
    )
