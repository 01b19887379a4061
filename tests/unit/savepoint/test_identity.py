"""Everything durable is found again by uid, wherever its operator stands in the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.core.functions import MapFunction
from penstock.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink

RECORDS = [(key, 1) for _ in range(6) for key in "abcdefgh"]


def keyed(stream: DataStream) -> KeyedStream:
    return stream.key_by(lambda pair: pair[0])


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


def times(left: Any, right: Any) -> Any:
    return left[0], left[1] * 2


Branch = Callable[[DataStream], Any]


def plan_of(*branches: Branch, parallelism: int = 2) -> ExecutionPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    stream = env.from_collection(RECORDS).uid("records")
    for branch in branches:
        branch(stream)
    return build_plan(env)


def test_operators_in_another_order_keep_their_state(tmp_path: Path) -> None:
    sums, products = RecordingSink(), RecordingSink()
    branches: list[Branch] = [
        lambda stream: keyed(stream).reduce(add).uid("sum").sink_to(sums).uid("sums"),
        lambda stream: keyed(stream).reduce(times).uid("product").sink_to(products).uid("products"),
    ]
    LocalJob(plan_of(*branches), tmp_path, cuts=11).step()
    LocalJob(plan_of(*reversed(branches)), tmp_path, cuts=11).run()
    assert sorted(sums.values()) == sorted((key, n) for n in range(1, 7) for key in "abcdefgh")
    assert sorted(products.values()) == sorted((key, 2**n) for n in range(6) for key in "abcdefgh")


def test_generated_uids_keep_state_where_it_belongs(tmp_path: Path) -> None:
    sums, products = RecordingSink(), RecordingSink()
    branches: list[Branch] = [
        lambda stream: keyed(stream).reduce(add).sink_to(sums).uid("sums"),
        lambda stream: keyed(stream).reduce(times).sink_to(products).uid("products"),
    ]
    LocalJob(plan_of(*branches), tmp_path, cuts=11).step()
    LocalJob(plan_of(*reversed(branches)), tmp_path, cuts=11).run()
    assert sorted(sums.values()) == sorted((key, n) for n in range(1, 7) for key in "abcdefgh")


def test_unpublished_output_goes_to_its_own_sink(tmp_path: Path) -> None:
    letters, numbers = RecordingSink(), RecordingSink()
    branches: list[Branch] = [
        lambda stream: stream.map(lambda pair: pair[0]).uid("l").sink_to(letters).uid("letters"),
        lambda stream: stream.map(lambda pair: pair[1]).uid("n").sink_to(numbers).uid("numbers"),
    ]
    job = LocalJob(plan_of(*branches), tmp_path, cuts=11)
    job.step()  # recorded and logged, and not published when the process dies
    assert letters.values() == []
    LocalJob(plan_of(*reversed(branches)), tmp_path, cuts=11).run()
    assert sorted(letters.values()) == sorted(key for key, _ in RECORDS)
    assert sorted(numbers.values()) == [number for _, number in RECORDS]


class Counting(MapFunction):
    def __init__(self) -> None:
        self.count = 0

    def map(self, value: Any) -> int:
        self.count += 1
        return self.count


def test_level_zero_state_and_channels_are_named(tmp_path: Path) -> None:
    first, second = RecordingSink(), RecordingSink()
    branches: list[Branch] = [
        lambda stream: stream.rebalance().map(lambda pair: pair).uid("m").sink_to(second).uid("s"),
        lambda stream: stream.map(Counting()).uid("count").sink_to(first).uid("f"),
    ]
    LocalJob(plan_of(*branches, parallelism=1), tmp_path, cuts=11).step()
    LocalJob(plan_of(*reversed(branches), parallelism=1), tmp_path, cuts=11).run()
    assert first.values() == list(range(1, len(RECORDS) + 1))
    assert second.values() == RECORDS
