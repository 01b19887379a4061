"""Tables and SQL on a real Spark session: the same cases as on the in-process engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import DataTypes, StreamTableEnvironment
from penstock.table.expressions import col, lit
from penstock.table.udf import udf
from penstock.table.window import Tumble
from tests.sql_cases import Case, final_table, read_cases, run_case

CASES = Path(__file__).parents[1] / "cases" / "sql"
CHOSEN = {
    "group": ("an aggregate of an aggregate takes rows back",),
    "windows": ("hopping aggregate", "session aggregate"),
}


@pytest.mark.parametrize(
    "case",
    [c for file, titles in CHOSEN.items() for c in read_cases(CASES / f"{file}.txt")
     if c.title in titles],
    ids=str,
)  # fmt: skip
def test_spark_gives_the_same_rows(case: Case, tmp_path: Path) -> None:
    changes = run_case(case, tmp_path, target="spark")
    assert final_table(changes) == final_table(case.expected)


def test_a_stream_a_window_a_function_and_a_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    stream = env.from_collection(
        [("a", 1000, 1), ("b", 2000, 2), ("a", 12000, 3), ("b", 25000, 5)]
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
    )
    table = t_env.from_data_stream(stream, col("k"), col("x"), col("v"), col("ts").rowtime)
    double = udf(lambda v: v * 2, result_type=DataTypes.BIGINT())
    sums = (
        table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"), col("k"))
        .select(col("k"), double(col("v").sum).alias("s"))
    )
    t_env.create_temporary_view("sums", sums)
    t_env.execute_sql(
        "CREATE TABLE target (k STRING, s BIGINT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'json')"
    )
    t_env.execute_sql("INSERT INTO target SELECT k, s FROM sums").wait()
    back = t_env.execute_sql("SELECT k, SUM(s) FROM target GROUP BY k").collect()
    assert final_table([f"{row.get_row_kind()}{list(row)}" for row in back]) == [
        "['a', 8]", "['b', 14]",
    ]  # fmt: skip
