"""Transactions in two phases: prepared by one process, ended by another, in MySQL and PostgreSQL.

A `TwoPhaseCommitSinkFunction` needs a transaction that it can pass on: a connection cannot be. What
is passed on here is the transaction's name, and no password.
"""

from __future__ import annotations

import uuid
from typing import Any

from penstock.connectors.jdbc.dialects import Dialect, dialect_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.errors import ConfigurationError, SinkError


class XaTransaction:
    """A transaction of a database that outlives its connection once it is prepared. Picklable.

    MariaDB 10.5 or MySQL 8 and later, and PostgreSQL with `max_prepared_transactions` above zero.

        def begin_transaction(self):
            return XaTransaction.begin(options)

        def invoke(self, transaction, value, context):
            transaction.execute("INSERT INTO words VALUES (?)", (value,))

        def pre_commit(self, transaction):
            transaction.prepare()

        def commit(self, transaction):
            transaction.commit(options)

        def abort(self, transaction):
            transaction.rollback(options)
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._connection: Any = None
        self._dialect: Dialect

    @classmethod
    def begin(cls, options: JdbcConnectionOptions) -> XaTransaction:
        """Connect and begin a transaction.

        :raises ConfigurationError: if the database has no transactions in two phases.
        """
        transaction = cls(f"penstock-{uuid.uuid4().hex}")
        transaction._dialect = dialect_of(options)
        statements = transaction._verbs(options)["begin"]
        transaction._connection = transaction._dialect.connect()
        transaction._run(statements)
        return transaction

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> None:
        """Execute a statement with `?` for its values."""
        self._run([self._dialect.statement(sql)], values)

    def executemany(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        """Execute a statement for each of several rows."""
        with self._connection.cursor() as cursor:
            cursor.executemany(self._dialect.statement(sql), rows)

    def prepare(self) -> None:
        """Make what was done durable, but not visible; the connection ends."""
        self._run(self._verbs(self._dialect.options)["prepare"])
        self._disconnect()

    def commit(self, options: JdbcConnectionOptions) -> None:
        """Make what was prepared visible, from any process. A second time it does nothing."""
        self._end("commit", options)

    def rollback(self, options: JdbcConnectionOptions) -> None:
        """Undo the transaction, prepared or not. A second time it does nothing."""
        if self._connection is not None:
            self._disconnect()  # what is not prepared goes with its connection
        self._end("rollback", options)

    def __reduce__(self) -> Any:
        return XaTransaction, (self.name,)

    def __repr__(self) -> str:
        return f"XaTransaction({self.name})"

    def _end(self, verb: str, options: JdbcConnectionOptions) -> None:
        dialect = dialect_of(options)
        connection = dialect.connect()
        try:
            dialect.commit_each_statement(connection)
            with connection.cursor() as cursor:
                for statement in self._verbs(options)[verb]:
                    cursor.execute(statement)
        except dialect.error as error:
            if not _is_unknown(error):
                raise SinkError(
                    f"transaction {self.name} cannot be ended",
                    got=f"{type(error).__name__}: {error}",
                ) from None
        finally:
            connection.close()

    def _run(self, statements: list[str], values: tuple[Any, ...] = ()) -> None:
        with self._connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement, values or None)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        connection.close()

    def _verbs(self, options: JdbcConnectionOptions) -> dict[str, list[str]]:
        name = f"'{self.name}'"
        kind = options.address.kind
        if kind == "mysql":
            return {
                "begin": [f"XA START {name}"],
                "prepare": [f"XA END {name}", f"XA PREPARE {name}"],
                "commit": [f"XA COMMIT {name}"],
                "rollback": [f"XA ROLLBACK {name}"],
            }
        if kind == "postgresql":
            return {
                "begin": [],
                "prepare": [f"PREPARE TRANSACTION {name}"],
                "commit": [f"COMMIT PREPARED {name}"],
                "rollback": [f"ROLLBACK PREPARED {name}"],
            }
        raise ConfigurationError(
            "the database has no transactions in two phases",
            got=options.address.shown(),
            todo="use JdbcSink, which needs none",
        )


def _is_unknown(error: BaseException) -> bool:
    """Tell whether the database knows no such transaction: it has been ended before."""
    if getattr(error, "sqlstate", None) == "42704":
        return True
    return bool(error.args) and error.args[0] == 1397
