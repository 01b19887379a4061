"""Statements around queries: what they change, and what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import CatalogError, ValidationError
from penstock.graph.relational.translate import make_translator
from penstock.table import (
    EnvironmentSettings,
    ExplainDetail,
    Schema,
    TableDescriptor,
    TableEnvironment,
)

WITH = "WITH ('connector' = 'datagen', 'number-of-rows' = '3')"


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process").set("parallelism.default", "1")
    t_env.execute_sql(
        f"CREATE TABLE t (id INT NOT NULL, name STRING, PRIMARY KEY (id) NOT ENFORCED) {WITH}"
    )
    return t_env


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in t_env.execute_sql(statement).collect()]


def test_tables_are_created_shown_and_dropped(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE TEMPORARY TABLE other (a INT) {WITH}")
    t_env.execute_sql("CREATE VIEW v AS SELECT id FROM t")
    assert rows(t_env, "SHOW TABLES") == [("other",), ("t",), ("v",)]
    assert rows(t_env, "SHOW TABLES LIKE 't%'") == [("t",)]
    assert rows(t_env, "SHOW VIEWS") == [("v",)]
    with pytest.raises(CatalogError):
        t_env.execute_sql(f"CREATE TABLE t (a INT) {WITH}")
    t_env.execute_sql(f"CREATE TABLE IF NOT EXISTS t (a INT) {WITH}")
    t_env.execute_sql("DROP VIEW v")
    t_env.execute_sql("DROP TEMPORARY TABLE other")
    t_env.execute_sql("DROP TABLE IF EXISTS nothing")
    assert t_env.list_tables() == ["t"]


def test_a_table_is_described(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE e (id INT, at AS CAST(TIMESTAMP '2020-01-01 00:00:00' AS TIMESTAMP(3)), "
        f"WATERMARK FOR at AS at - INTERVAL '1' SECOND) {WITH}"
    )
    assert rows(t_env, "DESCRIBE t") == [
        ("id", "INT", False, "PRI(id)", None, None),
        ("name", "STRING", True, None, None, None),
    ]
    assert rows(t_env, "DESC e")[1][4:] == (
        "AS CAST(TIMESTAMP '2020-01-01 00:00:00' AS TIMESTAMP(3))",
        "`at` - INTERVAL '1' SECOND",
    )
    assert rows(t_env, "SHOW COLUMNS FROM t LIKE 'n%'")[0][0] == "name"


def test_a_table_is_altered(t_env: TableEnvironment) -> None:
    for change in (
        "ADD (price DOUBLE AFTER id, twice AS id * 2)",
        "RENAME name TO title",
        "MODIFY price DECIMAL(10, 2)",
        "SET ('number-of-rows' = '5')",
        "DROP PRIMARY KEY",
        "DROP twice",
    ):
        t_env.execute_sql(f"ALTER TABLE t {change}")
    [(text,)] = rows(t_env, "SHOW CREATE TABLE t")
    assert text == (
        "CREATE TABLE `default_catalog`.`default_database`.`t` (\n"
        "  `id` INT NOT NULL,\n"
        "  `price` DECIMAL(10, 2),\n"
        "  `title` VARCHAR(2147483647)\n"
        ")\n"
        "WITH (\n"
        "  'connector' = 'datagen',\n"
        "  'number-of-rows' = '5'\n"
        ")\n"
    )
    t_env.execute_sql("ALTER TABLE t RENAME TO u")
    assert t_env.list_tables() == ["u"]


def test_a_table_like_another(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE u (more INT) WITH ('number-of-rows' = '1') LIKE t")
    assert len(rows(t_env, "SELECT id, name, more FROM u")) == 1
    t_env.execute_sql("CREATE TABLE w (a INT) WITH ('connector' = 'print') LIKE t (EXCLUDING ALL)")
    assert rows(t_env, "DESCRIBE w")[-1][0] == "a"


def test_catalogs_and_databases(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
    t_env.execute_sql("USE CATALOG c")
    t_env.execute_sql("CREATE DATABASE d")
    t_env.execute_sql("USE d")
    assert (t_env.get_current_catalog(), t_env.get_current_database()) == ("c", "d")
    assert rows(t_env, "SHOW CURRENT DATABASE") == [("d",)]
    assert rows(t_env, "SHOW DATABASES") == [("d",), ("default",)]
    t_env.execute_sql(f"CREATE TABLE t (a INT) {WITH}")
    with pytest.raises(CatalogError):
        t_env.execute_sql("DROP DATABASE d")
    t_env.execute_sql("DROP DATABASE d CASCADE")
    t_env.execute_sql("USE CATALOG default_catalog")
    assert len(rows(t_env, "SELECT * FROM default_catalog.default_database.t")) == 3


def test_settings(t_env: TableEnvironment) -> None:
    t_env.execute_sql("SET 'table.local-time-zone' = 'Asia/Shanghai'")
    assert t_env.get_config().get_local_timezone() == "Asia/Shanghai"
    assert ("table.local-time-zone", "Asia/Shanghai") in rows(t_env, "SET")
    t_env.execute_sql("RESET 'table.local-time-zone'")
    assert t_env.get_config().get_local_timezone() == "UTC"


def test_functions_by_name(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TEMPORARY FUNCTION shout AS 'tests.unit.table.functions_by_name.shout' "
        "LANGUAGE PYTHON"
    )
    assert rows(t_env, "SELECT shout('a')") == [("A!",)]
    assert rows(t_env, "SHOW USER FUNCTIONS") == [("shout",)]
    t_env.execute_sql("DROP TEMPORARY FUNCTION shout")
    with pytest.raises(ValidationError) as failure:
        t_env.execute_sql("CREATE FUNCTION f AS 'org.example.F'")
    assert str(failure.value) == (
        "functions in JAVA cannot be called: there is no JVM\n"
        "  got:   org.example.F\n"
        "  to do: write it in Python: CREATE FUNCTION f AS 'module.name' LANGUAGE PYTHON"
    )


def test_a_statement_set_is_one_job(
    t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("p", "q"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (a INT) WITH ('connector' = 'print', "
            f"'print-identifier' = '{name}')"
        )
    t_env.execute_sql(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO p VALUES (1); INSERT INTO q SELECT 2; END"
    ).wait()
    assert sorted(capsys.readouterr().out.splitlines()) == ["p> +I[1]", "q> +I[2]"]
    t_env.create_statement_set().add_insert_sql("INSERT INTO p VALUES (3)").execute().wait()
    assert capsys.readouterr().out == "p> +I[3]\n"


def test_a_table_by_descriptor(t_env: TableEnvironment, tmp_path: Path) -> None:
    schema = Schema.new_builder().column("a", "INT").column("b", "STRING").build()
    descriptor = (
        TableDescriptor.for_connector("filesystem").schema(schema).option("path", str(tmp_path))
        .format("json").build()
    )  # fmt: skip
    t_env.create_temporary_table("files", descriptor)
    t_env.from_elements([(1, "x"), (2, None)], ["a", "b"]).execute_insert("files").wait()
    assert sorted(rows(t_env, "SELECT a, b FROM files")) == [(1, "x"), (2, None)]
    assert len(list(t_env.from_descriptor(descriptor).execute().collect())) == 2


def test_explain_shows_the_changes_of_every_edge(t_env: TableEnvironment) -> None:
    text = t_env.explain_sql(
        "SELECT name, COUNT(*) AS c FROM t WHERE id > 1 GROUP BY name", ExplainDetail.CHANGELOG_MODE
    )
    assert "== Abstract Syntax Tree ==" in text
    assert (
        "== Optimized Physical Plan ==\n"
        "Calc(select=[name, EXPR$0 AS c], changelogMode=[I,UB,UA])\n"
        "+- Aggregate(groupBy=[name], select=[name, COUNT(*) AS EXPR$0], changelogMode=[I,UB,UA])\n"
        "   +- Calc(select=[name], where=[(id > 1)], changelogMode=[I])\n"
        "      +- Scan(table=[t], fields=[id, name], changelogMode=[I])\n"
    ) in text
    assert "level 1: in 1 slot\n  [3] GroupAggregate" in text


def test_uids_do_not_follow_from_the_place_in_the_query(t_env: TableEnvironment) -> None:
    def uid(query: str) -> str:
        planner = t_env._planner
        done, _ = planner.translated(
            t_env.sql_query(query)._node, make_translator(planner.settings())
        )
        found = []
        todo = [done.source]
        while todo:
            step = todo.pop()
            todo += step.inputs
            if getattr(step, "name", "") == "GroupAggregate":
                found.append(step.uid)
        return found[-1]

    plain = uid("SELECT name, COUNT(*) AS c FROM t GROUP BY name")
    assert plain == uid("SELECT name, COUNT(*) AS c FROM t WHERE id > 5 GROUP BY name")
    assert plain == uid("SELECT c * 2 FROM (SELECT name, COUNT(*) AS c FROM t GROUP BY name)")
    assert plain != uid("SELECT name, SUM(id) AS c FROM t GROUP BY name")
