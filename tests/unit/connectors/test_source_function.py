from __future__ import annotations

import inspect
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.common.watermark import Watermark
from penstock.connectors.receiver import ReceiverSettings
from penstock.connectors.source_function import SourceFunctionSource
from penstock.core.functions.source import ParallelSourceFunction, SourceFunction
from penstock.core.io import ReadLimit
from penstock.core.state.descriptors import ValueStateDescriptor
from penstock.errors import SerializationError, SourceError, StateError
from tests.unit.connectors.driver import SourceDriver

Context = SourceFunction.SourceContext[Any]

#: Functions run as copies: what they do is noted here.
EVENTS: list[str] = []


@pytest.fixture(autouse=True)
def no_events() -> None:
    EVENTS.clear()


class Counting(SourceFunction[int]):
    """Count up to `end`, under the lock; stop for a while at `pause_at`."""

    def __init__(self, end: int, pause_at: int | None = None) -> None:
        self.end = end
        self.pause_at = pause_at
        self.next = 0
        self.running = True

    def open(self, runtime_context: Any) -> None:
        self.lock = threading.Lock()  # cannot be pickled
        EVENTS.append("open")

    def run(self, ctx: Context) -> None:
        EVENTS.append(f"run from {self.next}")
        while self.running and self.next < self.end:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1
            while self.running and self.next == self.pause_at:
                time.sleep(0.001)

    def cancel(self) -> None:
        EVENTS.append("cancel")
        self.running = False

    def close(self) -> None:
        EVENTS.append("close")


class Resting(Counting):
    """Count, and rest after each thousand: what was sent by then is written on its own."""

    def run(self, ctx: Context) -> None:
        while self.running and self.next < self.end:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1
            if self.next % 1000 == 0:
                time.sleep(0.2)
            while self.running and self.next == self.pause_at:
                time.sleep(0.001)


def finished(function: SourceFunction[Any], directory: Path, **options: Any) -> SourceDriver:
    driver = SourceDriver(SourceFunctionSource(function), directory, **options)
    driver.run()
    driver.close()
    return driver


def test_a_function_runs_to_its_end(tmp_path: Path) -> None:
    driver = finished(Counting(5000), tmp_path)
    assert driver.values() == list(range(5000))
    assert EVENTS == ["open", "run from 0", "close"]


def test_a_run_that_had_finished_is_not_run_again(tmp_path: Path) -> None:
    first = SourceDriver(SourceFunctionSource(Counting(10)), tmp_path)
    initial = first.position
    first.run()
    first.close()
    EVENTS.clear()
    again = SourceDriver(SourceFunctionSource(Counting(99)), tmp_path, restored=initial)
    again.run()
    assert again.values() == first.values()
    assert EVENTS == []
    again.close()


def test_attributes_go_on_after_a_restart(tmp_path: Path) -> None:
    first = SourceDriver(SourceFunctionSource(Counting(50, pause_at=30)), tmp_path)
    first.run(ReadLimit(7, 1 << 20), until=lambda: len(first.values()) >= 14)
    first.close()
    # cancel() has set `running` to False, which must not be taken for the function's state.
    second = SourceDriver(SourceFunctionSource(Counting(50)), tmp_path, restored=first.position)
    second.run(ReadLimit(7, 1 << 20))
    second.close()
    assert first.values() + second.values() == list(range(50))
    assert EVENTS[3:] == ["close", "open", "run from 30", "close"]


def test_a_process_that_dies_loses_and_repeats_nothing(tmp_path: Path) -> None:
    driver = SourceDriver(SourceFunctionSource(Counting(10**9)), tmp_path)
    values: list[int] = []
    for _ in range(5):
        position = driver.position
        driver.run(ReadLimit(700, 1 << 20), until=lambda: driver.position != position)  # noqa: B023
        values += driver.values()
        # Nobody closes it: the log is read as a dead process has left it.
        hosted = driver.enumerator._hosted["0"]  # type: ignore[attr-defined]
        hosted.log.stop(flush=False)
        driver = SourceDriver(
            SourceFunctionSource(Counting(10**9)), tmp_path, restored=driver.position
        )
    assert values == list(range(len(values)))
    assert len(values) > 5
    driver.close()


class Ticking(SourceFunction[Any]):
    def __init__(self) -> None:
        self.proceed = True

    def run(self, ctx: Context) -> None:
        ctx.collect_with_timestamp("a", 10)
        ctx.emit_watermark(Watermark(9))
        ctx.collect("b")
        ctx.collect_with_timestamp({"c": 1}, 30)
        ctx.emit_watermark(Watermark(29))

    def cancel(self) -> None: ...


@pytest.mark.parametrize("max_records", [1, 2, 100])
def test_timestamps_and_watermarks_keep_their_places(tmp_path: Path, max_records: int) -> None:
    driver = SourceDriver(SourceFunctionSource(Ticking()), tmp_path)
    driver.run(ReadLimit(max_records, 1 << 20))
    driver.close()
    seen: list[Any] = []
    for (batches,) in driver.batches:
        for batch in batches:
            marks = list(batch.marks)
            for place in range(len(batch.values) + 1):
                seen += [mark for position, mark in marks if position == place]
                if place < len(batch.values):
                    times = batch.timestamps or [None] * len(batch.values)
                    seen.append((batch.values[place], times[place]))
    assert seen == [("a", 10), 9, ("b", None), ({"c": 1}, 30), 29]


def test_a_record_that_is_changed_after_it_was_collected_stays_as_it_was(tmp_path: Path) -> None:
    class Reusing(Ticking):
        def run(self, ctx: Context) -> None:
            record = {"number": 0}
            for number in range(5):
                record["number"] = number
                ctx.collect(record)

    driver = finished(Reusing(), tmp_path)
    assert driver.values() == [{"number": number} for number in range(5)]


class WhoAmI(ParallelSourceFunction[Any]):
    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def run(self, ctx: Context) -> None:
        context = self.get_runtime_context()
        ctx.collect((self.subtask, context.get_number_of_parallel_subtasks()))
        ctx.collect(context.get_task_name_with_subtasks())

    def cancel(self) -> None: ...


def test_a_parallel_function_runs_in_every_subtask(tmp_path: Path) -> None:
    assert SourceFunctionSource(WhoAmI()).parallel
    assert not SourceFunctionSource(Counting(1)).parallel
    driver = finished(WhoAmI(), tmp_path, parallelism=3)
    assert [driver.values(subtask) for subtask in range(3)] == [
        [(subtask, 3), f"numbers ({subtask + 1}/3)#0"] for subtask in range(3)
    ]


def test_logs_of_subtasks_that_are_no_more_are_read_to_their_end(tmp_path: Path) -> None:
    class Shares(WhoAmI):
        def run(self, ctx: Context) -> None:
            for number in range(20):
                ctx.collect(self.subtask * 100 + number)

    first = SourceDriver(SourceFunctionSource(Shares()), tmp_path, parallelism=3)
    first.run(ReadLimit(6, 1 << 20), until=lambda: len(first.values()) >= 12)
    first.run(ReadLimit(3, 1 << 20), until=lambda: len(first.values()) >= 15)
    time.sleep(0.1)
    first.close()
    second = SourceDriver(
        SourceFunctionSource(Shares()), tmp_path, parallelism=1, restored=first.position
    )
    second.run()
    second.close()
    expected = [subtask * 100 + number for subtask in range(3) for number in range(20)]
    assert sorted(first.values() + second.values()) == expected


def test_what_a_source_function_may_ask(tmp_path: Path) -> None:
    class Asking(Ticking):
        def run(self, ctx: Context) -> None:
            context = self.get_runtime_context()
            context.get_metrics_group().counter("asked").inc()
            context.get_int_counter("asked").add(1)
            ctx.collect(context.get_job_id())
            ctx.collect(context.get_job_parameter("city", None))
            ctx.collect(context.get_job_parameter("street", "none"))
            ctx.collect(context.get_max_number_of_parallel_subtasks())
            try:
                context.get_state(ValueStateDescriptor("n"))
            except StateError as error:
                ctx.collect(str(error))

    driver = finished(Asking(), tmp_path)
    assert driver.values() == [
        "job-1",
        "Delft",
        "none",
        128,
        "a source function has no keyed state\n"
        "  where: source 'numbers'\n"
        "  to do: keep it in an attribute of the function: attributes outlive a restart",
    ]


def test_idle_is_part_of_the_position_until_the_next_record(tmp_path: Path) -> None:
    class Sleepy(Counting):
        def run(self, ctx: Context) -> None:
            ctx.collect("a")
            ctx.mark_as_temporarily_idle()
            while self.running and not EVENTS:
                time.sleep(0.001)
            ctx.collect("b")

        def open(self, runtime_context: Any) -> None: ...

    driver = SourceDriver(SourceFunctionSource(Sleepy(1)), tmp_path)
    driver.run(until=lambda: "idle" in driver.position["splits"]["0"])
    assert driver.values() == ["a"]
    assert not driver.batch()
    EVENTS.append("go on")
    driver.run()
    assert driver.values() == ["a", "b"]
    assert "idle" not in driver.position["splits"]["0"]
    driver.close()


def test_a_function_that_raises_is_reported_with_its_line(tmp_path: Path) -> None:
    class Failing(Counting):
        def run(self, ctx: Context) -> None:
            self.fetch()

        def fetch(self) -> None:
            raise ValueError("no such sensor")

    driver = SourceDriver(SourceFunctionSource(Failing(1)), tmp_path)
    assert driver.failed.wait(5)
    assert isinstance(driver.failure, SourceError)
    line = inspect.getsourcelines(Failing.fetch)[1] + 1
    assert str(driver.failure) == (
        "run() of source 'numbers' raised ValueError: no such sensor\n"
        f"  where: {__file__}:{line}, in fetch\n"
        "  to do: correct the function, or catch the exception inside it"
    )
    assert isinstance(driver.failure.__cause__, ValueError)
    driver.close()
    assert EVENTS == ["open", "close"]


def test_after_a_failure_the_function_goes_on_from_the_last_flush(tmp_path: Path) -> None:
    class FailsOnce(Counting):
        def run(self, ctx: Context) -> None:
            while self.next < 20:
                with ctx.get_checkpoint_lock():
                    ctx.collect(self.next)
                    if self.next == 12 and not EVENTS.count("failed"):
                        EVENTS.append("failed")
                        raise RuntimeError("lost the sensor")
                    self.next += 1
                time.sleep(0.005)

    first = SourceDriver(SourceFunctionSource(FailsOnce(20)), tmp_path)
    with pytest.raises(SourceError):
        first.run()
    first.close()
    second = SourceDriver(SourceFunctionSource(FailsOnce(20)), tmp_path, restored=first.position)
    second.run()
    second.close()
    assert first.values() + second.values() == list(range(20))


def test_a_record_that_cannot_be_pickled_is_reported_with_the_collecting_line(
    tmp_path: Path,
) -> None:
    class Locks(Ticking):
        def run(self, ctx: Context) -> None:
            ctx.collect(threading.Lock())

    driver = SourceDriver(SourceFunctionSource(Locks()), tmp_path)
    assert driver.failed.wait(5)
    assert isinstance(driver.failure, SerializationError)
    line = inspect.getsourcelines(Locks.run)[1] + 1
    assert driver.failure.where == f"source 'numbers', {__file__}:{line}, in run"
    driver.close()


def test_a_function_that_cannot_be_copied(tmp_path: Path) -> None:
    function = Counting(1)
    function.lock = threading.Lock()
    with pytest.raises(SerializationError) as caught:
        SourceDriver(SourceFunctionSource(function), tmp_path)
    assert caught.value.what == "a source function cannot be copied, one copy for each subtask"
    assert caught.value.where == "source 'numbers'"


def test_a_loop_that_never_looks_at_cancel_ends_at_its_next_record(tmp_path: Path) -> None:
    class Endless(Counting):
        def run(self, ctx: Context) -> None:
            while True:
                try:
                    ctx.collect(self.next)
                except Exception:
                    EVENTS.append("caught")
                self.next += 1

    driver = SourceDriver(SourceFunctionSource(Endless(1)), tmp_path)
    driver.run(until=lambda: len(driver.values()) > 100)
    began = time.monotonic()
    driver.close()
    assert time.monotonic() - began < 1
    assert EVENTS == ["open", "cancel", "close"]
    assert driver.failure is None


def test_a_function_that_hangs_does_not_keep_the_job(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Hanging(Counting):
        def run(self, ctx: Context) -> None:
            with ctx.get_checkpoint_lock():
                ctx.collect(1)
                time.sleep(2.5)

    settings = ReceiverSettings(patience_seconds=0.2)
    driver = SourceDriver(SourceFunctionSource(Hanging(1), settings), tmp_path)
    time.sleep(0.05)
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        driver.close()
    assert time.monotonic() - began < 2
    assert "goes on after its job's end" in caplog.text


def test_a_function_waits_while_nobody_reads(tmp_path: Path) -> None:
    settings = ReceiverSettings(max_unread=50)
    driver = SourceDriver(SourceFunctionSource(Counting(1000), settings), tmp_path)
    time.sleep(0.2)
    assert driver.batch()
    assert len(driver.values()) == 50
    driver.run()
    assert driver.values() == list(range(1000))
    driver.close()


def test_many_records_under_one_lock_do_not_fill_the_memory(tmp_path: Path) -> None:
    class Greedy(Counting):
        def run(self, ctx: Context) -> None:
            with ctx.get_checkpoint_lock():
                for number in range(1000):
                    ctx.collect(number)

    settings = ReceiverSettings(max_unread=50)
    driver = SourceDriver(SourceFunctionSource(Greedy(1), settings), tmp_path)
    driver.run()
    assert driver.values() == list(range(1000))
    driver.close()


class Units(SourceFunction[Any]):
    """Send 300 records under one lock, then their number; dies in the middle of the second unit."""

    def __init__(self, dies: bool) -> None:
        self.unit = 0
        self.dies = dies

    def run(self, ctx: Context) -> None:
        while self.unit < 3:
            with ctx.get_checkpoint_lock():
                for number in range(300):
                    if self.dies and self.unit == 1 and number == 200:
                        print("dead", flush=True)
                        os.kill(os.getpid(), signal.SIGKILL)
                    ctx.collect((self.unit, number))
                self.unit += 1

    def cancel(self) -> None:
        pass


def test_what_one_lock_holds_comes_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """Killed inside a lock that holds more records than memory may: none of them come twice."""
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.unit.connectors.driver import SourceDriver\n"
        "from tests.unit.connectors.test_source_function import *\n"
        "source = SourceFunctionSource(Units(dies=True), ReceiverSettings(max_unread=50))\n"
        "driver = SourceDriver(source, Path(sys.argv[1]))\n"
        "driver.run(until=lambda: False)\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=root, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"dead\n"), done.stderr
    settings = ReceiverSettings(max_unread=50)
    driver = SourceDriver(SourceFunctionSource(Units(dies=False), settings), tmp_path)
    driver.run()
    driver.close()
    assert driver.values() == [(unit, number) for unit in range(3) for number in range(300)]


def test_read_segments_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.segments.SEGMENT_BYTES", 1000)
    driver = SourceDriver(SourceFunctionSource(Resting(5000, pause_at=4999)), tmp_path)
    driver.run(ReadLimit(500, 1 << 20), until=lambda: len(driver.values()) == 4999)
    before = len(list(tmp_path.rglob("*.log")))
    driver.commit()
    assert len(list(tmp_path.rglob("*.log"))) == 1 < before
    driver.close()
    second = SourceDriver(SourceFunctionSource(Counting(5000)), tmp_path, restored=driver.position)
    second.run()
    assert second.values() == [4999]
    second.close()


def test_a_large_attribute_is_warned_of(tmp_path: Path) -> None:
    function = Counting(3)
    function.table = "x" * 2_000_000  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="attribute 'table' of Counting has 1 MB"):
        finished(function, tmp_path)
