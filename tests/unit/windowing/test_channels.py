"""Several inputs: the minimum counts, and what happens when one of them falls silent."""

from __future__ import annotations

from pathlib import Path

from penstock.common import Duration, WatermarkStrategy
from penstock.core.windowing import EventTimeTrigger, TumblingEventTimeWindows
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.specs import Reduced, WindowSpec
from penstock.testing.clock import ManualClock
from penstock.testing.harness import OperatorHarness
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import Forever, RecordingSink


def count_window(channels: int) -> OperatorHarness:
    combine = Reduced(lambda a, b: (a[0], a[1] + b[1]))
    spec = WindowSpec(TumblingEventTimeWindows(10), EventTimeTrigger(), combine)
    return OperatorHarness(spec, lambda record: record[0], channels=channels)


def test_the_slowest_channel_counts() -> None:
    harness = count_window(channels=3)
    harness.process_element(("a", 1), 1)
    harness.process_watermark(50, channel=0)
    harness.process_watermark(30, channel=1)
    assert harness.take_output() == []  # the third has said nothing yet
    harness.process_watermark(9, channel=2)
    assert harness.take_records() == [("a", 1)]
    assert harness.operator.watermark == 9


def test_an_idle_channel_holds_nobody_back_until_it_comes_back() -> None:
    harness = count_window(channels=2)
    harness.process_element(("a", 1), 1)
    harness.process_watermark(15, channel=0)
    assert harness.take_records() == []
    harness.set_idle(1)
    assert harness.take_records() == [("a", 1)]
    harness.set_idle(1, False)
    harness.process_element(("a", 2), 16)
    harness.process_watermark(40, channel=0)
    assert harness.take_records() == [("a", 2)]  # the one that came back is still behind: not asked
    harness.process_element(("a", 4), 44)
    harness.process_watermark(45, channel=1)  # it has caught up: it counts again
    harness.process_watermark(90, channel=0)
    assert harness.take_records() == []
    harness.process_watermark(49, channel=1)
    assert harness.take_records() == [("a", 4)]


def run_with_a_silent_channel(strategy: WatermarkStrategy, directory: Path) -> list[tuple]:
    """Deal all records to the first of two subtasks; let five seconds pass; return the results."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    sink = RecordingSink()
    lines = env.from_source(Forever([("a", 1, 1), ("a", 2, 3), ("a", 4, 12)]), None, "records")
    lines.set_parallelism(1).partition_custom(lambda key, n: 0, lambda record: record[0]).map(
        lambda record: record
    ).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record, _: record[2])
    ).key_by(lambda record: record[0]).window(TumblingEventTimeWindows(10)).reduce(
        lambda a, b: (a[0], a[1] + b[1], 0)
    ).sink_to(sink)
    clock = ManualClock(1_000_000)
    job = LocalJob(build_plan(env), directory, clock=clock, poll_ms=0)
    job.run_while_there_is_input()
    assert sink.values() == []
    clock.advance(5000)
    job.run_while_there_is_input()
    job.close()
    return sink.values()


def test_without_idleness_a_silent_channel_holds_everything_back(tmp_path: Path) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert run_with_a_silent_channel(strategy, tmp_path) == []


def test_with_idleness_a_silent_channel_is_left_out_after_a_while(tmp_path: Path) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    idle = strategy.with_idleness(Duration.of_seconds(3))
    assert run_with_a_silent_channel(idle, tmp_path) == [("a", 3, 0)]
