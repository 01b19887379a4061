"""DataFrames of Spark as sources, and results as DataFrames."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ConfigurationError, PenstockError, SourceError, TypeMismatchError

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

COUNTED = Types.TUPLE([Types.LONG(), Types.LONG()])
Make = Callable[..., StreamExecutionEnvironment]


def collected(frame: DataFrame, env: StreamExecutionEnvironment) -> list[Any]:
    with env.from_data_frame(frame).execute_and_collect() as results:
        return list(results)


def test_rows_of_all_types(session: SparkSession, make_env: Make) -> None:
    frame = session.sql(
        "SELECT 1 AS a, CAST(2 AS BIGINT) AS b, 'x' AS c, CAST(1.50 AS DECIMAL(10, 2)) AS d, "
        "TIMESTAMP '2024-03-05 10:20:30.5' AS e, DATE '2024-03-05' AS f, array(1, NULL) AS g, "
        "map('k', TIMESTAMP '2024-01-01 00:00:00') AS h, named_struct('i', 1.5D, 'j', true) AS k, "
        "CAST('ab' AS BINARY) AS `odd.name`, CAST(NULL AS INT) AS n"
    )
    env = make_env()
    stream = env.from_data_frame(frame)
    assert str(stream.get_type()).startswith("RowTypeInfo(a: Integer, b: Long, c: String")
    with stream.execute_and_collect() as results:
        [row] = list(results)
    assert row.as_dict() == {
        "a": 1,
        "b": 2,
        "c": "x",
        "d": Decimal("1.50"),
        "e": datetime.datetime(2024, 3, 5, 10, 20, 30, 500000),
        "f": datetime.date(2024, 3, 5),
        "g": [1, None],
        "h": {"k": datetime.datetime(2024, 1, 1)},
        "k": Row(i=1.5, j=True),
        "odd.name": b"ab",
        "n": None,
    }


def test_a_large_frame_in_parallel(session: SparkSession, make_env: Make) -> None:
    frame = session.range(0, 120_000, 1, 3)
    counts = (
        make_env()
        .from_data_frame(frame)
        .map(lambda row: (row.id % 7, 1), COUNTED)
        .key_by(lambda pair: pair[0])
        .sum(1)
    )
    with counts.execute_and_collect() as results:
        totals = dict(results)
    assert totals == {k: len(range(k, 120_000, 7)) for k in range(7)}


def write(folder: Path, number: int, values: range) -> None:
    """Put a file into a folder that a streaming DataFrame watches."""
    text = "".join(f"{value}\n" for value in values)
    (folder / f".{number}").write_text(text)
    (folder / f".{number}").rename(folder / f"{number}.txt")


def test_a_streaming_frame_goes_on_after_a_restart(
    session: SparkSession, make_env: Make, tmp_path: Path
) -> None:
    """Numbers in files, counted twice over two runs: each once, and state goes on."""
    (tmp_path / "in").mkdir()
    seen: list[Any] = []

    def run(expected: int, fails: bool) -> None:
        env = make_env(**{"execution.checkpointing.dir": str(tmp_path / "job")})
        frame = session.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path / "in"))
        stream = env.from_data_frame(frame).uid("numbers")
        pairs = stream.map(lambda row: (int(row.value), 1))
        pairs = pairs.map(fail_at(25 if fails else None)).uid("failing")
        counted = pairs.key_by(lambda pair: pair[0] % 3).reduce(lambda a, b: (b[0], a[1] + b[1]))
        try:
            with counted.uid("counted").execute_and_collect("numbers") as results:
                for result in results:
                    seen.append(result)
                    if len(seen) >= expected:
                        break
        except PenstockError:
            assert fails

    write(tmp_path / "in", 0, range(20))
    write(tmp_path / "in", 1, range(20, 30))
    run(expected=1000, fails=True)
    write(tmp_path / "in", 2, range(30, 40))
    run(expected=40, fails=False)
    assert sorted(number for number, _ in seen) == list(range(40))
    for key in range(3):
        counts = sorted(count for number, count in seen if number % 3 == key)
        assert counts == list(range(1, len(counts) + 1))


def fail_at(number: int | None) -> Callable[[Any], Any]:
    def function(pair: Any) -> Any:
        if pair[0] == number:
            raise ValueError("as it should")
        return pair

    return function


def test_results_as_a_frame(session: SparkSession, make_env: Make) -> None:
    rows = Types.ROW_NAMED(["word", "length"], [Types.STRING(), Types.INT()])
    stream = make_env().from_collection(["to", "be", "or"]).map(lambda w: Row(w, len(w)), rows)
    frame = stream.to_data_frame("lengths")
    assert frame.dtypes == [("word", "string"), ("length", "int")]
    assert sorted(tuple(row) for row in frame.collect()) == [("be", 2), ("or", 2), ("to", 2)]


def test_results_of_single_values_and_of_none(session: SparkSession, make_env: Make) -> None:
    env = make_env()
    numbers = env.from_collection([1, 2, 3], Types.INT())
    assert sorted(row.value for row in numbers.to_data_frame().collect()) == [1, 2, 3]
    none = env.from_collection([1], Types.INT()).filter(lambda n: n > 1)
    assert none.to_data_frame().collect() == []
    pairs = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
    assert [row.asDict() for row in pairs.to_data_frame().collect()] == [{"f0": 1, "f1": "a"}]


def test_results_as_a_streaming_frame(
    session: SparkSession, make_env: Make, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", 0, range(10))
    env = make_env()
    source = session.readStream.text(str(tmp_path / "in"))
    doubled = env.from_data_frame(source).map(lambda row: 2 * int(row.value), Types.LONG())
    frame, job = doubled.to_streaming_data_frame()
    assert frame.isStreaming
    query = (
        frame.writeStream.format("memory")
        .queryName("doubled")
        .option("checkpointLocation", str(tmp_path / "query"))
        .start()
    )
    try:
        until(session, 10)
        write(tmp_path / "in", 1, range(10, 15))
        until(session, 15)
    finally:
        query.stop()
        job.cancel().result()
    found = sorted(row.value for row in frame.sparkSession.sql("SELECT * FROM doubled").collect())
    assert found == [2 * number for number in range(15)]


def until(session: SparkSession, count: int) -> None:
    deadline = time.monotonic() + 120
    # Each job has a session of its own; the query is in the one that the frame belongs to.
    shared = SparkSession.builder.getOrCreate()
    while shared.sql("SELECT * FROM doubled").count() < count:
        assert time.monotonic() < deadline
        time.sleep(0.3)


def test_a_frame_that_cannot_be_computed(session: SparkSession, make_env: Make) -> None:
    frame = session.range(3).selectExpr("CAST(concat('x', id) AS INT) AS n")
    with pytest.raises(SourceError) as caught:
        collected(frame, make_env())
    assert "Spark cannot compute the rows of a DataFrame" in str(caught.value)
    assert "CAST_INVALID_INPUT" in str(caught.value)


def test_what_is_no_frame_or_has_no_type(session: SparkSession, make_env: Make) -> None:
    env = make_env()
    with pytest.raises(TypeMismatchError) as caught:
        env.from_data_frame([1, 2])
    assert caught.value.what == "from_data_frame() needs a DataFrame of Spark"
    with pytest.raises(ConfigurationError) as interval:
        env.from_data_frame(session.sql("SELECT INTERVAL '1' DAY AS d"))
    assert str(interval.value) == (
        "a column of a DataFrame has a type that records do not have\n"
        "  where: from_data_frame(), column 'd'\n"
        "  got:   interval day\n"
        "  to do: cast the column to another type, or leave it out with select()"
    )
    with pytest.raises(ConfigurationError, match="must have different names"):
        env.from_data_frame(session.sql("SELECT 1 AS a, 2 AS a"))
    with pytest.raises(ConfigurationError, match="a file has no column for values of this type"):
        env.from_collection([object()]).to_data_frame()
