"""Tables of DataFrames and of Spark's own formats, and results as DataFrames."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import ConfigurationError
from penstock.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from tests.spark.conftest import MakeEnvironment

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
_UTC = datetime.timezone.utc


@pytest.fixture
def t_env(make_env: MakeEnvironment) -> TableEnvironment:
    return StreamTableEnvironment.create(make_env(2), EnvironmentSettings.in_batch_mode())


def _rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


def test_a_data_frame_is_a_table_and_a_result_a_data_frame(
    session: SparkSession, t_env: TableEnvironment
) -> None:
    frame = session.sql(
        "SELECT 1 AS a, 'x' AS b, CAST(1.50 AS DECIMAL(10, 2)) AS c, "
        "TIMESTAMP '2024-03-05 10:20:30 UTC' AS d, TIMESTAMP_NTZ '2024-03-05 10:20:30' AS e, "
        "array(1, NULL) AS f, map('k', 1) AS g, named_struct('i', 1.5D) AS h "
        "UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    )
    t_env.create_temporary_view("frame", frame)
    table = t_env.sql_query("SELECT a, c, d, e, f, g, h, b FROM frame WHERE a < 2")
    assert [str(each) for each in table.get_schema().get_field_data_types()][1:4] == [
        "DECIMAL(10, 2)", "TIMESTAMP_LTZ(6)", "TIMESTAMP(6)",
    ]  # fmt: skip
    with table.execute().collect() as found:
        [row] = list(found)
    assert tuple(row)[:6] == (
        1, Decimal("1.50"), datetime.datetime(2024, 3, 5, 10, 20, 30, tzinfo=_UTC),
        datetime.datetime(2024, 3, 5, 10, 20, 30), [1, None], {"k": 1},
    )  # fmt: skip
    back = t_env.sql_query("SELECT * FROM frame").to_data_frame()
    assert back.schema.simpleString() == frame.schema.simpleString()
    assert sorted(map(str, back.collect())) == sorted(map(str, frame.collect()))


def test_a_format_of_spark_is_read_and_written(t_env: TableEnvironment, tmp_path: Path) -> None:
    columns = "id INT, name STRING, price DECIMAL(8, 2), at TIMESTAMP(3)"
    for name, form in (("o", "orc"), ("x", "xml")):
        more = ", 'rowTag' = 'item'" if form == "xml" else ""
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'spark', 'format' = '{form}', "
            f"'path' = '{tmp_path / name}'{more})"
        )
    t_env.execute_sql(
        "INSERT INTO o VALUES (1, 'tea', 2.5, TIMESTAMP '2024-01-01 00:00:00.5'), "
        "(2, 'jam', 3.25, TIMESTAMP '2024-01-02 00:00:00')"
    ).wait()
    t_env.execute_sql("INSERT INTO o VALUES (3, 'rum', 9, TIMESTAMP '2024-01-03 00:00:00')").wait()
    t_env.execute_sql("INSERT INTO x SELECT * FROM o WHERE id <> 2").wait()
    moments = [datetime.datetime(2024, 1, day) for day in (1, 3)]
    assert _rows(t_env, "SELECT * FROM x") == [
        (1, "tea", Decimal("2.50"), moments[0].replace(microsecond=500_000)),
        (3, "rum", Decimal("9.00"), moments[1]),
    ]


def test_what_spark_does_not_know_is_told(t_env: TableEnvironment, tmp_path: Path) -> None:
    t_env.execute_sql(
        "CREATE TABLE n (id INT) WITH ('connector' = 'spark', 'format' = 'no-such-format')"
    )
    with pytest.raises(ConfigurationError, match="Spark's format 'no-such-format' cannot be read"):
        t_env.execute_sql("SELECT * FROM n")
