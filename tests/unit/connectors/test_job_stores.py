"""What a job keeps in files works on stores that cannot append, rename or lock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyarrow import fs

from penstock.common import WatermarkStrategy
from penstock.connectors.file_paths import join, register_file_system, store_of
from penstock.connectors.file_source.lanes import LaneLog
from penstock.connectors.file_stores import ArrowStore
from penstock.connectors.journal import Journal
from penstock.connectors.segments import SegmentLog, read_range
from penstock.core.io import SourceBatch
from penstock.core.windowing import TumblingEventTimeWindows
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.functions import TwoPhaseCommitSinkFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import SourceError
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


@pytest.fixture(params=["local", "sub", "mem"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a folder: by path, by URL on a part of the disk, by URL in memory."""
    (tmp_path / "sub").mkdir()
    register_file_system("sub", fs.SubTreeFileSystem(str(tmp_path / "sub"), fs.LocalFileSystem()))
    register_file_system("mem", fs._MockFileSystem())
    return f"{tmp_path}/work" if request.param == "local" else f"{request.param}://work"


def test_small_files_are_replaced_as_a_whole(place: str) -> None:
    store, path = store_of(place), join(place, "a", "b")
    assert store.read_whole(path) is None and store.names(join(place, "a")) == []
    for content in (b"one", b"two", b"three"):
        store.write_whole(path, content)
        assert store.read_whole(path) == content
        assert store.names(join(place, "a")) == ["b"]
    store.delete_whole(path)
    assert store.read_whole(path) is None and store.names(join(place, "a")) == []


@pytest.mark.parametrize("steps", range(7))
def test_a_writer_may_die_between_any_two_steps(
    monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """On a store whose `move` may not replace, each step is tried as the last one."""

    class DiedError(Exception):
        pass

    register_file_system("mem", fs._MockFileSystem())
    store, path = store_of("mem://x"), "mem://x/record"
    store.write_whole(path, b"old")
    left = [steps]

    def counted(name: str) -> Any:
        original = getattr(ArrowStore, name)

        def step(self: ArrowStore, *arguments: Any) -> Any:
            if left[0] == 0:
                raise DiedError
            left[0] -= 1
            return original(self, *arguments)

        return step

    with monkeypatch.context() as patch:
        for name in ("_write", "rename", "delete"):
            patch.setattr(ArrowStore, name, counted(name))
        try:
            store.write_whole(path, b"new")
            finished = True
        except DiedError:
            finished = False
    assert finished == (steps >= 5)
    found = store.read_whole(path)
    assert found == b"new" if finished else found in (b"old", b"new")
    assert store.names("mem://x") == ["record"]
    store.write_whole(path, b"next")
    assert store.read_whole(path) == b"next"
    store.delete_whole(path)
    assert store.read_whole(path) is None


def test_the_directory_of_a_job(place: str) -> None:
    directory = JobDirectory(join(place, "penstock"))
    directory.write("records/1.rec", b"x")
    directory.write("sinks/a b/note", b"y")
    assert directory.read("records/1.rec") == b"x"
    assert directory.names("records") == ["1.rec"] and directory.names("nothing") == []
    assert directory.files_below("sinks") == ["sinks/a b/note"]
    assert directory.files_below("nothing") == []
    assert directory.folder("sinks", "a/b").endswith("/sinks/a%2Fb")
    directory.remove("records/1.rec")
    directory.remove("records/1.rec")
    assert directory.read("records/1.rec") is None


def test_journals(place: str) -> None:
    journal = Journal(join(place, "sink"), "published.json")
    assert journal.read() is None
    journal.write({"batch": 3})
    assert Journal(join(place, "sink"), "published.json").read() == {"batch": 3}


def values(log: SegmentLog, start: int, end: int) -> list[Any]:
    places = log.byte_ranges(start, end)
    return [value for found in places for batch in read_range(found) for value in batch.values]


def test_the_log_of_a_receiver(place: str) -> None:
    log = SegmentLog(place)
    log.append(SourceBatch([1, 2]), state=b"s1")
    log.append_part(SourceBatch([3]))
    assert log.end == 2
    again = SegmentLog(join(place, "other"))
    assert again.end == 0
    log.append(SourceBatch([4]))
    log.append(SourceBatch([5, 6]), state=b"s2")
    assert values(log, 0, 6) == [1, 2, 3, 4, 5, 6] and values(log, 2, 5) == [3, 4, 5]
    log.append_part(SourceBatch([7]))
    log.close()
    reopened = SegmentLog(place)
    assert (reopened.end, reopened.state, reopened.ended) == (6, b"s2", False)
    reopened.append(SourceBatch([7, 8]), ended=True)
    assert values(reopened, 1, 8) == [2, 3, 4, 5, 6, 7, 8]
    reopened.remove_before(8)
    reopened.close()
    last = SegmentLog(place)
    assert last.ended and values(last, 7, 8) == [8]


def test_a_flush_that_cannot_be_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    register_file_system("mem", fs._MockFileSystem())
    log = SegmentLog("mem://log")
    log.append(SourceBatch([1]))
    log.append_part(SourceBatch([2]))
    stream = log._file

    class Failing:
        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            assert stream is not None
            stream.close()

    monkeypatch.setattr(log, "_file", Failing())
    with pytest.raises(SourceError) as error:
        log.append(SourceBatch([3]))
    assert "No space left on device" in str(error.value)
    monkeypatch.undo()
    log._file = None
    log.append(SourceBatch([2]))
    assert values(log, 0, 2) == [1, 2] and SegmentLog("mem://log").end == 2


def test_the_lanes_of_a_file_source(place: str) -> None:
    log = LaneLog(place)
    log.open(3)
    log.take_on([])
    again = LaneLog(place)
    again.open(5)
    assert len(again.lanes) == 3 and again.has_looked
    again.note_again([])
    LaneLog(place).open(1)
    assert len(store_of(place).names(place)) == 1


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value[0], self.count.value()


class Transactions(TwoPhaseCommitSinkFunction):
    """Put records into lists, which stand for what a database shows."""

    shown: ClassVar[list[Any]] = []

    def begin_transaction(self) -> list[Any]:
        return []

    def invoke(self, transaction: list[Any], value: Any, context: Any) -> None:
        transaction.append(value)

    def pre_commit(self, transaction: list[Any]) -> None:
        pass

    def commit(self, transaction: list[Any]) -> None:
        Transactions.shown += transaction

    def abort(self, transaction: list[Any]) -> None:
        pass


def test_a_job_goes_on_from_any_store(place: str, tmp_path: Path) -> None:
    """It is forgotten after each batch and goes on from its directory, at each step twice."""
    Transactions.shown = []
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "x.txt").write_text("".join(f"line {i}\n" for i in range(9)))
    sinks = RecordingSink(), RecordingSink(), RecordingSink()

    def plan() -> Any:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda value, _: value[1]
        )
        numbers = env.from_collection([("ab"[i % 2], i) for i in range(20)]).uid("numbers")
        keyed = numbers.assign_timestamps_and_watermarks(timed).uid("t").key_by(lambda v: v[0])
        counted = keyed.process(Counting()).uid("count")
        counted.sink_to(sinks[0]).uid("out")
        counted.add_sink(Transactions()).uid("database")
        windows = keyed.window(TumblingEventTimeWindows(5))
        windows.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows").sink_to(sinks[1]).uid("w")
        source = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(tmp_path / "lines")
        ).build()
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").uid("lines")
        lines.sink_to(sinks[2]).uid("lines out")
        return build_plan(env)

    directory = join(place, "job")
    batches = 0
    while True:
        job = LocalJob(plan(), directory, cuts=4, poll_ms=0)
        if job.step(("first", "second")) is None or batches > 30:
            break
        batches += 1
    job.run()
    assert batches > 4
    counts = sinks[0].values()
    assert sorted(counts) == sorted(("ab"[i % 2], i // 2 + 1) for i in range(20))
    assert sorted(Transactions.shown) == sorted(counts)
    assert sorted(sinks[2].values()) == [f"line {i}" for i in range(9)]
    assert sum(value[1] for value in sinks[1].values()) == sum(range(20))
