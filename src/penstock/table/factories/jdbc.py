"""`jdbc`: tables of relational databases, read, written by key, and looked up."""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from penstock.common.option_values import parse_duration
from penstock.connectors.jdbc.changelog_sink import ChangeStatements, JdbcChangelogSink
from penstock.connectors.jdbc.dialects import Dialect, dialect_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions, JdbcExecutionOptions
from penstock.connectors.jdbc.sink import JdbcSink
from penstock.connectors.jdbc.source import JdbcSource
from penstock.core.io import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import SourceError, ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.base import TableContext, TableFactory, TableSink, TableSource
from penstock.table.factories.converted_source import Convert, ConvertedSource
from penstock.table.factories.formats.text_values import text_reader, text_writer

_PARTITION = tuple(f"scan.partition.{name}" for name in ("column", "num", "lower-bound",
                                                         "upper-bound"))  # fmt: skip


class JdbcFactory(TableFactory):
    """A table of MySQL, PostgreSQL or SQLite."""

    identifier = "jdbc"
    options = frozenset({
        "url", "table-name", "driver", "username", "password", "connection.max-retry-timeout",
        *_PARTITION, "scan.fetch-size", "scan.auto-commit", "lookup.cache", "lookup.max-retries",
        "lookup.partial-cache.max-rows", "lookup.partial-cache.expire-after-write",
        "lookup.partial-cache.expire-after-access", "lookup.partial-cache.cache-missing-key",
        "lookup.cache.max-rows", "lookup.cache.ttl", "lookup.cache.caching-missing-key",
        "sink.buffer-flush.max-rows", "sink.buffer-flush.interval", "sink.max-retries",
        "sink.parallelism",
    })  # fmt: skip

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table: all its rows, once."""
        connection = _connection(context)
        select = f"SELECT {_listed(context.schema.names(), connection)} FROM " + (
            _quoted(context.required("table-name"), connection)
        )
        builder = JdbcSource.builder().set_db_url(context.required("url"))
        if (user := context.options.get("username")) is not None:
            builder.set_username(user).set_password(context.options.get("password", ""))
        given = [key for key in _PARTITION if key in context.options]
        if given and len(given) < len(_PARTITION):
            raise ValidationError(
                f"either all or none of the options {', '.join(map(repr, _PARTITION))} are given",
                where=f"table {context.name}",
                got=", ".join(given),
                todo="add the others",
            )
        if given:
            column, parts, low, high = (context.options[key] for key in _PARTITION)
            select += f" WHERE {_quoted(column, connection)} BETWEEN ? AND ?"
            builder.set_numeric_between_parameters(int(low), int(high), int(parts))
        convert = functools.partial(_rows_reader, tuple(context.schema.children()))
        return TableSource(ConvertedSource(builder.set_sql(select).build(), convert))

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table: with a primary key it takes all changes."""
        connection = _connection(context)
        table = _quoted(context.required("table-name"), connection)
        names = context.schema.names()
        insert = (
            f"INSERT INTO {table} ({_listed(names, connection)}) "
            f"VALUES ({', '.join('?' for _ in names)})"
        )
        execution = JdbcExecutionOptions.builder()
        if (size := context.options.get("sink.buffer-flush.max-rows")) is not None:
            execution.with_batch_size(max(int(size), 1))
        if (retries := context.options.get("sink.max-retries")) is not None:
            execution.with_max_retries(int(retries))
        parallelism = context.options.get("sink.parallelism")
        many = None if parallelism is None else int(parallelism)
        kinds = context.schema.children()
        if not context.primary_key:
            inner: Sink = JdbcSink(insert, None, connection, execution.build())
            return TableSink(_ConvertingSink(inner, kinds, connection), parallelism=many)
        keys = context.primary_key
        others = [name for name in names if name not in keys]
        equal = " AND ".join(f"{_quoted(key, connection)} = ?" for key in keys)
        statements = ChangeStatements(
            insert + _on_conflict(keys, others, connection),
            f"DELETE FROM {table} WHERE {equal}",
            tuple(names.index(key) for key in keys),
        )
        inner = JdbcChangelogSink(statements, connection, execution.build())
        return TableSink(
            _ConvertingSink(inner, kinds, connection), frozenset("IUD"), update_before=False,
            with_kinds=True, key=keys, parallelism=many,
        )  # fmt: skip

    def lookup(self, context: TableContext) -> JdbcLookup:
        """Return how rows are looked up."""
        options = context.options
        rows = options.get("lookup.partial-cache.max-rows", options.get("lookup.cache.max-rows"))
        ttl = options.get(
            "lookup.partial-cache.expire-after-write", options.get("lookup.cache.ttl")
        )
        read = options.get("lookup.partial-cache.expire-after-access")
        missing = options.get(
            "lookup.partial-cache.cache-missing-key",
            options.get("lookup.cache.caching-missing-key", "true"),
        )
        legacy = "lookup.cache.max-rows" in options and "lookup.cache.ttl" in options
        kind = options.get("lookup.cache", "PARTIAL" if legacy else "NONE").upper()
        if kind not in ("NONE", "PARTIAL"):
            raise ValidationError(
                "the option 'lookup.cache' has no such value",
                where=f"table {context.name}",
                got=kind,
                todo="use NONE or PARTIAL",
            )
        return JdbcLookup(
            _connection(context), context.required("table-name"), context.schema, kind == "PARTIAL",
            None if rows is None else int(rows), _millis(ttl), _millis(read),
            missing.lower() == "true", int(options.get("lookup.max-retries", "3")),
        )  # fmt: skip


@dataclass
class JdbcLookup:
    """Rows of a table by the values of some columns, with a cache.

    :param ttl: milliseconds after which a cached answer is asked for again; None: never.
    :param idle: milliseconds without a question after which it is forgotten.
    """

    connection: JdbcConnectionOptions
    table: str
    schema: t.RowType
    cached: bool = False
    max_rows: int | None = None
    ttl: int | None = None
    idle: int | None = None
    keeps_missing: bool = True
    retries: int = 3
    columns: tuple[int, ...] = ()
    _open: Any = field(default=None, compare=False)

    def bound(self, columns: Sequence[int]) -> JdbcLookup:
        """Return the look-up by these columns."""
        return JdbcLookup(
            self.connection, self.table, self.schema, self.cached, self.max_rows, self.ttl,
            self.idle, self.keeps_missing, self.retries, tuple(columns),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}

    def open(self) -> None:
        """Begin with an empty cache. The first question connects."""
        self._open = _OpenLookup(self)

    def close(self) -> None:
        """Let go of the connection."""
        if self._open is not None:
            self._open.close()

    def rows(self, key: tuple[Any, ...], now: int) -> list[tuple[Any, ...]]:
        """Return the rows of a key.

        :param now: processing time in milliseconds.
        """
        found: list[tuple[Any, ...]] = self._open.rows(key, now)
        return found


class _OpenLookup:
    def __init__(self, lookup: JdbcLookup) -> None:
        self._lookup = lookup
        names = lookup.schema.names()
        self._dialect: Dialect = dialect_of(lookup.connection)
        where = " AND ".join(f"{_quoted(names[i], lookup.connection)} = ?" for i in lookup.columns)
        self._sql = self._dialect.statement(
            f"SELECT {_listed(names, lookup.connection)} FROM "
            f"{_quoted(lookup.table, lookup.connection)} WHERE {where}"
        )
        kinds = lookup.schema.children()
        self._read = _row_reader(kinds)
        self._writers = [_writer(kinds[i], lookup.connection) for i in lookup.columns]
        #: By key: rows, when they were read, when they were asked for. The oldest first.
        self._cache: OrderedDict[Any, tuple[list[Any], int, int]] = OrderedDict()
        self._connection: Any = None

    def rows(self, key: tuple[Any, ...], now: int) -> list[tuple[Any, ...]]:
        lookup = self._lookup
        if not lookup.cached:
            return self._ask(key)
        held = self._cache.pop(key, None)
        if held is not None:
            rows, written, asked = held
            is_old = lookup.ttl is not None and now - written >= lookup.ttl
            is_idle = lookup.idle is not None and now - asked >= lookup.idle
            if not is_old and not is_idle:
                self._cache[key] = (rows, written, now)
                return rows
        rows = self._ask(key)
        if rows or lookup.keeps_missing:
            self._cache[key] = (rows, now, now)
            if lookup.max_rows is not None and len(self._cache) > lookup.max_rows:
                self._cache.popitem(last=False)
        return rows

    def _ask(self, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        values = tuple(write(value) for write, value in zip(self._writers, key, strict=True))
        failures = 0
        while True:
            try:
                if self._connection is None:
                    self._connection = self._dialect.connect()
                cursor = self._connection.cursor()
                cursor.execute(self._sql, values)
                rows = [self._read(row) for row in cursor.fetchall()]
                cursor.close()
                # Ends the transaction: the next question is to see what is there then.
                self._connection.rollback()
                return rows
            except (self._dialect.error, OSError) as error:
                self.close()
                failures += 1
                if failures > self._lookup.retries or not self._dialect.is_passing(error):
                    raise SourceError(
                        f"rows of {self._lookup.table} cannot be looked up",
                        where=self._dialect.address.shown(),
                        got=f"{type(error).__name__}: {error}",
                        todo="correct the table's columns, or the account",
                    ) from None

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(self._dialect.error, OSError):
                connection.close()  # fails if the server has ended it already


def _rows_reader(kinds: tuple[t.LogicalType, ...]) -> Convert:
    """Return what makes rows of a table of rows of a database."""
    convert = _row_reader(kinds)
    return lambda rows: [convert(row) for row in rows]


class _ConvertingSink(Sink):
    """A sink whose rows get values that the driver takes."""

    def __init__(
        self, sink: Sink, kinds: Sequence[t.LogicalType], connection: JdbcConnectionOptions
    ) -> None:
        self._sink = sink
        self._kinds = tuple(kinds)
        self._connection = connection

    def create_writer(self, context: WriterContext) -> SinkWriter:
        writers = [_writer(kind, self._connection) for kind in self._kinds]
        return _ConvertingWriter(self._sink.create_writer(context), writers)

    def create_committer(self, context: CommitterContext) -> Committer:
        return self._sink.create_committer(context)


class _ConvertingWriter(SinkWriter):
    def __init__(self, writer: SinkWriter, writers: list[Callable[[Any], Any]]) -> None:
        self._writer = writer
        self._writers = writers

    def write(self, value: Any, timestamp: int | None) -> None:
        writers = self._writers
        row = tuple(write(cell) for write, cell in zip(writers, value, strict=False))
        self._writer.write(row + tuple(value[len(writers) :]), timestamp)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        return self._writer.prepare_commit(end_of_input)


# ---- SQL


def _connection(context: TableContext) -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    builder.with_url(context.required("url"))
    if (user := context.options.get("username")) is not None:
        builder.with_user_name(user).with_password(context.options.get("password", ""))
    return builder.build()


def _quoted(name: str, connection: JdbcConnectionOptions) -> str:
    mark = "`" if connection.address.kind == "mysql" else '"'
    return ".".join(f"{mark}{part}{mark}" for part in name.split("."))


def _listed(names: Sequence[str], connection: JdbcConnectionOptions) -> str:
    return ", ".join(_quoted(name, connection) for name in names)


def _on_conflict(
    keys: Sequence[str], others: Sequence[str], connection: JdbcConnectionOptions
) -> str:
    def name(column: str) -> str:
        return _quoted(column, connection)

    if connection.address.kind == "mysql":
        # A key alone is set to itself: nothing changes.
        changed = others or keys[:1]
        return " ON DUPLICATE KEY UPDATE " + ", ".join(
            f"{name(each)} = VALUES({name(each)})" for each in changed
        )
    if not others:
        return f" ON CONFLICT ({_listed(keys, connection)}) DO NOTHING"
    return f" ON CONFLICT ({_listed(keys, connection)}) DO UPDATE SET " + ", ".join(
        f"{name(each)} = EXCLUDED.{name(each)}" for each in others
    )


def _millis(text: str | None) -> int | None:
    return None if text is None else parse_duration(text).to_millis()


# ---- values


def _row_reader(kinds: Sequence[t.LogicalType]) -> Callable[[Any], tuple[Any, ...]]:
    readers = [_reader(kind) for kind in kinds]

    def read(row: Any) -> tuple[Any, ...]:
        return tuple(
            None if value is None else reader(value)
            for reader, value in zip(readers, row, strict=True)
        )

    return read


def _reader(kind: t.LogicalType) -> Callable[[Any], Any]:
    """Return how a driver's value becomes one of a type: databases have fewer types than SQL."""
    if isinstance(kind, t.BinaryStringType):
        return bytes
    from_text = text_reader(kind)
    if isinstance(kind, t.BooleanType):
        return lambda value: from_text(value) if isinstance(value, str) else bool(value)
    if isinstance(kind, t.DecimalType):
        return lambda value: from_text(format(Decimal(str(value)), "f"))
    if isinstance(kind, t.LocalZonedTimestampType):
        utc = datetime.timezone.utc

        def to_instant(value: Any) -> Any:
            if isinstance(value, str):
                return from_text(value)
            return value.replace(tzinfo=utc) if value.tzinfo is None else value.astimezone(utc)

        return to_instant
    if isinstance(kind, t.PointInTimeType | t.DateType | t.TimeType):
        return lambda value: from_text(value) if isinstance(value, str) else value
    return from_text


def _writer(kind: t.LogicalType, connection: JdbcConnectionOptions) -> Callable[[Any], Any]:
    """Return how a value is handed to the driver: SQLite's knows numbers, texts and bytes only."""
    if connection.address.kind == "sqlite" and isinstance(
        kind, t.DecimalType | t.PointInTimeType | t.DateType | t.TimeType
    ):
        text = text_writer(kind)
        return lambda value: None if value is None else text(value).rstrip("Z")
    return lambda value: value
