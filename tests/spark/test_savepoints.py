"""Savepoints and retained checkpoints on Spark: stopped, changed, resumed, killed."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, Encoder, JobStatus, WatermarkStrategy
from penstock.core.state import ValueStateDescriptor
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from penstock.errors import StateError
from penstock.runtime.savepoint.folders import list_savepoints
from tests.spark.conftest import MakeEnvironment, RunProgram

KEYS = "abcdefgh"
RETAINED = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = runtime_context.get_int_counter("seen")

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.add(1)
        self.count.update((self.count.value() or 0) + 1)
        yield f"{value} {self.count.value()}"


def put(folder: Path, name: str, lines: list[str]) -> None:
    """Let a file appear as a whole."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    hidden.rename(folder / name)


def lines_of(folder: Path) -> list[str]:
    found = [f for f in folder.rglob("*") if f.is_file() and not f.name.startswith((".", "_"))]
    return sorted(line for file in found for line in file.read_text().splitlines())


def wait_until(condition: Callable[[], Any], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)


class Place:
    """Where a test's files are."""

    def __init__(self, root: Path) -> None:
        self.input, self.output = root / "in", root / "out"
        self.savepoints, self.checkpoints = root / "savepoints", root / "checkpoints"
        self.input.mkdir()

    def words(self, env: StreamExecutionEnvironment) -> DataStream:
        source = (
            FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(self.input))
            .monitor_continuously(Duration.of_millis(50))
            .build()
        )
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "words").uid("words")

    def sink(self, stream: DataStream, rolled: bool = False) -> None:
        """Write a stream to files, in a part of its own for each checkpoint if it is `rolled`."""
        sink = FileSink.for_row_format(str(self.output), Encoder.simple_string_encoder())
        if rolled:
            sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        stream.sink_to(sink.build()).uid("out")

    def counted(self, env: StreamExecutionEnvironment) -> None:
        self.sink(self.words(env).key_by(lambda word: word).process(Counting()).uid("count"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def expected(times: int) -> list[str]:
    return sorted(f"{key} {n}" for key in KEYS for n in range(1, times + 1))


def wait_for(client: Any, records: int) -> None:
    """Wait until so many records have been counted, in this run and those before it."""
    wait_until(lambda: client.get_accumulators().result().get("seen") == records)


def ended_with_drain(client: Any, place: Place) -> str:
    """Stop the job, its open parts finished."""
    return str(client.stop_with_savepoint(True, str(place.savepoints)).result())


@pytest.mark.timeout(900)
def test_stopped_with_a_savepoint_and_resumed_at_other_parallelism(
    make_env: MakeEnvironment, place: Place
) -> None:
    # Which backend has written a savepoint is of no matter.
    env = make_env(2)
    place.counted(env)
    client = env.execute_async("counts")
    put(place.input, "1", list(KEYS) * 3)
    wait_for(client, 24)
    path = client.stop_with_savepoint(False, str(place.savepoints)).result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    manifest = json.loads(Path(path, "_metadata").read_text())
    assert {op["uid"] for op in manifest["operators"]} == {"words", "count", "out"}
    moved = place.savepoints / "moved"
    Path(path).rename(moved)
    for parallelism, times, backend in ((3, 5, "rocksdb"), (1, 6, "hashmap")):
        put(place.input, str(times), list(KEYS) * (times - (3 if times == 5 else 5)))
        recovery = {"execution.state-recovery.path": str(moved), "state.backend.type": backend}
        env = make_env(parallelism, **recovery)
        place.counted(env)
        client = env.execute_async("counts")
        wait_for(client, 8 * times)
        if times == 5:
            moved = Path(client.stop_with_savepoint(False, str(place.savepoints)).result())
    ended_with_drain(client, place)
    assert lines_of(place.output) == expected(6)


@pytest.mark.timeout(900)
def test_a_retained_checkpoint_goes_on_with_another_program(
    make_env: MakeEnvironment, place: Place
) -> None:
    settings = {"execution.checkpointing.dir": str(place.checkpoints), **RETAINED}

    def start(parallelism: int, build: Callable[[DataStream], DataStream], **more: str) -> Any:
        env = make_env(parallelism, **settings, **more)
        place.sink(build(place.words(env)))
        return env.execute_async("counts")

    def plain(words: DataStream) -> DataStream:
        return words.key_by(lambda word: word).process(Counting()).uid("count")

    client = start(2, plain)
    put(place.input, "1", list(KEYS) * 2)
    wait_for(client, 16)
    client.cancel().result()

    with pytest.raises(StateError) as caught:
        start(2, lambda words: words.map(lambda word: word).uid("other"))
    assert "the program has no operator for state that is there" in str(caught.value)
    assert "(count)" in str(caught.value)

    put(place.input, "2", list(KEYS) * 2)
    more = lambda words: plain(words.filter(len).rebalance().map(str))  # noqa: E731
    client = start(3, more)
    wait_for(client, 32)
    ended_with_drain(client, place)
    assert lines_of(place.output) == expected(4)


def last_sums(lines: list[str]) -> dict[str, int]:
    """Return the largest sum of each key."""
    found: dict[str, int] = {}
    for key, total in map(ast.literal_eval, lines):
        found[key] = max(total, found.get(key, 0))
    return found


SAVEPOINTING = Path(__file__).parent / "programs" / "savepointing.py"


@pytest.mark.timeout(900)
def test_killed_while_a_savepoint_is_taken(run_program: RunProgram, tmp_path: Path) -> None:
    """Driver, JVM and workers at once: what there is of savepoints is complete, the job goes on."""
    place, other = tmp_path / "job", tmp_path / "resumed"
    place.mkdir()
    other.mkdir()
    with run_program(SAVEPOINTING, place, "slow") as program:
        # Some are complete, and another one is under way.
        wait_until(lambda: len(list_savepoints(str(place / "savepoints"))) >= 2)
        wait_until(lambda: len(list((place / "savepoints").iterdir())) > 2)
        program.kill()
    with run_program(SAVEPOINTING, place, "fast") as program:
        program.finish()
    whole = lines_of(place / "out")
    assert len(whole) == 6_000
    complete = list_savepoints(str(place / "savepoints"))
    assert len(complete) >= 2
    with run_program(SAVEPOINTING, other, "fast", complete[1].path) as program:
        program.finish()
    # What was published before the savepoint is not published again: the sums go on from there.
    rest = lines_of(other / "out")
    assert 0 < len(rest) < len(whole)
    assert set(rest) <= set(whole)
    assert last_sums(rest) == last_sums(whole)
