"""Programs of any length: what a user can write down in a loop, a job can run."""

from __future__ import annotations

from typing import Any

from penstock.datastream import StreamExecutionEnvironment
from tests.unit.process.jobs import run

#: More than Python allows calls inside calls by default.
LONG = 1200


def test_a_chain_of_many_maps() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection([1, 2])
        for _ in range(LONG):
            stream = stream.map(lambda number: number + 1)
        return stream

    assert run(build) == [LONG + 1, LONG + 2]


def test_a_chain_of_all_that_can_be_chained() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0]).sum(1)
        for _ in range(300):
            stream = stream.flat_map(lambda pair: [pair, pair]).filter(Alternate())
        return stream

    assert run(build) == [("a", 1), ("a", 3)]


class Alternate:
    """Let every second record pass."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, value: Any) -> bool:
        self.count += 1
        return self.count % 2 == 0


def test_many_unions_inside_each_other() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        source = env.from_collection([1])
        stream = source
        for _ in range(LONG):
            stream = stream.union(source.map(lambda number: number + 1))
        return stream

    assert sum(run(build)) == 2 * LONG + 1


def test_many_exchanges_in_a_row() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection([1, 2])
        for _ in range(300):
            stream = stream.rebalance().map(lambda number: number + 1)
        return stream

    assert sorted(run(build, parallelism=2)) == [301, 302]
