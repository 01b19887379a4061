"""Rows as records of Avro, one in each message and without the schema. Needs fastavro."""

from __future__ import annotations

import datetime
import importlib
import io
import json
from collections.abc import Callable
from typing import Any

from penstock.common.message_schemas import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.common.types import Row
from penstock.errors import ConfigurationError, SerializationError, show_value

Convert = Callable[[Any], Any]
_UTC = datetime.timezone.utc
#: What fastavro raises for bytes that do not follow the schema, or records that do not.
BROKEN = (ValueError, TypeError, LookupError, EOFError, AttributeError, OverflowError)
_SINGLE = {
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "enum": Types.STRING,
}
_LOGICAL = {
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
    "decimal": Types.BIG_DEC,
}


def fastavro() -> Any:
    """Return the library.

    :raises ConfigurationError: if it is not installed.
    """
    try:
        return importlib.import_module("fastavro")
    except ImportError:
        raise ConfigurationError(
            "Avro messages need the package fastavro",
            todo="install it with: pip install 'penstock[avro]'",
        ) from None


class AvroRows:
    """A schema of records, and how they become rows and rows them.

    Moments are datetimes without a zone that show UTC, as Flink's rows have them.

    :raises ConfigurationError: if the text is no schema of records.
    """

    def __init__(self, schema_text: str) -> None:
        self.text = schema_text
        self._named: dict[str, Any] = {}
        try:
            definition = json.loads(schema_text)
            if not isinstance(definition, dict) or definition.get("type") != "record":
                raise ValueError("it is no record")
            self.parsed = fastavro().parse_schema(definition, named_schemas=self._named)
        except (*BROKEN, fastavro().schema.SchemaParseException) as error:
            raise ConfigurationError(
                "this is no Avro schema of records",
                got=f"{show_value(schema_text, 200)} ({type(error).__name__}: {error})",
            ) from None
        type_info, self.to_row, self.to_avro = self._parts(self.parsed, ())
        assert isinstance(type_info, RowTypeInfo)
        self.type_info = type_info

    def _parts(self, schema: Any, around: tuple[str, ...]) -> tuple[TypeInformation, Any, Any]:
        """Return the type, and what turns values into Python's and back; None: nothing does."""
        if isinstance(schema, list):
            return self._union(schema, around)
        if isinstance(schema, str):
            if schema in self._named:
                return self._parts(self._named[schema], around)
            return _single(schema)
        kind = schema["type"]
        if kind == "record":
            return self._record(schema, around)
        if kind == "array":
            inner, to_row, to_avro = self._parts(schema["items"], around)
            return Types.LIST(inner), _each(to_row), _each(to_avro)
        if kind == "map":
            inner, to_row, to_avro = self._parts(schema["values"], around)
            return Types.MAP(Types.STRING(), inner), _values(to_row), _values(to_avro)
        logical = schema.get("logicalType")
        if logical in _LOGICAL:
            moments = logical.startswith("timestamp")
            converters = (_without_zone, _with_zone) if moments else (None, None)
            return (_LOGICAL[logical](), *converters)
        return _single(kind) if isinstance(kind, str) else self._parts(kind, around)

    def _union(self, branches: list[Any], around: tuple[str, ...]) -> tuple[Any, Any, Any]:
        named = [branch for branch in branches if branch != "null"]
        if len(named) == 1:
            inner, to_row, to_avro = self._parts(named[0], around)
            return inner, _unless_none(to_row), _unless_none(to_avro)
        # Which of them it is shows in each value only: it stays as the library gives it.
        return Types.PICKLED_BYTE_ARRAY(), None, None

    def _record(self, schema: Any, around: tuple[str, ...]) -> tuple[Any, Any, Any]:
        if schema["name"] in around:
            # A row that holds rows of its own kind has no finite type.
            return Types.PICKLED_BYTE_ARRAY(), None, None
        names = [field["name"] for field in schema["fields"]]
        inside = (*around, schema["name"])
        parts = [self._parts(field["type"], inside) for field in schema["fields"]]
        type_info = Types.ROW_NAMED(names, [part[0] for part in parts])
        readers = [(name, part[1]) for name, part in zip(names, parts, strict=True)]
        writers = [part[2] for part in parts]

        def to_row(record: dict[str, Any]) -> Row:
            values = (record[n] if read is None else read(record[n]) for n, read in readers)
            row = Row(*values)
            row.set_field_names(names)
            return row

        def to_avro(row: Any) -> dict[str, Any]:
            triples = zip(names, writers, type_info.values_of(row), strict=True)
            return {n: value if write is None else write(value) for n, write, value in triples}

        return type_info, to_row, to_avro


class AvroRowDeserializationSchema(DeserializationSchema[Row]):
    """Read records of Avro as rows. Needs the extra `avro`.

    :param record_class: name of a generated Java class: there is none here, give the schema.
    :param avro_schema_string: the schema that the messages were written with, as JSON.
    :raises ConfigurationError: if there is no schema, or none of records.
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        text = schema_text(type(self).__name__, record_class, avro_schema_string)
        self._rows = AvroRows(text)
        self._read = fastavro().schemaless_reader

    def deserialize(self, message: bytes) -> Row:
        try:
            record = self._read(io.BytesIO(message), self._rows.parsed, None)
            return self._rows.to_row(record)
        except BROKEN as error:
            raise unreadable(type(self).__name__, message, error) from None

    def get_produced_type(self) -> TypeInformation:
        return self._rows.type_info

    def __reduce__(self) -> Any:
        return type(self), (None, self._rows.text)


class AvroRowSerializationSchema(SerializationSchema[Any]):
    """Write rows as records of Avro. Needs the extra `avro`.

    Tuples, dicts and objects with the schema's fields can be written as well.

    :param record_class: name of a generated Java class: there is none here, give the schema.
    :param avro_schema_string: the schema to write with, as JSON.
    :raises ConfigurationError: if there is no schema, or none of records.

    >>> text = '{"type": "record", "name": "W", "fields": [{"name": "word", "type": "string"}]}'
    >>> message = AvroRowSerializationSchema(avro_schema_string=text).serialize(Row("be"))
    >>> AvroRowDeserializationSchema(avro_schema_string=text).deserialize(message)
    Row(word='be')
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        text = schema_text(type(self).__name__, record_class, avro_schema_string)
        self._rows = AvroRows(text)
        self._write = fastavro().schemaless_writer

    def serialize(self, element: Any) -> bytes:
        message = io.BytesIO()
        try:
            self._write(message, self._rows.parsed, self._rows.to_avro(element))
        except BROKEN as error:
            raise unwritable(type(self).__name__, element, error) from None
        return message.getvalue()

    def __reduce__(self) -> Any:
        return type(self), (None, self._rows.text)


def schema_text(where: str, record_class: Any, text: str | None) -> str:
    """Return the schema that a user gave.

    :raises ConfigurationError: if there is none.
    """
    if text is None:
        raise ConfigurationError(
            "an Avro schema is needed",
            where=where,
            got=None if record_class is None else f"record_class={record_class!r}",
            todo="pass avro_schema_string, the schema as JSON",
        )
    return text


def unreadable(where: str, message: bytes, error: Exception) -> SerializationError:
    """Return the error for a message that is no record of the schema."""
    return SerializationError(
        "a message is no record of the Avro schema",
        where=where,
        got=f"{show_value(bytes(message), 200)} ({type(error).__name__}: {error})",
        todo="use the schema that the messages were written with",
    )


def unwritable(where: str, element: Any, error: Exception) -> SerializationError:
    """Return the error for a record that does not have the schema's fields."""
    return SerializationError(
        "a record does not have the fields of the Avro schema",
        where=where,
        got=f"{show_value(element, 200)} ({type(error).__name__}: {error})",
        todo="map the stream to records of the schema in front of the sink",
    )


def _single(kind: str) -> tuple[TypeInformation, Any, Any]:
    if kind in ("bytes", "fixed"):
        return Types.PRIMITIVE_ARRAY(Types.BYTE()), None, None
    return _SINGLE.get(kind, Types.PICKLED_BYTE_ARRAY)(), None, None


def _each(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda values: [convert(value) for value in values]


def _values(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda items: {key: convert(value) for key, value in items.items()}


def _unless_none(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def _without_zone(moment: datetime.datetime) -> datetime.datetime:
    return moment.astimezone(_UTC).replace(tzinfo=None)


def _with_zone(moment: Any) -> Any:
    if isinstance(moment, datetime.datetime) and moment.tzinfo is None:
        return moment.replace(tzinfo=_UTC)
    return moment
