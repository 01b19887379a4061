"""`json`: an object a row, by the names of the columns."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.formats.base import FormatContext, TextFormat
from penstock.table.factories.formats.text_values import (
    decimal_reader,
    text_reader,
    text_writer,
    whole_reader,
)

Read = Callable[[Any], Any]
Write = Callable[[Any], str]
_DIGITS = Context(prec=80)
_quoted: Write = json.encoder.encode_basestring
#: What reading a value of another form raises.
_MISFITS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
JSON_OPTIONS = frozenset({
    "fail-on-missing-field", "ignore-parse-errors", "timestamp-format.standard",
    "map-null-key.mode", "map-null-key.literal", "encode.decimal-as-plain-number",
    "encode.ignore-null-fields", "decode.json-parser.enabled",
})  # fmt: skip


@dataclass(frozen=True)
class JsonSettings:
    """How JSON is read and written."""

    quiet: bool = False
    strict: bool = False
    iso: bool = False
    null_key_mode: str = "FAIL"
    null_key_literal: str = "null"
    plain_decimals: bool = False
    ignore_nulls: bool = False

    @staticmethod
    def of(context: FormatContext) -> JsonSettings:
        """Return what a table's options say."""
        made = JsonSettings(
            context.flag("ignore-parse-errors"),
            context.flag("fail-on-missing-field"),
            context.choice("timestamp-format.standard", "SQL", "SQL", "ISO-8601") == "ISO-8601",
            context.choice("map-null-key.mode", "FAIL", "FAIL", "DROP", "LITERAL"),
            context.options.get("map-null-key.literal", "null"),
            context.flag("encode.decimal-as-plain-number"),
            context.flag("encode.ignore-null-fields"),
        )
        if made.quiet and made.strict:
            raise ValidationError(
                f"'{context.prefix}fail-on-missing-field' and "
                f"'{context.prefix}ignore-parse-errors' cannot both be true",
                where=f"table {context.table}",
                todo="set one of them only",
            )
        return made


class JsonFormat(TextFormat):
    """Objects with a field for each column; other fields are passed over."""

    options = JSON_OPTIONS

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        settings = JsonSettings.of(context)
        self._quiet = settings.quiet
        self._parse = json_parser(context.schema)
        self._read = row_reader(context.schema, settings)
        self._write = json_writer(context.schema, settings)

    def decode_line(self, line: str) -> list[tuple[Any, ...]]:
        if not line or line.isspace():
            return []
        try:
            return [self._read(self._parse(line))]
        except _MISFITS as error:
            if self._quiet:
                return []
            raise self.unreadable(line, error) from None

    def encode_line(self, row: Sequence[Any]) -> str:
        return self._write(row)


# ---- reading


def json_parser(schema: t.LogicalType) -> Callable[[str], Any]:
    """Return what parses JSON: with exact fractions where the schema has decimals."""
    return json.JSONDecoder(parse_float=Decimal if _has_decimals(schema) else None).decode


def _has_decimals(kind: t.LogicalType) -> bool:
    return isinstance(kind, t.DecimalType) or any(map(_has_decimals, kind.children()))


def row_reader(kind: t.RowType, settings: JsonSettings) -> Callable[[Any], tuple[Any, ...]]:
    """Return how a parsed object becomes a row."""
    fields = [(column.name, _reader(column.type, settings)) for column in kind.fields]
    if settings.quiet:
        fields = [(name, _quietly(read)) for name, read in fields]
    strict = settings.strict

    def read_row(node: Any) -> tuple[Any, ...]:
        get = node.get
        try:
            row = tuple([
                None if (value := get(name)) is None else read(value) for name, read in fields
            ])  # fmt: skip
        except _MISFITS as error:
            for name, read in fields:
                try:
                    if (value := get(name)) is not None:
                        read(value)
                except _MISFITS:
                    raise ValueError(f"field {name!r}: {error}") from None
            raise
        if strict:
            for name, _ in fields:
                if name not in node:
                    raise ValueError(f"there is no field {name!r}")
        return row

    def checked(node: Any) -> tuple[Any, ...]:
        if not isinstance(node, dict):
            raise TypeError(f"{json_text(node)} is no object")
        return read_row(node)

    return checked


def _quietly(read: Read) -> Read:
    def read_or_none(value: Any) -> Any:
        try:
            return read(value)
        except _MISFITS:
            return None

    return read_or_none


def _reader(kind: t.LogicalType, settings: JsonSettings) -> Read:
    if isinstance(kind, t.RowType):
        return row_reader(kind, settings)
    if isinstance(kind, t.ArrayType):
        return _array_reader(_reader(kind.element, settings))
    if isinstance(kind, t.MapType | t.MultisetType):
        key = kind.key if isinstance(kind, t.MapType) else kind.element
        value = kind.value if isinstance(kind, t.MapType) else t.INT
        return _map_reader(text_reader(key), _reader(value, settings))
    if isinstance(kind, t.CharacterType):
        return lambda value: value if type(value) is str else json_text(value)
    if isinstance(kind, t.BooleanType):
        return lambda value: value if isinstance(value, bool) else value.strip().lower() == "true"
    if isinstance(kind, t.BinaryStringType):
        return lambda value: base64.b64decode(value, validate=True)
    if isinstance(kind, t.IntegralType):
        return _whole_reader(kind)
    if isinstance(kind, t.ApproximateType):
        return float
    if isinstance(kind, t.DecimalType):
        read = decimal_reader(kind)
        return lambda value: read(repr(value) if isinstance(value, float) else value)
    from_text = text_reader(kind)
    return lambda value: from_text(value if type(value) is str else json_text(value))


def _whole_reader(kind: t.IntegralType) -> Read:
    from_text = whole_reader(kind)
    bound = 1 << (kind.bits() - 1)

    def read(value: Any) -> int:
        if type(value) is int and -bound <= value < bound:
            return value
        return from_text(value.strip() if isinstance(value, str) else value)

    return read


def _array_reader(read: Read) -> Read:
    def read_array(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError(f"{json_text(value)} is no array")
        return [None if item is None else read(item) for item in value]

    return read_array


def _map_reader(read_key: Read, read_value: Read) -> Read:
    return lambda value: {
        read_key(k): None if v is None else read_value(v) for k, v in value.items()
    }


def json_text(value: Any) -> str:
    """Return parsed JSON as text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=float)


# ---- writing


def exact_text(value: Decimal, *, plain: bool) -> str:
    """Return a decimal without zeros at its end, as Java's writers do.

    >>> exact_text(Decimal("100.50"), plain=False), exact_text(Decimal("100"), plain=False)
    ('100.5', '1E+2')
    """
    number = value.normalize(_DIGITS)
    return format(number, "f") if plain else str(number)


def json_writer(kind: t.LogicalType, settings: JsonSettings) -> Write:
    """Return how a value, which is not None, becomes JSON."""
    if isinstance(kind, t.RowType):
        return _row_writer(kind, settings)
    if isinstance(kind, t.ArrayType):
        write = json_writer(kind.element, settings)
        return lambda value: f"[{','.join('null' if v is None else write(v) for v in value)}]"
    if isinstance(kind, t.MapType):
        return _map_writer(kind.key, json_writer(kind.value, settings), settings)
    if isinstance(kind, t.MultisetType):
        return _map_writer(kind.element, str, settings)
    if isinstance(kind, t.IntegralType):
        return str
    if isinstance(kind, t.DecimalType):
        plain = settings.plain_decimals
        return lambda value: exact_text(value, plain=plain)
    text = text_writer(kind, iso=settings.iso)
    if isinstance(kind, t.BooleanType):
        return text
    if isinstance(kind, t.ApproximateType):
        # JSON has no number for infinity and the like: Java's writers put them in quotes.
        return lambda value: _quoted(s) if (s := text(value))[-1] in "Ny" else s
    if isinstance(kind, t.CharacterType):
        return _quoted
    return lambda value: _quoted(text(value))


def _row_writer(kind: t.RowType, settings: JsonSettings) -> Write:
    writers = [
        (f"{_quoted(column.name)}:", json_writer(column.type, settings)) for column in kind.fields
    ]
    if settings.ignore_nulls:
        return lambda row: _object(
            [label + write(value) for (label, write), value in zip(writers, row, strict=True)
             if value is not None]
        )  # fmt: skip
    return lambda row: _object(
        [label + ("null" if value is None else write(value))
         for (label, write), value in zip(writers, row, strict=True)]
    )  # fmt: skip


def _object(members: list[str]) -> str:
    return "{" + ",".join(members) + "}"


def _map_writer(key: t.LogicalType, write: Write, settings: JsonSettings) -> Write:
    text = text_writer(key)
    mode, literal = settings.null_key_mode, settings.null_key_literal

    def write_map(value: dict[Any, Any]) -> str:
        parts = []
        for name, item in value.items():
            if name is None and mode == "FAIL":
                raise ValueError("JSON has no key for NULL: set 'map-null-key.mode'")
            if name is not None or mode == "LITERAL":
                label = _quoted(literal if name is None else text(name))
                parts.append(f"{label}:{'null' if item is None else write(item)}")
        return _object(parts)

    return write_map
