"""The windows of a savepoint are read, however the operator keeps them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.core.state import ReducingStateDescriptor, ValueStateDescriptor
from penstock.core.windowing import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import StateError, TypeMismatchError
from penstock.state_processor import SavepointReader, WindowReaderFunction
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink

#: Key, number, time.
RECORDS = [("a", 1, 1), ("b", 2, 4), ("a", 3, 6), ("a", 4, 13), ("b", 5, 14), ("a", 6, 33)]
LATENESS = 1000


class Total(AggregateFunction):
    mergeable = True

    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + value[1]]

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0]]


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, len(list(elements))


class Read(WindowReaderFunction[Any, Any, Any, Any]):
    """Show all that is known of a window but its timers."""

    def read_window(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        window = context.window()
        bounds = (window.start, window.end) if isinstance(window, TimeWindow) else None
        yield key, bounds, sorted(elements)


def env_of() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_configuration().set_string("execution.target", "in-process")
    return env.set_parallelism(1)


def taken(
    tmp_path: Path, make: Callable[[Any], Any], *, records: Any = RECORDS, out_of_order: int = 100
) -> SavepointReader:
    """Run a window over the records in two batches, the second of which takes a savepoint."""
    env = env_of().set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(out_of_order))
    timed = strategy.with_timestamp_assigner(lambda value, _: value[2])
    stream = env.from_collection([*records, *[("later", 0, 10_000)] * 4]).set_parallelism(1)
    stream = stream.uid("in").assign_timestamps_and_watermarks(timed).set_parallelism(1)
    keyed = stream.key_by(lambda r: r[0])
    make(keyed).uid("windows").sink_to(RecordingSink()).uid("out")
    job = LocalJob(build_plan(env), tmp_path / "job", cuts=len(records) // 2, poll_ms=0)
    job.step()
    return SavepointReader.read(env_of(), job.savepoint(tmp_path / "savepoints"))


def collected(stream: Any) -> list[Any]:
    return sorted(stream.execute_and_collect())


def expected(assign: Callable[[int], list[tuple[int, int]]]) -> list[Any]:
    """Return what windows hold, by a plain model."""
    held: dict[Any, list[Any]] = defaultdict(list)
    for record in RECORDS:
        for window in assign(record[2]):
            held[record[0], window].append(record)
    return sorted((key, window, sorted(found)) for (key, window), found in held.items())


def sliding(size: int, slide: int) -> Callable[[int], list[tuple[int, int]]]:
    def assign(time: int) -> list[tuple[int, int]]:
        last = time - time % slide
        return [(start, start + size) for start in range(last, time - size, -slide)]

    return assign


SHAPES: dict[str, Any] = {
    "aligned": (TumblingEventTimeWindows(10), sliding(10, 10)),
    "short sliding": (SlidingEventTimeWindows(20, 10), sliding(20, 10)),
    "slices": (SlidingEventTimeWindows(40, 4), sliding(40, 4)),
    "slices of two lengths": (SlidingEventTimeWindows(39, 4), sliding(39, 4)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("panes", [False, True], ids=["quick", "panes"])
def test_elements_of_aligned_windows(tmp_path: Path, shape: str, panes: bool) -> None:
    assigner, assign = SHAPES[shape]

    def make(keyed: Any) -> Any:
        windowed = keyed.window(assigner)
        if panes:
            windowed = windowed.trigger(PurgingTrigger(EventTimeTrigger()))
        return windowed.process(Elements())

    reader = taken(tmp_path, make).window(assigner)
    assert collected(reader.process("windows", Read())) == expected(assign)
    with pytest.raises(StateError) as error:
        reader.aggregate("windows", Total())
    assert str(error.value).splitlines()[0] == "the windows keep all elements"
    assert "to do: read them with process()" in str(error.value)


@pytest.mark.parametrize("shape", SHAPES)
def test_accumulators_of_aligned_windows(tmp_path: Path, shape: str) -> None:
    assigner, assign = SHAPES[shape]
    reader = taken(tmp_path, lambda keyed: keyed.window(assigner).aggregate(Total()))
    windows = reader.window(assigner)
    totals = [(key, window, [sum(r[1] for r in held)]) for key, window, held in expected(assign)]
    assert collected(windows.aggregate("windows", Total(), Read())) == totals
    assert collected(windows.aggregate("windows", Total())) == sorted(t for _, _, [t] in totals)
    rows = windows.rows("windows", Total())
    assert sorted((row.key, row.namespace.start, row.value) for row in rows) == [
        (key, window[0], total) for key, window, [total] in totals
    ]
    assert all(row.event_time_timers == [row.namespace.end - 1] for row in rows)
    with pytest.raises(StateError, match="the windows keep an accumulator"):
        windows.process("windows", Read())


def test_reduced_windows(tmp_path: Path) -> None:
    assigner = TumblingEventTimeWindows(10)

    def larger(a: Any, b: Any) -> Any:
        return max(a, b)

    reader = taken(tmp_path, lambda keyed: keyed.window(assigner).reduce(larger))
    windows = reader.window(assigner)
    tops = [("a", 3, 6), ("a", 4, 13), ("a", 6, 33), ("b", 2, 4), ("b", 5, 14)]
    assert collected(windows.reduce("windows", larger)) == tops
    assert sorted(row.value for row in windows.rows("windows")) == tops


SESSIONS = [("a", (1, 23), 8), ("a", (33, 43), 6), ("b", (4, 24), 7)]


@pytest.mark.parametrize("panes", [False, True], ids=["quick", "panes"])
def test_sessions_have_the_bounds_that_they_have_grown_to(tmp_path: Path, panes: bool) -> None:
    assigner = EventTimeSessionWindows(10)

    def make(keyed: Any) -> Any:
        windowed = keyed.window(assigner)
        return (windowed.trigger(CountTrigger(9)) if panes else windowed).aggregate(Total())

    reader = taken(tmp_path, make)
    windows = reader.window(assigner)
    found = collected(windows.aggregate("windows", Total(), Read()))
    assert found == [(key, window, [total]) for key, window, total in SESSIONS]


class Timers(WindowReaderFunction[Any, Any, Any, Any]):
    def read_window(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        assert context.registered_processing_time_timers() == set()
        yield key, context.window().start, sorted(context.registered_event_time_timers())


@pytest.mark.parametrize("size", [10, 40])
def test_windows_that_have_fired_stay_for_late_records(tmp_path: Path, size: int) -> None:
    """The watermark is 32: windows up to there have fired, and wait for late records."""
    assigner = SlidingEventTimeWindows(size, 10 if size == 10 else 5)

    def make(keyed: Any) -> Any:
        return keyed.window(assigner).allowed_lateness(LATENESS).aggregate(Total())

    reader = taken(tmp_path, make, out_of_order=0).window(assigner)
    found = collected(reader.aggregate("windows", Total(), Timers()))
    assign = sliding(size, assigner.slide)
    assert [(key, start) for key, start, _ in found] == [
        (key, window[0]) for key, window, _ in expected(assign)
    ]
    for _, start, timers in found:
        last = start + size - 1
        assert timers == ([last, last + LATENESS] if last > 32 else [last + LATENESS])


@pytest.mark.parametrize("lateness", [0, LATENESS])
def test_windows_that_are_gone_are_not_there(tmp_path: Path, lateness: int) -> None:
    assigner = SlidingEventTimeWindows(16, 2)

    def make(keyed: Any) -> Any:
        return keyed.window(assigner).allowed_lateness(lateness).aggregate(Total())

    reader = taken(tmp_path, make, out_of_order=0).window(assigner)
    found = collected(reader.aggregate("windows", Total(), Read()))
    alive = [w for w in expected(sliding(16, 2)) if w[1][1] - 1 + lateness > 32]
    assert [(key, window) for key, window, _ in found] == [
        (key, window) for key, window, _ in alive
    ]
    assert len(alive) == (8 if lateness == 0 else len(expected(sliding(16, 2))))


class Noting(ProcessWindowFunction):
    """Keep state of the window and of the key."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        context.window_state().get_state(ValueStateDescriptor("fired")).update(len(list(elements)))
        context.global_state().get_state(ValueStateDescriptor("seen")).update(key * 2)
        yield key, 0


class ReadStates(WindowReaderFunction[Any, Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def read_window(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        counting = ReducingStateDescriptor("trigger-count", lambda a, b: a + b)
        fired = context.window_state().get_state(ValueStateDescriptor("fired")).value()
        seen = context.global_state().get_state(ValueStateDescriptor("seen")).value()
        assert self.seen.value() == seen
        yield key, context.trigger_state(counting).get(), fired, seen


def test_state_of_triggers_windows_and_keys(tmp_path: Path) -> None:
    assigner = TumblingEventTimeWindows(100)
    windowed = lambda keyed: keyed.window(assigner).trigger(CountTrigger(3))  # noqa: E731
    reader = taken(tmp_path, lambda keyed: windowed(keyed).process(Noting()))
    found = collected(reader.window(assigner).process("windows", ReadStates()))
    assert found == [("a", 1, 3, "aa"), ("b", 2, None, None)]


@pytest.mark.parametrize("combined", [False, True])
def test_windows_with_an_evictor_keep_all_elements(tmp_path: Path, combined: bool) -> None:
    assigner = GlobalWindows.create()

    def make(keyed: Any) -> Any:
        windowed = keyed.window(assigner).trigger(CountTrigger(9)).evictor(CountEvictor(2))
        return windowed.aggregate(Total()) if combined else windowed.process(Elements())

    reader = taken(tmp_path, make).window(assigner)
    with pytest.raises(StateError) as error:
        reader.process("windows", Read())
    assert "the windows were kept for an evictor" in str(error.value)
    assert "window(...).evictor(), and then reduce, aggregate or process" in str(error.value)
    windows = reader.evictor()
    if combined:
        assert collected(windows.aggregate("windows", Total())) == [7, 14]
    else:
        by_key = {key: [r for r in RECORDS if r[0] == key] for key in "ab"}
        found = collected(windows.process("windows", Read()))
        assert found == [(key, None, sorted(held)) for key, held in by_key.items()]
        assert {row.namespace for row in windows.rows("windows")} == {GlobalWindow.get()}


@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows(100), EventTimeSessionWindows(50)])
def test_both_sides_of_a_join(tmp_path: Path, assigner: Any) -> None:
    def make(keyed: Any) -> Any:
        other = keyed.map(lambda r: (r[0], -r[1], r[2]))
        joined = keyed.join(other).where(lambda r: r[0]).equal_to(lambda r: r[0])
        return joined.window(assigner).apply(lambda left, right: (left, right))

    found = taken(tmp_path, make).window(assigner).rows("windows")
    sides = {row.key: ([], []) for row in found}  # type: ignore[var-annotated]
    for row in found:
        for element in row.value:
            sides[row.key][element.is_two()].append(element.value[1])
    assert {key: (sorted(one), sorted(two)) for key, (one, two) in sides.items()} == {
        "a": ([1, 3, 4, 6], [-6, -4, -3, -1]),
        "b": ([2, 5], [-5, -2]),
    }


def test_processing_time(tmp_path: Path) -> None:
    assigner = TumblingProcessingTimeWindows(10**12)
    reader = taken(tmp_path, lambda keyed: keyed.window(assigner).aggregate(Total()))
    (a, b) = sorted(reader.window(assigner).rows("windows", Total()), key=lambda row: row.key)
    assert (a.value, b.value) == (14, 7)
    assert a.processing_time_timers == [a.namespace.end - 1] and a.event_time_timers == []


def test_what_is_no_window_is_refused(tmp_path: Path) -> None:
    reader = taken(tmp_path, lambda keyed: keyed.reduce(max))
    windows = reader.window(TumblingEventTimeWindows(10))
    with pytest.raises(StateError) as error:
        windows.process("windows", Read())
    assert str(error.value).startswith("the operator has no windows")
    assert "got:   state of the layout rolling" in str(error.value)
    with pytest.raises(StateError, match="no operator of that uid"):
        windows.process("nobody", Read())
    with pytest.raises(TypeMismatchError, match=r"window\(\) needs a WindowAssigner object"):
        reader.window(TumblingEventTimeWindows)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError, match="needs a WindowReaderFunction"):
        windows.process("windows", Elements())  # type: ignore[arg-type]


def test_shared_accumulators_need_the_function(tmp_path: Path) -> None:
    assigner = SlidingEventTimeWindows(40, 4)
    reader = taken(tmp_path, lambda keyed: keyed.window(assigner).aggregate(Total()))
    with pytest.raises(StateError) as error:
        reader.window(assigner).rows("windows")
    assert "windows that share accumulators cannot be read" in str(error.value)
    assert "to do: pass the reduce or aggregate function, which merges them" in str(error.value)


def test_keys_without_a_hash_are_as_the_program_has_them(tmp_path: Path) -> None:
    assigner = TumblingEventTimeWindows(100)

    def make(keyed: Any) -> Any:
        return keyed.key_by(lambda r: [r[0]]).window(assigner).aggregate(Total())

    reader = taken(tmp_path, make).window(assigner)
    assert sorted(row.key for row in reader.rows("windows")) == [["a"], ["b"]]
    found = collected(reader.aggregate("windows", Total(), Read()))
    assert found == [(["a"], (0, 100), [14]), (["b"], (0, 100), [7])]
