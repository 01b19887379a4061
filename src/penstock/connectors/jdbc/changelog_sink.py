"""A table in a database that takes changes: rows are put by their key, or deleted."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

from penstock.connectors.jdbc.options import JdbcConnectionOptions, JdbcExecutionOptions
from penstock.connectors.jdbc.sink import JdbcCommitter
from penstock.core.io import Committer, CommitterContext, Sink, SinkWriter, WriterContext

_CHUNK = 5000


@dataclass(frozen=True)
class ChangeStatements:
    """What is executed for a row that is put, and for one that is deleted.

    :param keys: positions of the primary key in a row.
    """

    puts: str
    deletes: str
    keys: tuple[int, ...]


class JdbcChangelogSink(Sink):
    """Apply changes to a table, exactly once: see `JdbcSink`.

    Rows are tuples with their kind behind them: even ones put a row, odd ones take it back. Of a
    key that changes several times in a batch the last change is written. All changes of a key must
    come to the same writer.
    """

    def __init__(
        self,
        statements: ChangeStatements,
        connection: JdbcConnectionOptions,
        execution: JdbcExecutionOptions,
    ) -> None:
        self._statements = statements
        self._connection = connection
        self._execution = execution

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ChangeWriter(self._statements.keys)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _ChangeCommitter(context, self._statements, self._connection, self._execution)


class _ChangeWriter(SinkWriter):
    """Keep the last change of each key."""

    def __init__(self, keys: tuple[int, ...]) -> None:
        self._keys = keys
        self._last: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def write(self, value: Any, timestamp: int | None) -> None:
        self._last[tuple(value[i] for i in self._keys)] = value

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        rows, self._last = list(self._last.values()), {}
        return [
            pickle.dumps(rows[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(rows), _CHUNK)
        ]


class _ChangeCommitter(JdbcCommitter):
    """Execute one statement for rows that are put, another for those that are deleted."""

    def __init__(
        self,
        context: CommitterContext,
        statements: ChangeStatements,
        connection: JdbcConnectionOptions,
        execution: JdbcExecutionOptions,
    ) -> None:
        self._statements = statements
        super().__init__(context, statements.puts, connection, execution)

    def _execute(self, cursor: Any, rows: list[tuple[Any, ...]]) -> None:
        super()._execute(cursor, [row[:-1] for row in rows if not row[-1] & 1])
        gone = [tuple(row[i] for i in self._statements.keys) for row in rows if row[-1] & 1]
        if gone:
            cursor.executemany(self._dialect.statement(self._statements.deletes), gone)
