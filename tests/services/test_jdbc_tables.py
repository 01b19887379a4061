"""`'connector' = 'jdbc'` on real databases: read, written by key, looked up."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.graph.relational import types as t
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.factories.base import TableContext
from penstock.table.factories.jdbc import JdbcFactory
from tests.services.conftest import GetServer
from tests.services.databases import Database, database

pytestmark = pytest.mark.parametrize("db", ["mariadb", "postgres"], indirect=True)
SHOP = "id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8, 2), at TIMESTAMP(3), ok BOOLEAN"
COLUMNS = "id INT, name STRING, price DECIMAL(8, 2), at TIMESTAMP(3), ok BOOLEAN"


@pytest.fixture
def db(request: pytest.FixtureRequest, servers: GetServer, tmp_path: Path) -> Database:
    return database(request.param, servers, tmp_path)


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process").set("parallelism.default", "2")
    return t_env


def _options(db: Database, table: str) -> dict[str, str]:
    return {
        "connector": "jdbc", "url": db.url, "table-name": table,
        "username": db.account["user"], "password": db.account["password"],
    }  # fmt: skip


def _create(
    t_env: TableEnvironment, db: Database, columns: str, table: str, name: str = "t", **more: str
) -> None:
    given = {**_options(db, table), **{k.replace("_", "."): v for k, v in more.items()}}
    text = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({text})")


def _rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


def _file(t_env: TableEnvironment, folder: Path, columns: str, text: str, name: str) -> None:
    (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
        f"'path' = '{folder}/{name}.csv', 'format' = 'csv')"
    )


def test_rows_are_read_with_the_types_of_the_table(db: Database, t_env: TableEnvironment) -> None:
    table = db.table(SHOP)
    db.run(
        f"INSERT INTO {table} VALUES (1, 'tea', 2.5, '2024-01-01 10:00:00.5', TRUE), "
        "(2, NULL, NULL, NULL, NULL)"
    )
    _create(t_env, db, COLUMNS, table)
    assert _rows(t_env, "SELECT * FROM t") == [
        (1, "tea", Decimal("2.50"), datetime.datetime(2024, 1, 1, 10, 0, 0, 500_000), True),
        (2, None, None, None, None),
    ]
    assert _rows(t_env, "SELECT name FROM t WHERE price > 2 AND ok") == [("tea",)]


def test_a_scan_in_parts_reads_every_row_once(db: Database, t_env: TableEnvironment) -> None:
    table = db.table("id INT PRIMARY KEY")
    db.run(f"INSERT INTO {table} VALUES {', '.join(f'({n})' for n in range(1, 41))}")
    _create(
        t_env, db, "id INT", table, scan_partition_column="id", scan_partition_num="4",
        **{"scan.partition.lower-bound": "1", "scan.partition.upper-bound": "40"},
    )  # fmt: skip
    assert _rows(t_env, "SELECT id FROM t") == sorted(((n,) for n in range(1, 41)), key=repr)


def test_changes_are_written_by_key(db: Database, t_env: TableEnvironment, tmp_path: Path) -> None:
    table = db.table("name VARCHAR(20) PRIMARY KEY, n BIGINT, price DECIMAL(8, 2)")
    db.run(f"INSERT INTO {table} VALUES ('jam', 70, 1), ('old', 1, 1), ('tea', 9, 1)")
    _file(t_env, tmp_path, "name STRING, n INT", "tea,1\njam,2\ntea,3\nrum,4\n", "sold")
    _create(
        t_env, db, "name STRING, n BIGINT, price DECIMAL(8, 2), PRIMARY KEY (name) NOT ENFORCED",
        table,
    )  # fmt: skip
    t_env.execute_sql(
        "INSERT INTO t SELECT name, SUM(n), 1.25 FROM sold GROUP BY name HAVING SUM(n) <> 4"
    ).wait()
    # 'tea' came with 1 and left with 4; 'rum' was never there.
    assert db.rows(f"SELECT * FROM {table} ORDER BY name") == [
        ("jam", 2, Decimal("1.25")),
        ("old", 1, Decimal("1.00")),
    ]


def test_rows_without_a_key_are_appended(db: Database, t_env: TableEnvironment) -> None:
    table = db.table("id INT, at TIMESTAMP(3) NULL, data BLOB" if "mysql" in db.url else
                     "id INT, at TIMESTAMP(3), data BYTEA")  # fmt: skip
    _create(t_env, db, "id INT, at TIMESTAMP(3), data BYTES", table)
    t_env.execute_sql(
        "INSERT INTO t VALUES (1, TIMESTAMP '2024-02-01 00:00:01.25', x'00ff'), "
        "(2, CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS BYTES))"
    ).wait()
    assert db.rows(f"SELECT * FROM {table} ORDER BY id") == [
        (1, datetime.datetime(2024, 2, 1, 0, 0, 1, 250_000), b"\x00\xff"),
        (2, None, None),
    ]
    assert len(_rows(t_env, "SELECT id, at, data FROM t")) == 2


def test_a_lookup_join_asks_the_database(
    db: Database, t_env: TableEnvironment, tmp_path: Path
) -> None:
    table = db.table("id INT, country VARCHAR(2), name VARCHAR(20)")
    db.run(f"INSERT INTO {table} VALUES (1, 'de', 'tea'), (2, 'de', 'jam'), (2, 'fr', 'rum')")
    _create(t_env, db, "id INT, country STRING, name STRING", table, lookup_cache="PARTIAL")
    _file(t_env, tmp_path, "o INT, item INT, p AS PROCTIME()", "1,2\n2,1\n3,9\n4,2\n", "orders")
    query = (
        "SELECT o, i.name FROM orders LEFT JOIN t FOR SYSTEM_TIME AS OF p AS i "
        "ON orders.item = i.id AND i.country = 'de'"
    )
    assert _rows(t_env, query) == [(1, "jam"), (2, "tea"), (3, None), (4, "jam")]
    inner = query.replace("LEFT JOIN", "JOIN").replace(" AND i.country = 'de'", "")
    assert _rows(t_env, inner) == [(1, "jam"), (1, "rum"), (2, "tea"), (4, "jam"), (4, "rum")]


def test_a_cache_answers_until_its_time_is_up_and_a_new_connection_after_a_break(
    db: Database,
) -> None:
    table = db.table("name VARCHAR(20), n INT")
    db.run(f"INSERT INTO {table} VALUES ('jam', 70)")
    options = {
        **_options(db, table), "lookup.cache": "PARTIAL",
        "lookup.partial-cache.max-rows": "10",
        "lookup.partial-cache.expire-after-write": "10 s",
    }  # fmt: skip
    schema = t.RowType.of(("name", t.STRING), ("n", t.INT))
    lookup = JdbcFactory().lookup(TableContext("t", schema, options)).bound([0])
    lookup.open()
    assert lookup.rows(("jam",), 0) == [("jam", 70)]
    db.run(f"UPDATE {table} SET n = 71")
    assert lookup.rows(("jam",), 9_999) == [("jam", 70)]
    cursor = lookup._open._connection.cursor()
    ask, end = ("pg_backend_pid()", "SELECT pg_terminate_backend({})")
    if "mysql" in db.url:
        ask, end = ("CONNECTION_ID()", "KILL {}")
    cursor.execute(f"SELECT {ask}")
    db.run(end.format(cursor.fetchone()[0]))
    assert lookup.rows(("jam",), 10_000) == [("jam", 71)]
    lookup.close()


def test_a_table_that_is_not_there_is_told(db: Database, t_env: TableEnvironment) -> None:
    _create(t_env, db, "id INT", "no_such_table")
    with pytest.raises(PenstockError, match="no_such_table"):
        _rows(t_env, "SELECT id FROM t")
