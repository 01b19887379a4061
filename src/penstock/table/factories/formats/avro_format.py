"""`avro` and `avro-confluent`: records whose schema follows from the table's columns."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.formats.avro_rows import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from penstock.common.formats.confluent_registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    SchemaRegistryClient,
)
from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.formats.base import FormatContext, RowFormat

Convert = Callable[[Any], Any]
_UTC = datetime.timezone.utc
_SINGLE: dict[type, str] = {
    t.BooleanType: "boolean",
    t.TinyIntType: "int",
    t.SmallIntType: "int",
    t.IntType: "int",
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
}


def avro_schema(kind: t.LogicalType, name: str = "record") -> Any:
    """Return the Avro schema of a type, as Flink derives it.

    >>> avro_schema(t.INT.not_null()), avro_schema(t.STRING)
    ('int', ['null', 'string'])
    """
    made = _schema(kind, name)
    return ["null", made] if kind.is_nullable else made


def _schema(kind: t.LogicalType, name: str) -> Any:
    if type(kind) in _SINGLE:
        return _SINGLE[type(kind)]
    if isinstance(kind, t.CharacterType):
        return "string"
    if isinstance(kind, t.BinaryStringType):
        return "bytes"
    if isinstance(kind, t.DateType):
        return {"type": "int", "logicalType": "date"}
    if isinstance(kind, t.TimeType):
        return {"type": "int", "logicalType": "time-millis"}
    if isinstance(kind, t.PointInTimeType):
        unit = "timestamp-millis" if kind.precision <= 3 else "timestamp-micros"
        return {"type": "long", "logicalType": unit}
    if isinstance(kind, t.DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision,
                "scale": kind.scale}  # fmt: skip
    if isinstance(kind, t.ArrayType):
        return {"type": "array", "items": avro_schema(kind.element, name)}
    if isinstance(kind, t.MultisetType):
        return {"type": "map", "values": "int"}
    if isinstance(kind, t.MapType):
        return {"type": "map", "values": avro_schema(kind.value, name)}
    if isinstance(kind, t.RowType):
        fields = []
        for column in kind.fields:
            made = {"name": column.name,
                    "type": avro_schema(column.type, f"{name}_{column.name}")}  # fmt: skip
            fields.append({**made, "default": None} if column.type.is_nullable else made)
        return {"type": "record", "name": name, "namespace": "org.apache.flink.avro.generated",
                "fields": fields}  # fmt: skip
    raise ValidationError(
        f"Avro has no type for {kind.as_summary_string()}", todo="use another format"
    )


def from_avro(kind: t.LogicalType) -> Convert | None:
    """Return what turns a row's value as the Avro schemas give it into a table's; None: nothing.

    Records come as rows or as dicts.
    """
    if isinstance(kind, t.RowType):
        inner = [from_avro(each) for each in kind.children()]
        names = kind.names()
        return lambda value: tuple(
            _apply(convert, item) for convert, item in zip(inner, _items(value, names), strict=True)
        )
    if isinstance(kind, t.ArrayType):
        element = from_avro(kind.element)
        return element and (lambda value: [_apply(element, item) for item in value])
    if isinstance(kind, t.MapType):
        item = from_avro(kind.value)
        return item and (lambda value: {k: _apply(item, v) for k, v in value.items()})
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: value.replace(tzinfo=_UTC) if value.tzinfo is None else value
    if isinstance(kind, t.TimestampType):
        return lambda value: value.astimezone(_UTC).replace(tzinfo=None) if value.tzinfo else value
    return None


def to_avro(kind: t.LogicalType) -> Convert | None:
    """Return what turns a table's value into one that fastavro writes; None: nothing."""
    if isinstance(kind, t.RowType):
        names = kind.names()
        inner = [to_avro(each) for each in kind.children()]
        return lambda value: {
            name: _apply(convert, item)
            for name, convert, item in zip(names, inner, value, strict=True)
        }
    if isinstance(kind, t.ArrayType):
        element = to_avro(kind.element)
        return element and (lambda value: [_apply(element, item) for item in value])
    if isinstance(kind, t.MapType):
        item = to_avro(kind.value)
        return item and (lambda value: {k: _apply(item, v) for k, v in value.items()})
    if isinstance(kind, t.TimestampType):
        return lambda value: value.replace(tzinfo=_UTC)
    return None


def _items(value: Any, names: list[str]) -> Any:
    return [value.get(name) for name in names] if isinstance(value, dict) else value


def _apply(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


class AvroFormat(RowFormat):
    """A record a message."""

    options = frozenset({"codec", "timestamp_mapping.legacy", "encoding"})
    lines = False

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        context.choice("encoding", "binary", "binary")
        context.flag("timestamp_mapping.legacy", True)
        schema = json.dumps(_schema(context.schema, "record"))
        self._to_row: Convert = from_avro(context.schema) or tuple
        self._in = AvroRowDeserializationSchema(avro_schema_string=schema)
        self._out = AvroRowSerializationSchema(avro_schema_string=schema)

    def decode(self, data: bytes) -> list[tuple[Any, ...]]:
        return [self._to_row(self._in.deserialize(data))]

    def encode(self, row: Sequence[Any]) -> bytes:
        return self._out.serialize(row)


class ConfluentAvroFormat(RowFormat):
    """A record a message, behind the number of its schema in a registry of Confluent's."""

    options = frozenset({
        "url", "subject", "schema", "basic-auth.credentials-source", "basic-auth.user-info",
        "properties.",
    })  # fmt: skip
    lines = False

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        schema = context.options.get("schema") or json.dumps(_schema(context.schema, "record"))
        client = SchemaRegistryClient(context.required("url"), _registry_settings(context.options))
        subject = context.options.get("subject")
        if subject is None and context.topic:
            subject = f"{context.topic}-{'key' if context.prefix.startswith('key.') else 'value'}"
        self._to_row: Convert = from_avro(context.schema) or tuple
        self._in = ConfluentRegistryAvroDeserializationSchema(schema, client)
        self._out: ConfluentRegistryAvroSerializationSchema | None = None
        if subject is not None:
            self._out = ConfluentRegistryAvroSerializationSchema(subject, schema, client)

    def decode(self, data: bytes) -> list[tuple[Any, ...]]:
        return [self._to_row(self._in.deserialize(data))]

    def encode(self, row: Sequence[Any]) -> bytes:
        if self._out is None:
            self.context.required("subject")
        assert self._out is not None
        return self._out.serialize(row)


def _registry_settings(options: dict[str, str]) -> dict[str, str]:
    names = {
        "basic-auth.credentials-source": "basic.auth.credentials.source",
        "basic-auth.user-info": "basic.auth.user.info",
    }
    found = {names[key]: value for key, value in options.items() if key in names}
    for key, value in options.items():
        if key.startswith("properties."):
            found[key.removeprefix("properties.")] = value
    return found
