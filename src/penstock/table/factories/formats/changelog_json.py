"""`debezium-json`, `canal-json`, `maxwell-json`, `ogg-json`: changes of a database as JSON."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.specs import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.table.factories.formats.base import FormatContext, TextFormat
from penstock.table.factories.formats.json_format import (
    JSON_OPTIONS,
    JsonSettings,
    json_parser,
    json_text,
    json_writer,
    row_reader,
)

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_TIMESTAMP = t.LocalZonedTimestampType(precision=3)
_PRECISE = t.LocalZonedTimestampType(precision=6)
_STRINGS = t.MapType(key=t.STRING, value=t.STRING)
_BROKEN = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
_OPTIONS = JSON_OPTIONS - {"fail-on-missing-field", "decode.json-parser.enabled"}
Row = tuple[Any, ...]


class ChangelogJsonFormat(TextFormat):
    """Base: messages that say what was done to a row."""

    kinds = frozenset("IUD")
    #: Types of the metadata that messages have, by key.
    readable_metadata: ClassVar[dict[str, t.LogicalType]] = {}

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        settings = JsonSettings.of(context)
        self._quiet = settings.quiet
        self._parse = json_parser(context.schema)
        self._read = row_reader(context.schema, settings)
        self._write = json_writer(context.schema, settings)
        self._width = len(context.schema.fields)
        self._metadata = [self.metadata_reader(key) for key in context.metadata]

    def metadata_reader(self, key: str) -> Callable[[dict[str, Any]], Any]:
        """Return what reads a value of metadata from a message."""
        raise TypeError("abstract")

    def changes(self, message: dict[str, Any]) -> list[tuple[Row, int]]:
        """Return the rows of a message with their kinds."""
        raise TypeError("abstract")

    def decode_line(self, line: str) -> list[Row]:
        if not line or line.isspace():
            return []  # what stands behind a delete, so that the key is forgotten
        try:
            message = self._parse(line)
            if not isinstance(message, dict):
                raise TypeError(f"{json_text(message)} is no object")
            changes = self.changes(message)
            more = tuple(read(message) for read in self._metadata)
        except _BROKEN as error:
            if self._quiet:
                return []
            raise self.unreadable(line, error) from None
        return [(*row, *more, kind) for row, kind in changes]


class DebeziumJsonFormat(ChangelogJsonFormat):
    """Changes as Debezium writes them: `before`, `after` and `op`."""

    options = _OPTIONS | {"schema-include"}
    readable_metadata: ClassVar[dict[str, t.LogicalType]] = {
        "schema": t.STRING,
        "ingestion-timestamp": _TIMESTAMP,
        "source.timestamp": _TIMESTAMP,
        "source.database": t.STRING,
        "source.schema": t.STRING,
        "source.table": t.STRING,
        "source.properties": _STRINGS,
    }

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        self._wrapped = context.flag("schema-include")

    def metadata_reader(self, key: str) -> Callable[[dict[str, Any]], Any]:
        if key == "schema":
            return lambda message: json_text(message.get("schema"))
        if key == "ingestion-timestamp":
            return lambda message: _moment(self._payload(message).get("ts_ms"))

        def source(message: dict[str, Any]) -> dict[str, Any]:
            return self._payload(message).get("source") or {}

        if key == "source.properties":
            return lambda message: {k: _plain(v) for k, v in source(message).items()}
        if key == "source.timestamp":
            return lambda message: _moment(source(message).get("ts_ms"))
        name = {"database": "db"}.get(key.removeprefix("source."), key.removeprefix("source."))
        return lambda message: source(message).get(name)

    def _payload(self, message: dict[str, Any]) -> dict[str, Any]:
        payload = message["payload"] if self._wrapped else message
        if not isinstance(payload, dict):
            raise ValueError("there is no payload")
        return payload

    def changes(self, message: dict[str, Any]) -> list[tuple[Row, int]]:
        payload = self._payload(message)
        kind, before, after = payload.get("op"), payload.get("before"), payload.get("after")
        if kind in ("c", "r"):
            return [(self._read(after), INSERT)]
        if kind not in ("u", "d"):
            raise ValueError(f"unknown op {kind!r}")
        if before is None:
            raise ValueError(
                f'"before" of a message with op {kind!r} is null: with PostgreSQL, set '
                "REPLICA IDENTITY of the table to FULL"
            )
        if kind == "d":
            return [(self._read(before), DELETE)]
        return [(self._read(before), UPDATE_BEFORE), (self._read(after), UPDATE_AFTER)]

    def encode_line(self, row: Sequence[Any]) -> str:
        if self._wrapped:
            raise ValidationError(
                "the format 'debezium-json' writes no schema",
                where=f"table {self.context.table}",
                todo=f"leave out '{self.context.prefix}schema-include'",
            )
        text = self._write(row[: self._width])
        if row[-1] & 1:
            return f'{{"before":{text},"after":null,"op":"d"}}'
        return f'{{"before":null,"after":{text},"op":"c"}}'


class CanalJsonFormat(ChangelogJsonFormat):
    """Changes as Canal writes them: `data`, `old` and `type`."""

    options = _OPTIONS | {"database.include", "table.include"}
    readable_metadata: ClassVar[dict[str, t.LogicalType]] = {
        "database": t.STRING,
        "table": t.STRING,
        "sql-type": t.MapType(key=t.STRING, value=t.INT),
        "pk-names": t.ArrayType(element=t.STRING),
        "ingestion-timestamp": _TIMESTAMP,
        "event-timestamp": _TIMESTAMP,
    }

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        self._wanted = [
            (name, re.compile(context.options[f"{name}.include"]))
            for name in ("database", "table")
            if f"{name}.include" in context.options
        ]
        self._names = context.schema.names()

    def metadata_reader(self, key: str) -> Callable[[dict[str, Any]], Any]:
        name = {
            "sql-type": "sqlType", "pk-names": "pkNames", "ingestion-timestamp": "ts",
            "event-timestamp": "es",
        }.get(key, key)  # fmt: skip
        if key.endswith("-timestamp"):
            return lambda message: _moment(message.get(name))
        return lambda message: message.get(name)

    def changes(self, message: dict[str, Any]) -> list[tuple[Row, int]]:
        for name, pattern in self._wanted:
            if not pattern.fullmatch(str(message.get(name))):
                return []
        kind, data = message.get("type"), message.get("data")
        if kind == "INSERT":
            return [(self._read(each), INSERT) for each in data or ()]
        if kind == "DELETE":
            return [(self._read(each), DELETE) for each in data or ()]
        if kind == "CREATE":
            return []
        if kind != "UPDATE":
            raise ValueError(f"unknown type {kind!r}")
        changes: list[tuple[Row, int]] = []
        for after, old in zip(data or (), message.get("old") or (), strict=True):
            before = _before(old, after, self._names)
            changes.append((self._read(before), UPDATE_BEFORE))
            changes.append((self._read(after), UPDATE_AFTER))
        return changes

    def encode_line(self, row: Sequence[Any]) -> str:
        kind = "DELETE" if row[-1] & 1 else "INSERT"
        return f'{{"data":[{self._write(row[: self._width])}],"type":"{kind}"}}'


class MaxwellJsonFormat(ChangelogJsonFormat):
    """Changes as Maxwell writes them: `data`, `old` and `type`, one row a message."""

    options = _OPTIONS
    readable_metadata: ClassVar[dict[str, t.LogicalType]] = {
        "database": t.STRING,
        "table": t.STRING,
        "primary-key-columns": t.ArrayType(element=t.STRING),
        "ingestion-timestamp": _TIMESTAMP,
    }

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        self._names = context.schema.names()

    def metadata_reader(self, key: str) -> Callable[[dict[str, Any]], Any]:
        if key == "ingestion-timestamp":
            # Maxwell counts seconds.
            return lambda message: _moment(message.get("ts"), 1000)
        name = {"primary-key-columns": "primary_key_columns"}.get(key, key)
        return lambda message: message.get(name)

    def changes(self, message: dict[str, Any]) -> list[tuple[Row, int]]:
        kind, data = message.get("type"), message.get("data")
        if kind == "insert":
            return [(self._read(data), INSERT)]
        if kind == "delete":
            return [(self._read(data), DELETE)]
        if kind != "update" or not isinstance(data, dict):
            raise ValueError(f"unknown type {kind!r}")
        before = _before(message.get("old") or {}, data, self._names)
        return [(self._read(before), UPDATE_BEFORE), (self._read(data), UPDATE_AFTER)]

    def encode_line(self, row: Sequence[Any]) -> str:
        kind = "delete" if row[-1] & 1 else "insert"
        return f'{{"data":{self._write(row[: self._width])},"type":"{kind}"}}'


class OggJsonFormat(ChangelogJsonFormat):
    """Changes as Oracle's GoldenGate writes them: `before`, `after` and `op_type`."""

    options = _OPTIONS
    readable_metadata: ClassVar[dict[str, t.LogicalType]] = {
        "table": t.STRING,
        "primary-keys": t.ArrayType(element=t.STRING),
        "ingestion-timestamp": _PRECISE,
        "event-timestamp": _PRECISE,
    }

    def metadata_reader(self, key: str) -> Callable[[dict[str, Any]], Any]:
        name = {
            "primary-keys": "primary_keys", "ingestion-timestamp": "current_ts",
            "event-timestamp": "op_ts",
        }.get(key, key)  # fmt: skip
        if key.endswith("-timestamp"):
            return lambda message: _written_moment(message.get(name))
        return lambda message: message.get(name)

    def changes(self, message: dict[str, Any]) -> list[tuple[Row, int]]:
        kind, before, after = message.get("op_type"), message.get("before"), message.get("after")
        if kind == "I":
            return [(self._read(after), INSERT)]
        if kind not in ("U", "D"):
            raise ValueError(f"unknown op_type {kind!r}")
        if before is None:
            raise ValueError(
                f'"before" of a message with op_type {kind!r} is null: let GoldenGate log all '
                "columns of the table (ADD TRANDATA ... ALLCOLS)"
            )
        if kind == "D":
            return [(self._read(before), DELETE)]
        return [(self._read(before), UPDATE_BEFORE), (self._read(after), UPDATE_AFTER)]

    def encode_line(self, row: Sequence[Any]) -> str:
        text = self._write(row[: self._width])
        if row[-1] & 1:
            return f'{{"before":{text},"after":null,"op_type":"D"}}'
        return f'{{"before":null,"after":{text},"op_type":"I"}}'


def _before(old: dict[str, Any], after: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return a row before its update; only what has changed stands in `old`."""
    return {name: old[name] if name in old else after.get(name) for name in names}


def _moment(number: Any, milliseconds: int = 1) -> datetime.datetime | None:
    if number is None:
        return None
    return _EPOCH + datetime.timedelta(milliseconds=int(number) * milliseconds)


def _written_moment(text: Any) -> datetime.datetime | None:
    if text is None:
        return None
    return datetime.datetime.fromisoformat(str(text)).replace(tzinfo=datetime.timezone.utc)


def _plain(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
