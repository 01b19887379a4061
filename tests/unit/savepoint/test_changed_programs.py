"""A savepoint and a program that has changed since: state goes where it belongs, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.core.windowing import (
    CountEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import StateError
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.unit.savepoint.programs import Content, Total
from tests.unit.testing.recording import RecordingSink

pytestmark = pytest.mark.usefixtures("backend")

RECORDS = [(n % 5, n, 2 * n) for n in range(40)]
Build = Callable[[StreamExecutionEnvironment, DataStream], Any]


def key_of(record: Any) -> Any:
    return record[0]


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


def plan_of(build: Build, parallelism: int = 2, chaining: bool = True) -> ExecutionPlan:
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    if not chaining:
        env.disable_operator_chaining()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(0)
    ).with_timestamp_assigner(lambda record, _: record[2])
    stream = env.from_collection(RECORDS).uid("records")
    stream = stream.assign_timestamps_and_watermarks(strategy).uid("times")
    build(env, stream.map(lambda record: record[:2]))
    return build_plan(env)


def savepoint_of(plan: ExecutionPlan, place: Path, batches: int = 3, **options: Any) -> str:
    job = LocalJob(plan, place / "first", cuts=6, poll_ms=0)
    for _ in range(batches):
        job.step()
    path = job.savepoint(place / "savepoints", stop=True, **options)
    job.close()
    return path


def run_on(plan: ExecutionPlan, place: Path, path: str, **options: Any) -> LocalJob:
    return LocalJob(plan, place / "second", cuts=6, poll_ms=0, restore=path, **options).run()


def sums(sink: RecordingSink) -> Build:
    return lambda env, stream: stream.key_by(key_of).reduce(add).uid("sum").sink_to(sink).uid("out")


def all_sums() -> list[Any]:
    held: dict[int, int] = {}
    found = []
    for key, number, _ in RECORDS:
        held[key] = held.get(key, 0) + number
        found.append((key, held[key]))
    return sorted(found)


def both(first: RecordingSink, second: RecordingSink) -> list[Any]:
    return sorted(first.values() + second.values())


def test_operators_that_came_and_chains_that_were_broken(tmp_path: Path) -> None:
    before, after, new = RecordingSink(), RecordingSink(), RecordingSink()
    path = savepoint_of(plan_of(sums(before)), tmp_path)

    def build(env: StreamExecutionEnvironment, stream: DataStream) -> None:
        more = env.from_collection([(9, 1)]).key_by(key_of).reduce(add).uid("new")
        more.sink_to(new).uid("new out")
        stream = stream.rebalance().filter(lambda pair: True).map(lambda pair: pair)
        sums(after)(env, stream)

    run_on(plan_of(build, parallelism=3, chaining=False), tmp_path, path)
    # Records of a key may come in another order now: the last sum of each is what must be right.
    assert dict(both(before, after)) == dict(all_sums())
    assert new.values() == [(9, 1)]


def test_an_operator_that_went_is_refused_and_then_allowed(tmp_path: Path) -> None:
    before, after = RecordingSink(), RecordingSink()
    path = savepoint_of(plan_of(sums(before)), tmp_path)

    def build(env: StreamExecutionEnvironment, stream: DataStream) -> None:
        stream.sink_to(after).uid("out")

    with pytest.raises(StateError) as caught:
        run_on(plan_of(build), tmp_path, path)
    assert str(caught.value) == (
        "the program has no operator for state that is there\n"
        f"  where: savepoint {path}\n"
        "  got:   state of 'Reduce' (sum)\n"
        "  to do: give the operator that the state belongs to that uid, with .uid('...'), or set "
        "execution.state-recovery.ignore-unclaimed-state: true to drop the state"
    )
    run_on(plan_of(build), tmp_path, path, ignore_unclaimed=True)
    assert len(before.values()) + len(after.values()) == len(RECORDS)


def test_another_number_of_key_groups_is_refused(tmp_path: Path) -> None:
    before = RecordingSink()
    path = savepoint_of(plan_of(sums(before)), tmp_path)

    def build(env: StreamExecutionEnvironment, stream: DataStream) -> None:
        stream.key_by(key_of).reduce(add).uid("sum").set_max_parallelism(64).print()

    with pytest.raises(StateError) as caught:
        run_on(plan_of(build), tmp_path, path)
    assert "the key groups of an operator cannot be changed while it has state" in str(caught.value)
    assert f"maximum parallelism 64; maximum parallelism 128 in savepoint {path}" in str(
        caught.value
    )


def test_state_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = savepoint_of(plan_of(sums(RecordingSink())), tmp_path)

    def build(env: StreamExecutionEnvironment, stream: DataStream) -> None:
        window = stream.key_by(key_of).window(TumblingEventTimeWindows(10))
        window.aggregate(Total(), Content()).uid("sum").sink_to(RecordingSink()).uid("out")

    with pytest.raises(StateError) as caught:
        run_on(plan_of(build), tmp_path, path)
    assert "rolling in savepoint" in str(caught.value)
    assert "the operator needs aligned-windows(contents=accumulator, offset=0, size=10" in str(
        caught.value
    )


WINDOWS: dict[str, Any] = {
    "tumbling": TumblingEventTimeWindows(20),
    "sliding": SlidingEventTimeWindows(20, 10),
    "slices": SlidingEventTimeWindows(48, 4),
    "sessions": EventTimeSessionWindows(11),
}


def windowed(
    assigner: Any, sink: RecordingSink, trigger: bool, elements: bool, lateness: int = 0
) -> Build:
    def build(env: StreamExecutionEnvironment, stream: DataStream) -> None:
        window = stream.key_by(key_of).window(assigner)
        if lateness:
            window = window.allowed_lateness(lateness)
        if trigger:
            window = window.trigger(PurgingTrigger(EventTimeTrigger()))
        found = window.process(Content()) if elements else window.aggregate(Total(), Content())
        found.uid("window").sink_to(sink).uid("out")

    return build


@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize("elements", [False, True], ids=["accumulator", "elements"])
@pytest.mark.parametrize("lateness", [0, 7])
def test_a_trigger_that_was_added(kind: str, elements: bool, lateness: int, tmp_path: Path) -> None:
    """What a quick operator has kept goes on in the one that asks a trigger, and stays there."""
    whole, before, after, last = (RecordingSink() for _ in range(4))

    def plan(sink: RecordingSink, trigger: bool, parallelism: int = 2) -> ExecutionPlan:
        build = windowed(WINDOWS[kind], sink, trigger, elements, lateness)
        return plan_of(build, parallelism)

    LocalJob(plan(whole, False), tmp_path / "whole", cuts=6, poll_ms=0).run()
    path = savepoint_of(plan(before, False), tmp_path)
    job = LocalJob(plan(after, True, 3), tmp_path / "second", cuts=6, poll_ms=0, restore=path)
    job.step()
    path = job.savepoint(tmp_path / "savepoints", stop=True)
    job.close()
    # Back again: the state is not the quick operator's any more, so that one is not used.
    LocalJob(plan(last, False, 1), tmp_path / "third", cuts=6, poll_ms=0, restore=path).run()
    assert sorted(before.values() + after.values() + last.values()) == sorted(whole.values())


def test_windows_of_another_size_begin_beside_those_that_are_open(tmp_path: Path) -> None:
    before, after = RecordingSink(), RecordingSink()
    path = savepoint_of(
        plan_of(windowed(TumblingEventTimeWindows(20), before, False, True)), tmp_path
    )
    run_on(plan_of(windowed(TumblingEventTimeWindows(30), after, False, True)), tmp_path, path)
    assert len(both(before, after)) > 10


def test_an_evictor_needs_what_was_not_kept(tmp_path: Path) -> None:
    path = savepoint_of(
        plan_of(windowed(TumblingEventTimeWindows(20), RecordingSink(), False, True)), tmp_path
    )

    def build(env: StreamExecutionEnvironment, stream: DataStream) -> None:
        window = stream.key_by(key_of).window(TumblingEventTimeWindows(20))
        window.evictor(CountEvictor(2)).process(Content()).uid("window").print()

    with pytest.raises(StateError) as caught:
        run_on(plan_of(build), tmp_path, path, ignore_unclaimed=True)
    assert "the state of an operator is laid out in another way" in str(caught.value)


def test_a_source_that_was_added_begins_at_its_start(tmp_path: Path) -> None:
    before, after = RecordingSink(), RecordingSink()
    path = savepoint_of(plan_of(sums(before)), tmp_path)

    def build(env: StreamExecutionEnvironment, stream: DataStream) -> None:
        sums(after)(env, stream.union(env.from_collection([(7, 3), (7, 4)])))

    run_on(plan_of(build), tmp_path, path)
    assert both(before, after) == sorted([*all_sums(), (7, 3), (7, 7)])


def test_drained(tmp_path: Path) -> None:
    whole, before = RecordingSink(), RecordingSink()
    LocalJob(
        plan_of(windowed(TumblingEventTimeWindows(1000), whole, False, False)), tmp_path / "whole"
    ).run()
    plan = plan_of(windowed(TumblingEventTimeWindows(1000), before, False, False))
    savepoint_of(plan, tmp_path, drain=True)
    assert sorted(key for key, _ in before.values()) == [0, 1, 2, 3, 4]
