"""Relational databases as sources: a query read in parts and once, or watched for new rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.common.types import Row
from penstock.connectors.jdbc.dialects import dialect_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.connectors.positions import by_subtask, make_position, split_entry, subtask_of
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import ConfigurationError, SourceError

_CHUNK = 5000
_WATCHED = "rows"


@dataclass(frozen=True)
class _Query:
    sql: str
    #: One tuple of values for each part of a bounded read.
    parameters: tuple[tuple[Any, ...], ...] = ((),)
    #: The column that grows, for a query that is watched.
    column: str | None = None
    interval: float = 1.0

    def rows(self, condition: str) -> str:
        """Return the query with a condition on the column that grows, in its order."""
        inner = f"SELECT * FROM ({self.sql}) penstock_rows"
        return f"{inner} WHERE {condition} ORDER BY {self.column}"


class JdbcSource(Source):
    """Read the rows of a query. Use `JdbcSource.builder()`.

    *Bounded*: each tuple of parameters is a part of its own, read by one subtask; the table must
    not change while it is read. *Watched*: rows whose growing column is above the last one seen,
    again and again; rows must appear in the order of that column.

    >>> source = (
    ...     JdbcSource.builder()
    ...     .set_db_url("jdbc:sqlite:shop.db")
    ...     .set_sql("SELECT * FROM orders WHERE id BETWEEN ? AND ?")
    ...     .set_numeric_between_parameters(1, 1000, parts=4)
    ...     .build()
    ... )
    """

    def __init__(
        self, options: JdbcConnectionOptions, query: _Query, type_info: TypeInformation | None
    ) -> None:
        self._options = options
        self._query = query
        self._type_info = type_info
        self.bounded = query.column is None
        self.fixed_splits = self.bounded
        self.parallel = self.bounded

    @staticmethod
    def builder() -> JdbcSourceBuilder:
        """Return a builder of a source."""
        return JdbcSourceBuilder()

    def get_produced_type(self) -> TypeInformation | None:
        return self._type_info

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        if self._query.column is None:
            return _Parts(context, len(self._query.parameters))
        return _Watch(context, self._options, self._query)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _Reader(self._options, self._query, self._type_info)


class _Parts(SplitEnumerator):
    """The parts of a bounded read, a few in each batch."""

    def __init__(self, context: EnumeratorContext, parts: int) -> None:
        self._context = context
        self._parts = parts

    def initial(self) -> Position:
        many = self._context.parallelism
        return make_position({str(n): split_entry(0, n % many) for n in range(self._parts)})

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        splits, many = {}, self._context.parallelism
        busy: set[int] = set()
        for name, entry in start["splits"].items():
            subtask = subtask_of(entry, int(name), many)
            takes = not entry["done"] and subtask not in busy
            if takes:
                busy.add(subtask)  # one part at a time for each: how large it is nobody knows
            done = entry["done"] or takes
            splits[name] = split_entry(int(done), subtask, done=done)
        return make_position(splits)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        ranges = [
            (entry, SplitRange(name, 0, 1))
            for name, entry in end["splits"].items()
            if entry["done"] and not start["splits"][name]["done"]
        ]
        return by_subtask(ranges, self._context.parallelism)


class _Watch(SplitEnumerator):
    """Ask again and again how far the growing column has come; a thread of its own does it."""

    def __init__(
        self, context: EnumeratorContext, options: JdbcConnectionOptions, query: _Query
    ) -> None:
        self._context = context
        self._dialect = dialect_of(options)
        self._query = query
        self._most = 1000
        #: Where the last batch ended, and how far the next one may go from there.
        self._at: Any = None
        self._found: tuple[Any, Any] = (None, None)
        self._asked = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-jdbc", daemon=True)

    def start(self) -> None:
        restored = self._context.restored
        if restored is not None:
            self._at = restored["splits"][_WATCHED]["at"]
        self._thread.start()

    def initial(self) -> Position:
        return {"splits": {_WATCHED: split_entry(None, 0)}, "done": False}

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        at = start["splits"][_WATCHED]["at"]
        self._most = limit.max_records
        known_at, end = self._found
        if at != self._at:
            self._at = at
            self._asked.set()
        if known_at != at or end is None:
            return start
        return {"splits": {_WATCHED: split_entry(end, 0)}, "done": False}

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        first, last = start["splits"][_WATCHED]["at"], end["splits"][_WATCHED]["at"]
        return by_subtask(
            [(end["splits"][_WATCHED], SplitRange(_WATCHED, first, last))],
            self._context.parallelism,
        )

    def close(self) -> None:
        self._closed.set()
        self._asked.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._closed.is_set():
            at = self._at
            try:
                end = self._furthest(at)
            except Exception as error:
                if not self._dialect.is_passing(error):
                    self._context.fail(read_failure(self._dialect.address.shown(), error))
                    return
                end = None
            if end is not None and (at, end) != self._found:
                self._found = (at, end)
                self._context.wake()
            self._asked.wait(self._query.interval)
            self._asked.clear()

    def _furthest(self, at: Any) -> Any:
        column = self._query.column
        condition = f"{column} IS NOT NULL" if at is None else f"{column} > ?"
        bounded = f"{self._query.rows(condition)} LIMIT {int(self._most)}"
        sql = f"SELECT MAX({column}) FROM ({bounded}) penstock_end"
        connection = self._dialect.connect()
        try:
            cursor = connection.cursor()
            cursor.execute(self._dialect.statement(sql), () if at is None else (at,))
            [end] = cursor.fetchone()
            cursor.close()
        finally:
            connection.close()
        return end


class _Reader(SourceReader):
    """Read rows over a connection that lives from batch to batch."""

    def __init__(
        self, options: JdbcConnectionOptions, query: _Query, type_info: TypeInformation | None
    ) -> None:
        self._dialect = dialect_of(options)
        self._query = query
        names = type_info.get_field_names() if isinstance(type_info, RowTypeInfo) else None
        self._names: list[str] | None = names
        self._connection: Any = None

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        try:
            yield from self._rows(*self._statement(split_range))
        except (self._dialect.error, OSError) as error:
            self.close()
            raise read_failure(self._dialect.address.shown(), error) from None

    def _statement(self, split_range: SplitRange) -> tuple[str, tuple[Any, ...]]:
        query = self._query
        if query.column is None:
            return query.sql, query.parameters[int(split_range.split)]
        if split_range.start is None:
            return query.rows(f"{query.column} <= ?"), (split_range.end,)
        condition = f"{query.column} > ? AND {query.column} <= ?"
        return query.rows(condition), (split_range.start, split_range.end)

    def _rows(self, sql: str, values: tuple[Any, ...]) -> Iterator[SourceBatch]:
        if self._connection is None:
            self._connection = self._dialect.connect()
        cursor = self._connection.cursor()
        cursor.execute(self._dialect.statement(sql), values)
        for rows in rows_of(cursor, self._names, _CHUNK):
            yield SourceBatch(rows)
        cursor.close()
        # Ends the transaction: the next batch is to see what is there then.
        self._connection.rollback()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def rows_of(cursor: Any, names: list[str] | None, chunk: int) -> Iterator[list[Row]]:
    """Yield the rows of a query that was executed, some at a time.

    :param names: of the fields; default: the columns' names.
    """
    make = Row(*(names or [column[0] for column in cursor.description]))
    while rows := cursor.fetchmany(chunk):
        yield [make(*row) for row in rows]


def read_failure(address: str, error: BaseException) -> SourceError:
    """Return what is told when a database does not answer a query."""
    return SourceError(
        f"the database {address} cannot be read",
        got=f"{type(error).__name__}: {' '.join(str(part) for part in error.args)}",
        todo="correct the query, the table or the account",
    )


def between(minimum: int, maximum: int, parts: int, *, where: str) -> tuple[tuple[int, int], ...]:
    """Divide a range of whole numbers, both ends included, into parts of about the same size.

    :raises ConfigurationError: if the range or the number of parts is empty.
    """
    total = maximum - minimum + 1
    if total < 1 or parts < 1:
        raise ConfigurationError(
            "there is nothing to divide",
            where=where,
            got=f"{minimum} to {maximum} in {parts} parts",
        )
    parts = min(parts, total)
    bounds = [minimum + total * n // parts for n in range(parts + 1)]
    return tuple((bounds[n], bounds[n + 1] - 1) for n in range(parts))


class JdbcSourceBuilder:
    """Build a `JdbcSource`."""

    def __init__(self) -> None:
        self._connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        self._sql: str | None = None
        self._parameters: tuple[tuple[Any, ...], ...] = ((),)
        self._column: str | None = None
        self._interval = 1.0
        self._type_info: TypeInformation | None = None

    def set_db_url(self, url: str) -> JdbcSourceBuilder:
        """Set the database's URL."""
        self._connection.with_url(url)
        return self

    def set_driver_name(self, driver_name: str) -> JdbcSourceBuilder:
        """Accept the name of a Java driver, which is not needed."""
        self._connection.with_driver_name(driver_name)
        return self

    def set_username(self, user_name: str) -> JdbcSourceBuilder:
        """Set the user's name."""
        self._connection.with_user_name(user_name)
        return self

    def set_password(self, password: str) -> JdbcSourceBuilder:
        """Set the password."""
        self._connection.with_password(password)
        return self

    def set_sql(self, sql: str) -> JdbcSourceBuilder:
        """Set the query, with `?` for the parameters of a part."""
        self._sql = sql
        return self

    def set_type_information(self, type_info: TypeInformation) -> JdbcSourceBuilder:
        """Set the type of the rows, whose names the fields get. Default: the columns' names."""
        self._type_info = type_info
        return self

    def set_parameter_values(self, values: Sequence[Sequence[Any]]) -> JdbcSourceBuilder:
        """Read the query once for each of these lists of parameters, in parallel."""
        self._parameters = tuple(tuple(each) for each in values)
        return self

    def set_numeric_between_parameters(
        self, minimum: int, maximum: int, parts: int
    ) -> JdbcSourceBuilder:
        """Divide a range of whole numbers, both ends included, into parts for two parameters."""
        self._parameters = between(
            minimum,
            maximum,
            parts,
            where="JdbcSource.builder().set_numeric_between_parameters()",
        )
        return self

    def set_polling(self, column: str, interval_ms: int = 1000) -> JdbcSourceBuilder:
        """Watch the query for rows whose value of a growing column is above all seen before.

        :param column: a column of whole numbers or text that every new row has a larger value of.
        """
        self._column = column
        self._interval = interval_ms / 1000
        return self

    def build(self) -> JdbcSource:
        """Return the source.

        :raises ConfigurationError: if something is missing.
        """
        if self._sql is None:
            raise ConfigurationError(
                "the query is missing", where="JdbcSource.builder()", todo="call set_sql()"
            )
        options = self._connection.build()
        dialect_of(options)
        query = _Query(self._sql, self._parameters, self._column, self._interval)
        return JdbcSource(options, query, self._type_info)
