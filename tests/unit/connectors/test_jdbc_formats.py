"""Databases as inputs and outputs of data sets, on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.dataset import (
    ExecutionEnvironment,
    JdbcGenericParameterValuesProvider,
    JdbcInputFormat,
    JdbcNumericBetweenParametersProvider,
    JdbcOutputFormat,
)
from penstock.errors import ConfigurationError, SerializationError, SinkError, SourceError


@pytest.fixture
def env() -> ExecutionEnvironment:
    return ExecutionEnvironment.create_collections_environment().set_parallelism(2)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    _run(
        path,
        "CREATE TABLE orders (id INTEGER, price REAL)",
        "CREATE TABLE totals (name TEXT, n INTEGER)",
        *(f"INSERT INTO orders VALUES ({n}, {n / 2})" for n in range(1, 11)),
    )
    return path


def _run(path: Path, *statements: str) -> list[Any]:
    connection = sqlite3.connect(path)
    rows = [connection.execute(statement).fetchall() for statement in statements][-1]
    connection.commit()
    connection.close()
    return rows


def _input(path: Path, query: str) -> Any:
    builder = JdbcInputFormat.build_jdbc_input_format().set_drivername("org.sqlite.JDBC")
    return builder.set_db_url(f"jdbc:sqlite:{path}").set_query(query)


def _output(path: Path, statement: str = "INSERT INTO totals VALUES (?, ?)") -> Any:
    builder = JdbcOutputFormat.build_jdbc_output_format().set_drivername("org.sqlite.JDBC")
    return builder.set_db_url(f"jdbc:sqlite:{path}").set_query(statement)


def test_a_query_gives_rows_with_the_names_of_its_columns(
    env: ExecutionEnvironment, database: Path
) -> None:
    orders = env.create_input(_input(database, "SELECT id, price FROM orders").finish())
    assert orders.filter(lambda row: row.id > 8).collect() == [
        Row(id=9, price=4.5),
        Row(id=10, price=5.0),
    ]
    assert [row.as_dict() for row in orders.first(1).collect()] == [{"id": 1, "price": 0.5}]


def test_a_row_type_names_the_fields(env: ExecutionEnvironment, database: Path) -> None:
    types = Types.ROW_NAMED(["key", "amount"], [Types.INT(), Types.DOUBLE()])
    query = _input(database, "SELECT id, price FROM orders").set_row_type_info(types)
    summed = env.create_input(query.set_fetch_size(3).finish()).sum("amount")
    assert summed.collect()[0].amount == 27.5


def test_each_part_of_a_query_is_read_once_by_its_subtask(
    env: ExecutionEnvironment, database: Path
) -> None:
    query = _input(database, "SELECT id FROM orders WHERE id BETWEEN ? AND ?")
    parts = JdbcNumericBetweenParametersProvider(1, 10).of_batch_num(4)
    data = env.create_input(query.set_parameters_provider(parts).finish())

    def ids(rows: Iterable[Row]) -> list[list[int]]:
        return [sorted(row[0] for row in rows)]

    # Four parts of two or three numbers, dealt out to two subtasks.
    assert data.map_partition(ids).collect() == [[1, 2, 6, 7], [3, 4, 5, 8, 9, 10]]
    names = JdbcGenericParameterValuesProvider([[2], [4]])
    some = _input(database, "SELECT id FROM orders WHERE id = ?").set_parameters_provider(names)
    assert sorted(row.id for row in env.create_input(some.finish()).collect()) == [2, 4]


def test_records_are_written_to_a_table(env: ExecutionEnvironment, database: Path) -> None:
    data = env.from_collection([(f"n{n}", n) for n in range(20)])
    data.output(_output(database).set_batch_size(3).set_sql_types([12, 4]).finish())
    env.execute()
    assert _run(database, "SELECT count(*), sum(n) FROM totals") == [(20, 190)]
    assert _run(database, "SELECT count(*) FROM penstock_published") == [(0,)]


def test_a_subtask_that_is_run_again_after_its_commit_writes_nothing_more(database: Path) -> None:
    output = _output(database).finish()
    output.initialize_global(1)
    for attempt in range(2):
        output.open(0, 1)
        output.write_record(("a", attempt))
        output.close()
    assert _run(database, "SELECT * FROM totals") == [("a", 0)]
    output.finalize_global(1)
    assert _run(database, "SELECT * FROM penstock_published") == []


def test_a_subtask_that_fails_leaves_nothing(env: ExecutionEnvironment, database: Path) -> None:
    data = env.from_collection([("a", 1), ("b", 2), ("c", 0)]).map(lambda r: (r[0], 1 // r[1]))
    data.output(_output(database).set_batch_size(1).finish()).set_parallelism(1)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        env.execute()
    assert _run(database, "SELECT * FROM totals") == []


def test_a_record_with_other_fields_than_the_statement(
    env: ExecutionEnvironment, database: Path
) -> None:
    env.from_elements(("a", 1, 2)).output(_output(database).finish())
    with pytest.raises(SerializationError) as caught:
        env.execute()
    assert caught.value.what == "the record has another number of fields than the statement takes"
    assert caught.value.where == "JdbcOutputFormat, 'INSERT INTO totals VALUES (?, ?)'"
    assert caught.value.got == "('a', 1, 2)"


def test_what_the_database_refuses(env: ExecutionEnvironment, database: Path) -> None:
    with pytest.raises(SourceError) as read:
        env.create_input(_input(database, "SELECT * FROM nowhere").finish()).collect()
    assert read.value.what == f"the database jdbc:sqlite:{database} cannot be read"
    assert read.value.got == "OperationalError: no such table: nowhere"
    env.from_elements(("a", 1)).output(
        _output(database, "INSERT INTO nowhere VALUES (?, ?)").finish()
    )
    with pytest.raises(SinkError) as written:
        env.execute()
    assert written.value.what == f"the database jdbc:sqlite:{database} does not take the rows"
    assert written.value.got == "OperationalError: no such table: nowhere"
    assert written.value.todo == "correct the statement, the table or the account"


def test_what_is_missing_shows_when_the_format_is_built(database: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        JdbcInputFormat.build_jdbc_input_format().finish()
    assert (caught.value.what, caught.value.todo) == ("the query is missing", "call set_query()")
    with pytest.raises(ConfigurationError) as caught:
        JdbcOutputFormat.build_jdbc_output_format().set_query("DELETE FROM t").finish()
    assert caught.value.what == "the database's URL is missing"
    with pytest.raises(ConfigurationError) as caught:
        _input(database, "SELECT * FROM orders WHERE id = ?").finish()
    assert caught.value.what == "the query takes another number of values than it is given"
    assert caught.value.got == "1 placeholders, values ()"
    with pytest.raises(ConfigurationError) as caught:
        JdbcNumericBetweenParametersProvider(1, 10).get_parameter_values()
    assert caught.value.what == "it is not said how the range is divided"
    with pytest.raises(ConfigurationError) as caught:
        JdbcNumericBetweenParametersProvider(1, 10).of_batch_size(0)
    assert caught.value.got == "1 to 10 in 0 parts"
    with pytest.raises(ConfigurationError) as caught:
        JdbcNumericBetweenParametersProvider(1)
    assert caught.value.what == "the range needs its smallest and its largest number"
    for wrong in (lambda: _input(database, "x").set_fetch_size(0), _no_batch):
        with pytest.raises(ConfigurationError, match="the number must be 1 or more"):
            wrong()


def _no_batch() -> None:
    _output(Path("x")).set_batch_size(0)
