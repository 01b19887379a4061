"""Relational databases as the inputs and outputs of data sets: names of Flink 1.x."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.common.typeinfo import RowTypeInfo
from penstock.common.types import Row
from penstock.connectors.jdbc.dialects import count_placeholders, dialect_of
from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.connectors.jdbc.sink import (
    MARKER_TABLE,
    Transaction,
    create_marker_table,
    values_of,
    write_failure,
)
from penstock.connectors.jdbc.source import between, read_failure, rows_of
from penstock.core.batch.formats import InputFormat, OutputFormat
from penstock.errors import ConfigurationError, SinkError, show_value

_CHUNK = 5000
_BETWEEN = "JdbcNumericBetweenParametersProvider"


class JdbcParameterValuesProvider(ABC):
    """Say with which values a query is asked; each list of them is read by one subtask."""

    @abstractmethod
    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        """Return the lists of values, one for each part of the input."""


class JdbcGenericParameterValuesProvider(JdbcParameterValuesProvider):
    """The values themselves."""

    def __init__(self, parameters: Sequence[Sequence[Any]]) -> None:
        self._parameters = parameters

    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        return self._parameters


class JdbcNumericBetweenParametersProvider(JdbcParameterValuesProvider):
    """Divide a range of whole numbers, both ends included, for `BETWEEN ? AND ?`.

    :param numbers: smallest and largest; or, before these two, how many numbers a part has.

    >>> JdbcNumericBetweenParametersProvider(1, 10).of_batch_num(2).get_parameter_values()
    ((1, 5), (6, 10))
    >>> JdbcNumericBetweenParametersProvider(4, 1, 10).get_parameter_values()
    ((1, 4), (5, 8), (9, 10))
    """

    def __init__(self, *numbers: int) -> None:
        if len(numbers) not in (2, 3):
            raise ConfigurationError(
                "the range needs its smallest and its largest number",
                where=_BETWEEN,
                got=show_value(numbers),
                todo="pass (smallest, largest), or (numbers of a part, smallest, largest)",
            )
        self._least, self._most = numbers[-2:]
        self._parts: tuple[tuple[int, int], ...] | None = None
        if len(numbers) == 3:
            self.of_batch_size(numbers[0])

    def of_batch_size(self, batch_size: int) -> JdbcNumericBetweenParametersProvider:
        """Say how many numbers a part has; the last may have fewer."""
        if batch_size < 1:
            self._cut(0)
        most = self._most
        self._parts = tuple(
            (at, min(at + batch_size - 1, most)) for at in range(self._least, most + 1, batch_size)
        )
        return self

    def of_batch_num(self, batch_num: int) -> JdbcNumericBetweenParametersProvider:
        """Say how many parts there are."""
        self._parts = self._cut(batch_num)
        return self

    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        if self._parts is None:
            raise ConfigurationError(
                "it is not said how the range is divided",
                where=_BETWEEN,
                todo="call of_batch_size() or of_batch_num()",
            )
        return self._parts

    def _cut(self, parts: int) -> tuple[tuple[int, int], ...]:
        return between(self._least, self._most, parts, where=_BETWEEN)


class JdbcInputFormat(InputFormat[Row]):
    """Read the rows of a query. Use `JdbcInputFormat.build_jdbc_input_format()`.

    Without parameters one subtask reads it. With them each list of values is a part of its own, and
    subtasks read parts at the same time. The tables must not change meanwhile.

    >>> rows = (
    ...     JdbcInputFormat.build_jdbc_input_format()
    ...     .set_db_url("jdbc:sqlite:shop.db")
    ...     .set_query("SELECT id, price FROM orders WHERE id BETWEEN ? AND ?")
    ...     .set_parameters_provider(JdbcNumericBetweenParametersProvider(1, 1000).of_batch_num(4))
    ...     .finish()
    ... )
    """

    def __init__(
        self,
        options: JdbcConnectionOptions,
        query: str,
        parameters: Sequence[Sequence[Any]],
        names: list[str] | None,
        fetch_size: int,
    ) -> None:
        self._options = options
        self._query = query
        self._parameters = parameters
        self._names = names
        self._fetch_size = fetch_size

    @staticmethod
    def build_jdbc_input_format() -> JdbcInputFormatBuilder:
        """Return a builder."""
        return JdbcInputFormatBuilder()

    def create_input_splits(self, min_num_splits: int) -> list[Any]:
        return [tuple(values) for values in self._parameters]

    def read(self, split: Any) -> Iterator[Row]:
        dialect = dialect_of(self._options)
        try:
            connection = dialect.connect()
            try:
                cursor = connection.cursor()
                cursor.execute(dialect.statement(self._query), split)
                for rows in rows_of(cursor, self._names, self._fetch_size):
                    yield from rows
                cursor.close()
            finally:
                connection.close()
        except (dialect.error, OSError) as error:
            raise read_failure(dialect.address.shown(), error) from None


class _Builder:
    """Base: where the database is, and what it is asked or told."""

    _name: str

    def __init__(self) -> None:
        self._connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        self._query: str | None = None

    def set_db_url(self, db_url: str) -> Any:
        """Set the URL: `jdbc:mysql://host:port/database`, postgresql, mariadb or sqlite."""
        self._connection.with_url(db_url)
        return self

    def set_drivername(self, drivername: str) -> Any:
        """Accept the name of a Java driver, which is not needed."""
        self._connection.with_driver_name(drivername)
        return self

    def set_username(self, username: str) -> Any:
        """Set the user's name."""
        self._connection.with_user_name(username)
        return self

    def set_password(self, password: str) -> Any:
        """Set the password."""
        self._connection.with_password(password)
        return self

    def set_query(self, query: str) -> Any:
        """Set the query or statement, with a `?` for each value."""
        self._query = query
        return self

    def _checked(self) -> tuple[JdbcConnectionOptions, str]:
        if self._query is None:
            raise ConfigurationError(
                "the query is missing", where=self._name, todo="call set_query()"
            )
        options = self._connection.build()
        dialect_of(options)  # a missing driver shows now
        return options, self._query


class JdbcInputFormatBuilder(_Builder):
    """Build a `JdbcInputFormat`."""

    _name = "JdbcInputFormat"

    def __init__(self) -> None:
        super().__init__()
        self._parameters: Sequence[Sequence[Any]] = ((),)
        self._names: list[str] | None = None
        self._fetch_size = _CHUNK

    def set_parameters_provider(
        self, parameter_values_provider: JdbcParameterValuesProvider
    ) -> JdbcInputFormatBuilder:
        """Read the query once for each list of values, in parallel."""
        self._parameters = parameter_values_provider.get_parameter_values()
        return self

    def set_row_type_info(self, row_type_info: RowTypeInfo) -> JdbcInputFormatBuilder:
        """Name the fields of the rows as in a ROW type. Default: the columns' names."""
        self._names = row_type_info.get_field_names()
        return self

    def set_fetch_size(self, fetch_size: int) -> JdbcInputFormatBuilder:
        """Set how many rows are fetched at a time."""
        if fetch_size < 1:
            raise ConfigurationError(
                "the number must be 1 or more", where="set_fetch_size()", got=repr(fetch_size)
            )
        self._fetch_size = fetch_size
        return self

    def set_auto_commit(self, auto_commit: bool) -> JdbcInputFormatBuilder:
        """Accept a setting of Java's drivers; reading changes nothing."""
        return self

    def finish(self) -> JdbcInputFormat:
        """Return the format.

        :raises ConfigurationError: if something is missing, or values do not fit the query.
        """
        options, query = self._checked()
        due = count_placeholders(query)
        wrong = [values for values in self._parameters if len(values) != due]
        if wrong:
            raise ConfigurationError(
                "the query takes another number of values than it is given",
                where=self._name,
                got=f"{due} placeholders, values {show_value(tuple(wrong[0]))}",
                todo="call set_parameters_provider() with one value for each ?",
            )
        return JdbcInputFormat(options, query, self._parameters, self._names, self._fetch_size)


class JdbcOutputFormat(OutputFormat[Any]):
    """Execute a statement for each record. Use `JdbcOutputFormat.build_jdbc_output_format()`.

    What a subtask writes is one transaction with a mark of its own in the table
    `penstock_published`: a task that is run again after its commit writes nothing more. Subtasks of
    SQLite wait for each other.

    >>> output = (
    ...     JdbcOutputFormat.build_jdbc_output_format()
    ...     .set_db_url("jdbc:sqlite:shop.db")
    ...     .set_query("INSERT INTO totals VALUES (?, ?)")
    ...     .finish()
    ... )
    """

    def __init__(self, options: JdbcConnectionOptions, query: str, batch_size: int) -> None:
        self._options = options
        self._query = query
        self._count = count_placeholders(query)
        self._batch_size = batch_size
        self._run = ""

    @staticmethod
    def build_jdbc_output_format() -> JdbcOutputFormatBuilder:
        """Return a builder."""
        return JdbcOutputFormatBuilder()

    def initialize_global(self, parallelism: int) -> None:
        self._run = uuid.uuid4().hex
        self._with_database(lambda connection, dialect: create_marker_table(connection, dialect))

    def finalize_global(self, parallelism: int) -> None:
        def forget(connection: Any, dialect: Any) -> None:
            marks = [(f"{self._run}/{subtask}",) for subtask in range(parallelism)]
            with Transaction(connection, dialect) as cursor:
                delete = f"DELETE FROM {MARKER_TABLE} WHERE sink = ?"
                cursor.executemany(dialect.statement(delete), marks)

        self._with_database(forget)

    def open(self, task_number: int, num_tasks: int) -> None:
        self._mark = f"{self._run}/{task_number}"
        self._rows: list[tuple[Any, ...]] = []
        self._failed = False
        self._connection: Any = None
        self._transaction: Transaction | None = None
        #: An attempt of this subtask has committed before.
        self._is_there = False
        self._dialect = dialect_of(self._options)

    def write_record(self, record: Any) -> None:
        self._rows.append(values_of(record, self._count, f"JdbcOutputFormat, {self._query!r}"))
        if len(self._rows) >= self._batch_size:
            self._flush()

    def try_cleanup_on_error(self) -> None:
        self._failed = True

    def close(self) -> None:
        try:
            if not self._failed:
                self._flush()
            self._end(undo=self._failed)
        finally:
            if self._connection is not None:
                self._connection.close()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if not rows or self._is_there:
            return
        try:
            cursor = self._begun()
            if not self._is_there:
                cursor.executemany(self._dialect.statement(self._query), rows)
        except (self._dialect.error, OSError) as error:
            raise self._told(error) from None

    def _begun(self) -> Any:
        """Return the cursor of the subtask's transaction, which begins with its mark."""
        if self._transaction is None:
            self._connection = self._dialect.connect()
            self._transaction = Transaction(self._connection, self._dialect)
            cursor = self._cursor = self._transaction.__enter__()
            select = f"SELECT batch FROM {MARKER_TABLE} WHERE sink = ?"
            cursor.execute(self._dialect.statement(select), (self._mark,))
            self._is_there = cursor.fetchone() is not None
            if not self._is_there:
                insert = f"INSERT INTO {MARKER_TABLE} (sink, batch) VALUES (?, 0)"
                cursor.execute(self._dialect.statement(insert), (self._mark,))
        return self._cursor

    def _end(self, *, undo: bool) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            return
        try:
            transaction.__exit__(SinkError if undo else None)
        except (self._dialect.error, OSError) as error:
            raise self._told(error) from None

    def _with_database(self, work: Any) -> None:
        dialect = dialect_of(self._options)
        try:
            connection = dialect.connect()
            try:
                work(connection, dialect)
            finally:
                connection.close()
        except (dialect.error, OSError) as error:
            raise write_failure(dialect.address.shown(), error) from None

    def _told(self, error: BaseException) -> SinkError:
        return write_failure(self._dialect.address.shown(), error)


class JdbcOutputFormatBuilder(_Builder):
    """Build a `JdbcOutputFormat`."""

    _name = "JdbcOutputFormat"

    def __init__(self) -> None:
        super().__init__()
        self._batch_size = _CHUNK

    def set_batch_size(self, batch_size: int) -> JdbcOutputFormatBuilder:
        """Set how many rows are sent to the database at a time."""
        if batch_size < 1:
            raise ConfigurationError(
                "the number must be 1 or more", where="set_batch_size()", got=repr(batch_size)
            )
        self._batch_size = batch_size
        return self

    def set_sql_types(self, type_array: Sequence[int]) -> JdbcOutputFormatBuilder:
        """Accept the types of the columns; values say their types themselves."""
        return self

    def finish(self) -> JdbcOutputFormat:
        """Return the format.

        :raises ConfigurationError: if something is missing.
        """
        return JdbcOutputFormat(*self._checked(), self._batch_size)
