"""State of a job on Spark as streams and DataFrames, read without the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.common import WatermarkStrategy
from penstock.core.windowing import TumblingEventTimeWindows
from penstock.datastream import KeyedStream
from penstock.state_processor import SavepointReader, WindowReaderFunction
from tests.spark.conftest import MakeEnvironment
from tests.spark.test_savepoints import Place, lines_of, put, wait_until


class Bounds(WindowReaderFunction[Any, Any, Any, Any]):
    def read_window(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, list(elements)


def longer(one: str, other: str) -> str:
    return max(one, other, key=len)


def test_windows_of_a_running_job(
    tmp_path: Path, make_env: MakeEnvironment, session: SparkSession
) -> None:
    place, env = Place(tmp_path), make_env(2)
    assigner = TumblingEventTimeWindows(100)
    stream = place.words(env).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda word, _: len(word) * 30
        )
    )
    keyed: KeyedStream = stream.key_by(lambda word: word[0])
    keyed.window(assigner).reduce(longer).uid("longest").print()
    place.sink(stream, rolled=True)
    put(place.input, "one", ["a", "aa", "bb", "b", "aaaa"])
    client = env.execute_async("windows to read")
    wait_until(lambda: len(lines_of(place.output)) == 5)
    path = client.stop_with_savepoint(False, str(place.savepoints)).result()
    reader = SavepointReader.read(make_env(1), path).window(assigner)
    found = sorted(reader.reduce("longest", longer, Bounds()).execute_and_collect())
    assert found == [("a", 0, ["aa"]), ("a", 100, ["aaaa"]), ("b", 0, ["bb"])]
    frame = reader.rows("longest").to_data_frame(session)
    assert frame.columns[:3] == ["key", "namespace", "value"]
    rows = sorted((row.key, row.value, row.event_time_timers) for row in frame.collect())
    assert rows == [("'a'", "'aa'", [99]), ("'a'", "'aaaa'", [199]), ("'b'", "'bb'", [99])]
