"""Random functions over every kind of state: replays, cuts and changes of worker change nothing."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from tests.unit.process.jobs import environment
from tests.unit.process.random_functions import (
    RULES,
    SIDE,
    RandomBroadcastFunction,
    RandomCoFunction,
    RandomFunction,
)
from tests.unit.properties.runs import make_cuts, run_plainly, run_with_trouble
from tests.unit.testing.recording import RecordingSink

slowly = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

ONE = st.tuples(st.integers(0, 3), st.integers(0, 99), st.integers(0, 60))
RECORDS = st.lists(ONE, min_size=3, max_size=20)
SEEDS = st.integers(0, 10**6)
KINDS = ("one", "two", "broadcast")


class Program:
    """A program around a random function, and where its output goes."""

    def __init__(
        self, kind: str, inputs: list[list[Any]], parallelism: int, function: tuple[Any, ...]
    ) -> None:
        env = environment(parallelism)
        streams = [_stream(env, records) for records in inputs]
        result = _connect(kind, streams, function)
        self.sinks = [RecordingSink(), RecordingSink()]
        result.sink_to(self.sinks[0])
        result.get_side_output(SIDE).sink_to(self.sinks[1])
        self.plan: ExecutionPlan = build_plan(env)

    def output(self) -> list[dict[int, list[Any]]]:
        return [sink.by_subtask() for sink in self.sinks]


def _stream(env: StreamExecutionEnvironment, records: list[Any]) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[2])
    stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
    return stream.set_parallelism(1)


def _connect(kind: str, streams: list[DataStream], function: tuple[Any, ...]) -> DataStream:
    keyed = streams[0].key_by(lambda record: record[0])
    if kind == "one":
        return keyed.process(RandomFunction(*function))
    if kind == "two":
        other = streams[1].key_by(lambda record: record[0])
        return keyed.connect(other).process(RandomCoFunction(*function))
    return keyed.connect(streams[1].broadcast(RULES)).process(RandomBroadcastFunction(*function))


@slowly
@given(
    st.sampled_from(KINDS), st.tuples(RECORDS, RECORDS), st.integers(1, 3), SEEDS,
    st.sampled_from([None, 15, 35]),
)  # fmt: skip
def test_replays_on_any_worker_are_exactly_equal(
    kind: str, inputs: Any, parallelism: int, seed: int, ttl: int | None
) -> None:
    expected, troubled = (Program(kind, inputs, parallelism, (seed, ttl, True)) for _ in range(2))
    cuts = make_cuts(seed)
    state = run_plainly(expected.plan, cuts)
    after_trouble = run_with_trouble(troubled.plan, cuts, random.Random(seed))
    assert troubled.output() == expected.output()
    assert after_trouble == state


@slowly
@given(RECORDS, st.integers(1, 3), SEEDS, SEEDS)
def test_cuts_are_exactly_equal_where_there_is_one_channel(
    records: Any, parallelism: int, seed: int, other_seed: int
) -> None:
    programs = [Program("one", [records], parallelism, (seed, None, False)) for _ in range(3)]
    for program, cuts in zip(
        programs, (None, make_cuts(seed), make_cuts(other_seed, 2)), strict=True
    ):
        run_plainly(program.plan, cuts)
    whole, cut, cut_otherwise = (program.output() for program in programs)
    assert cut == whole
    assert cut_otherwise == whole
