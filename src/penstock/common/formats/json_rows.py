"""Rows as JSON objects, one in each message."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.common.formats.json_schema import type_of_json_schema
from penstock.common.formats.row_types import checked_row_type, holds
from penstock.common.formats.text_values import (
    BadFieldError,
    is_whole,
    parser_of,
    text_of,
    whole_number,
)
from penstock.common.message_schemas import DeserializationSchema, SerializationSchema
from penstock.common.type_information import ElementsTypeInfo
from penstock.common.typeinfo import (
    BasicTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TypeInformation,
)
from penstock.common.types import Row
from penstock.errors import ConfigurationError, PenstockError, SerializationError, show_value

Decode = Callable[[Any], Any]
Encode = Callable[[Any], str]
_NUMBERS = (int, float, Decimal)
_quoted: Encode = json.encoder.encode_basestring
#: What conversions raise for a value that does not fit its type.
_MISFITS = (ValueError, TypeError, ArithmeticError, LookupError, PenstockError, BadFieldError)


class JsonRowDeserializationSchema(DeserializationSchema[Row]):
    """Read JSON objects as rows. Use `JsonRowDeserializationSchema.builder()`.

    A field of the row is looked up by its name; other fields of the object are passed over. A
    number may stand in quotes, and whatever stands where a string is due is taken as text.

    >>> from penstock.common import Types
    >>> schema = (
    ...     JsonRowDeserializationSchema.builder()
    ...     .type_info(Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()]))
    ...     .build()
    ... )
    >>> schema.deserialize(b'{"count": 2, "word": "be"}')
    Row(word='be', count=2)
    """

    def __init__(
        self,
        type_info: RowTypeInfo,
        fail_on_missing_field: bool = False,
        ignore_parse_errors: bool = False,
    ) -> None:
        self._type_info = type_info
        self._strict = fail_on_missing_field
        self._lenient = ignore_parse_errors
        # What a double cannot hold would be lost before the field's type is known.
        number = Decimal if holds(type_info, "BigDecimal") else float
        self._parse = json.JSONDecoder(parse_float=number).decode
        self._decode = _Decoders(self._strict, self._lenient).of(type_info)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Return a builder of a schema."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Row | None:
        try:
            return self._decode(self._parse(bytes(message).decode()))
        except _MISFITS as error:
            if self._lenient:
                return None
            raise SerializationError(
                "a message is no JSON object with the fields of the row",
                where=f"JsonRowDeserializationSchema, {self._type_info}",
                got=f"{show_value(bytes(message), 200)} ({error})",
                todo="correct the type, or leave such messages out by ignore_parse_errors()",
            ) from None

    def get_produced_type(self) -> TypeInformation:
        return self._type_info

    def __reduce__(self) -> Any:
        return type(self), (self._type_info, self._strict, self._lenient)

    class Builder:
        """Build a `JsonRowDeserializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows; its names are those of the object's fields."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Take the type of the rows from a JSON schema.

            :raises ConfigurationError: if the text is no schema, or says what rows cannot hold.
            """
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Fail if a field is missing. Default: it is None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Set a field that does not fit its type to None; leave out what is no JSON object."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema.

            :raises ConfigurationError: if the type is missing or no row, or if both
                `fail_on_missing_field` and `ignore_parse_errors` are wanted.
            """
            where = "JsonRowDeserializationSchema.builder()"
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise ConfigurationError(
                    "errors cannot be ignored and raised at once",
                    where=where,
                    todo="call either fail_on_missing_field() or ignore_parse_errors()",
                )
            row = checked_row_type(self._type_info, f"{where}.type_info()")
            return JsonRowDeserializationSchema(
                row, self._fail_on_missing_field, self._ignore_parse_errors
            )


class JsonRowSerializationSchema(SerializationSchema[Any]):
    """Write rows as JSON objects. Use `JsonRowSerializationSchema.builder()`.

    Tuples, dicts and objects with the row's fields can be written as well.

    >>> from penstock.common import Types
    >>> schema = (
    ...     JsonRowSerializationSchema.builder()
    ...     .with_type_info(Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()]))
    ...     .build()
    ... )
    >>> schema.serialize(Row("be", 2))
    b'{"word":"be","count":2}'
    """

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type_info = type_info
        self._encode = _encoder(type_info)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Return a builder of a schema."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: Any) -> bytes:
        try:
            return self._encode(element).encode()
        except _MISFITS as error:
            raise SerializationError(
                "a record does not have the fields of the row",
                where=f"JsonRowSerializationSchema, {self._type_info}",
                got=f"{show_value(element, 200)} ({error})",
                todo="map the stream to rows of this type in front of the sink",
            ) from None

    def __reduce__(self) -> Any:
        return type(self), (self._type_info,)

    class Builder:
        """Build a `JsonRowSerializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows; its names become those of the object's fields."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema.

            :raises ConfigurationError: if the type is missing or no row.
            """
            where = "JsonRowSerializationSchema.builder().with_type_info()"
            return JsonRowSerializationSchema(checked_row_type(self._type_info, where))


def _is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and str(type_info.elem_type) == "Byte"


def _no_json(type_info: TypeInformation) -> ConfigurationError:
    return ConfigurationError(
        "values of this type have no form in JSON",
        got=str(type_info),
        todo="use single values, rows, maps, lists and arrays, "
        "or Types.PICKLED_BYTE_ARRAY() for JSON of any kind",
    )


# ------------------------------------------------------------------------------------- reading


class _Decoders:
    """Make functions that turn parsed JSON into values of a type; fractions may be decimals."""

    def __init__(self, strict: bool, lenient: bool) -> None:
        self._strict = strict
        self._lenient = lenient

    def of(self, type_info: TypeInformation) -> Decode:
        if isinstance(type_info, RowTypeInfo):
            return self._row(type_info)
        if isinstance(type_info, MapTypeInfo):
            return self._map(type_info)
        if _is_bytes(type_info):
            return _decode_bytes
        if isinstance(type_info, ElementsTypeInfo):
            return self._elements(type_info)
        if isinstance(type_info, PickledBytesTypeInfo):
            return _plain
        parse = parser_of(type_info)
        if parse is None:
            raise _no_json(type_info)
        return _decode_single(type_info, parse)

    def _row(self, type_info: RowTypeInfo) -> Decode:
        names = type_info.get_field_names()
        fields = [(name, self.of(t)) for name, t in zip(names, type_info.field_types, strict=True)]
        strict, lenient = self._strict, self._lenient

        def decode(node: Any) -> Row:
            if not isinstance(node, dict):
                raise TypeError(f"{_shown(node)} is no object")
            values: list[Any] = []
            for name, decode_field in fields:
                value = node.get(name)
                if value is None:
                    if strict and name not in node:
                        raise BadFieldError(name, ValueError("the field is missing"))
                    values.append(None)
                    continue
                try:
                    values.append(decode_field(value))
                except _MISFITS as error:
                    if not lenient:
                        raise BadFieldError(name, error) from None
                    values.append(None)
            row = Row(*values)
            row.set_field_names(names)
            return row

        return decode

    def _map(self, type_info: MapTypeInfo) -> Decode:
        parse_key = parser_of(type_info.key_type_info)
        if parse_key is None:
            raise _no_json(type_info)
        decode_value = self.of(type_info.value_type_info)

        def decode(node: Any) -> dict[Any, Any]:
            if not isinstance(node, dict):
                raise TypeError(f"{_shown(node)} is no object")
            return {
                parse_key(key): None if value is None else decode_value(value)
                for key, value in node.items()
            }

        return decode

    def _elements(self, type_info: ElementsTypeInfo) -> Decode:
        decode_element = self.of(type_info.elem_type)

        def decode(node: Any) -> list[Any]:
            if not isinstance(node, list):
                raise TypeError(f"{_shown(node)} is no array")
            return [None if value is None else decode_element(value) for value in node]

        return decode


def _decode_single(type_info: TypeInformation, parse: Callable[[str], Any]) -> Decode:
    if is_whole(type_info) and isinstance(type_info, BasicTypeInfo):
        check = whole_number(type_info)
        return lambda node: check(node) if type(node) is int else parse(_text(node))
    name = getattr(type_info, "name", "")
    if name == "Boolean":
        return lambda node: node if isinstance(node, bool) else parse(_text(node))
    if name in ("Float", "Double"):
        return lambda node: float(node) if type(node) in _NUMBERS else parse(_text(node))
    if name == "BigDecimal":
        return lambda node: node if isinstance(node, Decimal) else parse(_text(node))
    return lambda node: parse(node if isinstance(node, str) else _text(node))


def _text(node: Any) -> str:
    """Return what stands for a value in JSON; of a string, the string."""
    return node if isinstance(node, str) else json.dumps(_plain(node), separators=(",", ":"))


def _shown(node: Any) -> str:
    return show_value(_plain(node), 100)


def _plain(node: Any) -> Any:
    """Return parsed JSON with floats instead of decimals."""
    if isinstance(node, Decimal):
        return float(node)
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if isinstance(node, dict):
        return {key: _plain(item) for key, item in node.items()}
    return node


def _decode_bytes(node: Any) -> bytes:
    return base64.b64decode(_text(node), validate=True)


# ------------------------------------------------------------------------------------- writing


def _encoder(type_info: TypeInformation) -> Encode:
    encode = _encoder_of_values(type_info)
    return lambda value: "null" if value is None else encode(value)


def _encoder_of_values(type_info: TypeInformation) -> Encode:
    if isinstance(type_info, RowTypeInfo):
        return _row_encoder(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _map_encoder(type_info)
    if _is_bytes(type_info):
        return lambda value: _quoted(base64.b64encode(bytes(value)).decode())
    if isinstance(type_info, ElementsTypeInfo):
        encode = _encoder(type_info.elem_type)
        return lambda values: f"[{','.join(map(encode, values))}]"
    if isinstance(type_info, PickledBytesTypeInfo):
        return lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text_of(type_info, zoned=True)
    if text is None:
        raise _no_json(type_info)
    name = getattr(type_info, "name", "")
    if is_whole(type_info) or name in ("Boolean", "BigDecimal"):
        return text
    if name in ("Float", "Double"):
        # JSON has no number for these; Java's writers put them in quotes.
        return lambda value: _quoted(t) if (t := text(value))[-1] in "Ny" else t
    return lambda value: _quoted(text(value))


def _row_encoder(type_info: RowTypeInfo) -> Encode:
    fields = [
        (name, _quoted(name) + ":", _encoder(field_type))
        for name, field_type in zip(type_info.field_names, type_info.field_types, strict=True)
    ]

    def encode(value: Any) -> str:
        values = type_info.values_of(value)
        parts = []
        for (name, label, encode_field), field in zip(fields, values, strict=True):
            try:
                parts.append(label + encode_field(field))
            except _MISFITS as error:
                raise BadFieldError(name, error) from None
        return "{" + ",".join(parts) + "}"

    return encode


def _map_encoder(type_info: MapTypeInfo) -> Encode:
    text = text_of(type_info.key_type_info, zoned=True)
    if text is None:
        raise _no_json(type_info)
    encode_value = _encoder(type_info.value_type_info)
    return lambda value: (
        "{" + ",".join(f"{_quoted(text(k))}:{encode_value(v)}" for k, v in value.items()) + "}"
    )
