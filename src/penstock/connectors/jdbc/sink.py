"""Relational databases as sinks: a batch's rows and its number, in one transaction."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.common.types import Row
from penstock.connectors.jdbc.dialects import Dialect, count_placeholders, dialect_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions, JdbcExecutionOptions
from penstock.connectors.journal import numbering_of
from penstock.connectors.retrying import Again, Retries
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import ConfigurationError, SerializationError, SinkError, show_value

_logger = logging.getLogger("penstock.jdbc")

#: The table that tells which batches are in the database.
MARKER_TABLE = "penstock_published"
_CHUNK = 5000


class JdbcSink(Sink):
    """Execute a statement for each record. Use `JdbcSink.sink()`.

    Exactly once, whatever the statement is: all statements of a batch and the batch's number are
    one transaction, made when the batch is durable. The number is kept in the table
    `penstock_published`, which is created where it is missing. Needs the extra `mysql` or
    `postgres`; SQLite needs nothing.
    """

    def __init__(
        self,
        sql: str,
        type_info: TypeInformation | None,
        connection: JdbcConnectionOptions,
        execution: JdbcExecutionOptions,
    ) -> None:
        self._sql = sql
        self._type_info = type_info
        self._connection = connection
        self._execution = execution

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that executes a statement with the fields of each record.

        :param sql: with a `?` for each field, in order.
        :param type_info: the type of the records, a ROW or TUPLE.
        :raises ConfigurationError: if the number of fields is not that of the placeholders.

        >>> from penstock.common import Types
        >>> from penstock.connectors.jdbc.options import JdbcConnectionOptions
        >>> sink = JdbcSink.sink(
        ...     "INSERT INTO counts VALUES (?, ?)",
        ...     Types.ROW([Types.STRING(), Types.INT()]),
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:sqlite:counts.db")
        ...     .build(),
        ... )
        """
        placeholders = count_placeholders(sql)
        fields = len(type_info.field_types) if isinstance(type_info, RowTypeInfo) else placeholders
        if fields != placeholders:
            raise ConfigurationError(
                "the statement takes another number of values than a record has",
                where="JdbcSink.sink()",
                got=f"{placeholders} placeholders, {fields} fields",
                todo="write one ? for each field of the record",
            )
        dialect_of(jdbc_connection_options)  # a missing driver shows now
        execution = jdbc_execution_options or JdbcExecutionOptions.defaults()
        return JdbcSink(sql, type_info, jdbc_connection_options, execution)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _RowWriter(self._sql)

    def create_committer(self, context: CommitterContext) -> Committer:
        return JdbcCommitter(context, self._sql, self._connection, self._execution)


def values_of(record: Any, count: int, where: str) -> tuple[Any, ...]:
    """Return a record as the values of a statement.

    :param count: how many values the statement takes.
    :raises SerializationError: if the record has another number of fields.
    """
    if isinstance(record, (tuple, list, Row)):
        row = tuple(record)
    else:
        row = (record,) if count == 1 else ()
    if len(row) != count:
        raise SerializationError(
            "the record has another number of fields than the statement takes",
            where=where,
            got=show_value(record),
            todo=f"send tuples or rows with {count} fields to the sink",
        )
    return row


class _RowWriter(SinkWriter):
    """Turn records into the values of the statement."""

    def __init__(self, sql: str) -> None:
        self._where = f"JdbcSink, {sql!r}"
        self._count = count_placeholders(sql)
        self._rows: list[tuple[Any, ...]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._rows.append(values_of(value, self._count, self._where))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        rows, self._rows = self._rows, []
        return [
            pickle.dumps(rows[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(rows), _CHUNK)
        ]


class JdbcCommitter(Committer):
    """Write a batch's rows and its number in one transaction.

    The row with the number is locked first. So a publisher of another run that has not noticed its
    end is waited for, and what it has written is not written again; a commit whose outcome nobody
    heard is looked up by the next attempt.
    """

    def __init__(
        self,
        context: CommitterContext,
        sql: str,
        connection: JdbcConnectionOptions,
        execution: JdbcExecutionOptions,
    ) -> None:
        self._dialect = dialect_of(connection)
        self._sql = self._dialect.statement(sql)
        self._size = execution.get_batch_size()
        numbering = numbering_of(context.directory, fresh=not context.restored)
        self._key = f"{numbering}/{context.uid}"[:255]
        self._connection: Any = None
        self._retries = Retries(
            _logger,
            self._dialect.address.shown(),
            context.stopping,
            least=execution.get_max_retries(),
        )
        self._retries.run(partial(self._attempt, self._prepare))

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        write = partial(self._write, batch_id, committables)
        self._retries.run(partial(self._attempt, write))

    def close(self) -> None:
        self._disconnect()

    def _prepare(self) -> None:
        """Have a row for this sink in the table of published batches."""
        dialect = self._dialect
        create_marker_table(self._connected(), dialect)
        with Transaction(self._connected(), dialect) as cursor:
            if self._published(cursor) is None:
                insert = self._statement("INSERT INTO {} (sink, batch) VALUES (?, ?)")
                cursor.execute(insert, (self._key, -1))

    def _write(self, batch_id: int, committables: list[Committable]) -> None:
        with Transaction(self._connected(), self._dialect) as cursor:
            published = self._published(cursor)
            if published is not None and published >= batch_id:
                return
            for committable in committables:
                self._execute(cursor, pickle.loads(committable.payload))
            update = self._statement("UPDATE {} SET batch = ? WHERE sink = ?")
            cursor.execute(update, (batch_id, self._key))

    def _execute(self, cursor: Any, rows: list[tuple[Any, ...]]) -> None:
        for i in range(0, len(rows), self._size):
            cursor.executemany(self._sql, rows[i : i + self._size])

    def _published(self, cursor: Any) -> int | None:
        select = self._statement("SELECT batch FROM {} WHERE sink = ?") + self._dialect.for_update
        cursor.execute(select, (self._key,))
        row = cursor.fetchone()
        return None if row is None else int(row[0])

    def _statement(self, sql: str) -> str:
        return self._dialect.statement(sql.format(MARKER_TABLE))

    # ------------------------------------------------------------------------------- connection

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = self._dialect.connect()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception as error:
                _logger.debug("a connection could not be closed: %s", error)

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (self._dialect.error, OSError) as error:
            # What the transaction did is undone with its connection.
            self._disconnect()
            if self._dialect.is_passing(error):
                raise Again(error, self._failed(error)) from None
            raise self._failed(error) from None

    def _failed(self, error: BaseException) -> SinkError:
        failure = write_failure(self._dialect.address.shown(), error)
        failure.todo = f"{failure.todo}; what is recorded is written when the job is started again"
        return failure


def write_failure(address: str, error: BaseException) -> SinkError:
    """Return what is told when a database does not take rows."""
    return SinkError(
        f"the database {address} does not take the rows",
        got=f"{type(error).__name__}: {' '.join(str(part) for part in error.args)}",
        todo="correct the statement, the table or the account",
    )


def create_marker_table(connection: Any, dialect: Dialect) -> None:
    """Have the table of published batches."""
    with Transaction(connection, dialect) as cursor:
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {MARKER_TABLE} "
            f"(sink {dialect.key_type} PRIMARY KEY, batch BIGINT NOT NULL)"
        )


class Transaction:
    """A cursor whose work is committed, or undone if something fails."""

    def __init__(self, connection: Any, dialect: Dialect) -> None:
        self._connection = connection
        self._begin = dialect.begin
        self._cursor: Any = None

    def __enter__(self) -> Any:
        self._cursor = self._connection.cursor()
        if self._begin is not None:
            self._cursor.execute(self._begin)
        return self._cursor

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self._connection.commit()
            else:
                self._connection.rollback()
        except Exception:
            if kind is None:
                raise  # else the first error says more
        finally:
            self._cursor.close()
