"""`'connector' = 'jdbc'` on SQLite: read, written by key, looked up."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.factories.base import TableContext
from penstock.table.factories.jdbc import JdbcFactory
from tests.sql_cases import show

COLUMNS = "id INT, name STRING, price DECIMAL(8, 2), at TIMESTAMP(3), ok BOOLEAN"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price TEXT, at TEXT, "
            "ok INTEGER)"
        )
        connection.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?)",
            [
                (1, "tea", "2.50", "2024-01-01 10:00:00", 1),
                (2, "jam", "3.1", "2024-01-01 11:00:00.5", 0),
                (3, None, None, None, None),
            ],
        )
        connection.execute("CREATE TABLE counts (name TEXT PRIMARY KEY, n INTEGER)")
        connection.execute("INSERT INTO counts VALUES ('jam', 70), ('old', 1)")
    return file


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process")
    return t_env


def _create(t_env: TableEnvironment, database: Path, text: str, table: str, more: str = "") -> None:
    t_env.execute_sql(
        f"CREATE TABLE {text} WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{database}', "
        f"'table-name' = '{table}'{more})"
    )


def _rows(t_env: TableEnvironment, query: str) -> list[str]:
    with t_env.execute_sql(query).collect() as found:
        return sorted(show(row) for row in found)


def _content(database: Path, query: str) -> list[Any]:
    with sqlite3.connect(database) as connection:
        return connection.execute(query).fetchall()


def test_rows_are_read_with_the_types_of_the_table(t_env: TableEnvironment, database: Path) -> None:
    _create(t_env, database, f"items ({COLUMNS})", "items")
    assert _rows(t_env, "SELECT id, name, price + 1, CAST(at AS STRING), NOT ok FROM items") == [
        "+I[1, tea, 3.50, 2024-01-01 10:00:00.000, false]",
        "+I[2, jam, 4.10, 2024-01-01 11:00:00.500, true]",
        "+I[3, null, null, null, null]",
    ]


def test_a_scan_in_parts_reads_the_rows_between_its_bounds(
    t_env: TableEnvironment, database: Path
) -> None:
    more = (
        ", 'scan.partition.column' = 'id', 'scan.partition.num' = '2', "
        "'scan.partition.lower-bound' = '1', 'scan.partition.upper-bound' = '2'"
    )
    _create(t_env, database, f"items ({COLUMNS})", "items", more)
    assert _rows(t_env, "SELECT id FROM items") == ["+I[1]", "+I[2]"]


def test_a_primary_key_lets_a_query_update_and_delete(
    t_env: TableEnvironment, database: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("tea,1\njam,2\ntea,3\nrum,4\n", encoding="utf-8")
    t_env.execute_sql(
        "CREATE TABLE sold (name STRING, n INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/in.csv', 'format' = 'csv')"
    )
    _create(
        t_env, database, "counts (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED)", "counts"
    )
    t_env.execute_sql(
        "INSERT INTO counts SELECT name, SUM(n) FROM sold GROUP BY name HAVING SUM(n) <> 4"
    ).wait()
    # 'tea' came with 1 and left with 4.
    assert _content(database, "SELECT * FROM counts ORDER BY name") == [("jam", 2), ("old", 1)]


def test_rows_without_a_key_are_appended(t_env: TableEnvironment, database: Path) -> None:
    _create(t_env, database, f"items ({COLUMNS})", "items")
    t_env.execute_sql(
        "INSERT INTO items VALUES (9, 'rum', 12.5, TIMESTAMP '2024-02-01 00:00:01', TRUE)"
    ).wait()
    assert _content(database, "SELECT * FROM items WHERE id = 9") == [
        (9, "rum", "12.50", "2024-02-01 00:00:01", 1)
    ]


def test_a_lookup_join_asks_for_each_row(
    t_env: TableEnvironment, database: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("1,2\n2,3\n3,9\n", encoding="utf-8")
    t_env.execute_sql(
        "CREATE TABLE orders (o INT, item INT, p AS PROCTIME()) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}/in.csv', 'format' = 'csv')"
    )
    _create(t_env, database, f"items ({COLUMNS})", "items", ", 'lookup.cache' = 'PARTIAL'")
    query = (
        "SELECT o, i.id, i.name, i.price FROM orders LEFT JOIN items FOR SYSTEM_TIME AS OF p AS i "
        "ON orders.item = i.id"
    )
    assert _rows(t_env, query) == [
        "+I[1, 2, jam, 3.10]",
        "+I[2, 3, null, null]",
        "+I[3, null, null, null]",
    ]


def _lookup(database: Path, **options: str) -> Any:
    schema = t.RowType.of(("name", t.STRING), ("n", t.INT))
    given = {
        "connector": "jdbc",
        "url": f"jdbc:sqlite:{database}",
        "table-name": "counts",
        **{key.replace("_", "-").replace("--", "."): value for key, value in options.items()},
    }
    lookup = JdbcFactory().lookup(TableContext("counts", schema, given)).bound([0])
    lookup.open()
    return lookup


def _set(database: Path, n: int) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE counts SET n = ? WHERE name = 'jam'", (n,))


def test_without_a_cache_the_newest_row_is_seen(database: Path) -> None:
    lookup = _lookup(database)
    assert lookup.rows(("jam",), 0) == [("jam", 70)]
    _set(database, 71)
    assert lookup.rows(("jam",), 0) == [("jam", 71)]
    lookup.close()


def test_a_cache_answers_until_its_time_is_up(database: Path) -> None:
    lookup = _lookup(
        database, lookup__cache="PARTIAL", **{"lookup--partial-cache--expire-after-write": "10 s"}
    )
    assert lookup.rows(("jam",), 0) == [("jam", 70)]
    _set(database, 71)
    assert lookup.rows(("jam",), 9_999) == [("jam", 70)]
    assert lookup.rows(("jam",), 10_000) == [("jam", 71)]
    lookup.close()


def test_a_full_cache_forgets_the_key_that_was_asked_longest_ago(database: Path) -> None:
    lookup = _lookup(database, lookup__cache="PARTIAL", **{"lookup--partial-cache--max-rows": "1"})
    assert lookup.rows(("jam",), 0) == [("jam", 70)]
    assert lookup.rows(("old",), 1) == [("old", 1)]
    _set(database, 71)
    assert lookup.rows(("jam",), 2) == [("jam", 71)]
    lookup.close()


def test_missing_keys_are_asked_again_if_the_cache_shall_not_keep_them(database: Path) -> None:
    lookup = _lookup(
        database,
        lookup__cache="PARTIAL",
        **{"lookup--partial-cache--cache-missing-key": "false"},
    )
    assert lookup.rows(("new",), 0) == []
    with sqlite3.connect(database) as connection:
        connection.execute("INSERT INTO counts VALUES ('new', 5)")
    assert lookup.rows(("new",), 1) == [("new", 5)]
    lookup.close()


def test_half_of_the_options_of_a_scan_in_parts_is_refused(
    t_env: TableEnvironment, database: Path
) -> None:
    _create(t_env, database, f"items ({COLUMNS})", "items", ", 'scan.partition.num' = '2'")
    with pytest.raises(ValidationError) as caught:
        t_env.execute_sql("SELECT * FROM items")
    assert str(caught.value) == (
        "either all or none of the options 'scan.partition.column', 'scan.partition.num', "
        "'scan.partition.lower-bound', 'scan.partition.upper-bound' are given\n"
        "  where: table items\n"
        "  got:   scan.partition.num\n"
        "  to do: add the others"
    )


def test_a_cache_of_an_unknown_kind_is_refused(database: Path) -> None:
    with pytest.raises(ValidationError) as caught:
        _lookup(database, lookup__cache="FULL")
    assert str(caught.value) == (
        "the option 'lookup.cache' has no such value\n"
        "  where: table counts\n"
        "  got:   FULL\n"
        "  to do: use NONE or PARTIAL"
    )
