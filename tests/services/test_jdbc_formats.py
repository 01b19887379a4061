"""Data sets between tables of real databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row
from penstock.dataset import (
    ExecutionEnvironment,
    JdbcInputFormat,
    JdbcNumericBetweenParametersProvider,
    JdbcOutputFormat,
)
from penstock.errors import SinkError, SourceError
from tests.services.conftest import GetServer
from tests.services.databases import Database, database


@pytest.fixture(params=["mariadb", "postgres"])
def db(request: pytest.FixtureRequest, servers: GetServer, tmp_path: Path) -> Database:
    return database(request.param, servers, tmp_path)


@pytest.fixture
def env() -> ExecutionEnvironment:
    return ExecutionEnvironment.create_collections_environment().set_parallelism(3)


def _at(builder: Any, db: Database) -> Any:
    builder.set_drivername("com.mysql.cj.jdbc.Driver").set_db_url(db.url)
    return builder.set_username(db.account["user"]).set_password(db.account["password"])


def test_from_one_table_to_another(db: Database, env: ExecutionEnvironment) -> None:
    orders = db.table("id INTEGER, shop VARCHAR(20), price INTEGER")
    totals = db.table("shop VARCHAR(20) PRIMARY KEY, price INTEGER")
    db.run(*(f"INSERT INTO {orders} VALUES ({n}, 's{n % 3}', {n})" for n in range(1, 31)))
    query = (
        _at(JdbcInputFormat.build_jdbc_input_format(), db)
        .set_query(f"SELECT id, shop, price FROM {orders} WHERE id BETWEEN ? AND ?")
        .set_parameters_provider(JdbcNumericBetweenParametersProvider(1, 30).of_batch_size(7))
        .set_fetch_size(2)
    )
    rows = env.create_input(query.finish())
    assert sorted(row.id for row in rows.collect()) == list(range(1, 31))
    summed = rows.map(lambda row: (row.shop, row.price)).group_by(0).sum(1)
    output = (
        _at(JdbcOutputFormat.build_jdbc_output_format(), db)
        .set_query(f"INSERT INTO {totals} VALUES (?, ?)")
        .set_batch_size(1)
    )
    summed.output(output.finish())
    env.execute()
    expected = [("s0", 165), ("s1", 145), ("s2", 155)]
    assert db.rows(f"SELECT shop, price FROM {totals} ORDER BY shop") == expected
    assert db.rows("SELECT * FROM penstock_published WHERE sink LIKE '%/0'") == []


def test_a_subtask_that_fails_undoes_what_it_wrote(db: Database, env: ExecutionEnvironment) -> None:
    table = db.table("n INTEGER PRIMARY KEY")
    output = _at(JdbcOutputFormat.build_jdbc_output_format(), db).set_batch_size(1)
    output.set_query(f"INSERT INTO {table} VALUES (?)")
    env.from_elements(1, 2, 2).output(output.finish()).set_parallelism(1)
    with pytest.raises(SinkError, match="does not take the rows"):
        env.execute()
    assert db.rows(f"SELECT n FROM {table}") == []


def test_types_of_columns(db: Database, env: ExecutionEnvironment) -> None:
    table = db.table("a BIGINT, b VARCHAR(10), c DOUBLE PRECISION, d DATE")
    db.run(f"INSERT INTO {table} VALUES (9000000000, 'é', 1.5, '2024-02-29'), (NULL, '', 0, NULL)")
    query = _at(JdbcInputFormat.build_jdbc_input_format(), db)
    query.set_query(f"SELECT * FROM {table} ORDER BY c")
    empty, full = env.create_input(query.finish()).collect()
    assert empty == Row(a=None, b="", c=0.0, d=None)
    assert (full.a, full.b, full.c, str(full.d)) == (9_000_000_000, "é", 1.5, "2024-02-29")
    query.set_password("wrong")
    with pytest.raises(SourceError, match="cannot be read"):
        env.create_input(query.finish()).collect()
