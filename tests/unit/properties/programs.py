"""Random programs: how they are described, drawn and built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from tests.unit.properties import functions as f
from tests.unit.testing.recording import RecordingSink

Build = Callable[[DataStream, int], DataStream]
BuildBoth = Callable[[DataStream, DataStream], DataStream]


def keyed(function: type) -> Build:
    return lambda stream, number: stream.key_by(f.key_of).process(function())


#: Steps of one stream whose results do not depend on how several inputs interleave.
SETTLED: dict[str, Build] = {
    "map": lambda stream, number: stream.map(f.Affine(number)),
    "filter": lambda stream, number: stream.filter(f.keep_most),
    "flat_map": lambda stream, number: stream.flat_map(f.repeat),
    "rebalance": lambda stream, number: stream.rebalance().map(f.Affine(number)),
    "rescale": lambda stream, number: stream.rescale().map(f.Affine(number)),
    "shuffle": lambda stream, number: stream.shuffle().map(f.Affine(number)),
    "global": lambda stream, number: stream.global_().map(f.Affine(number)),
    "broadcast": lambda stream, number: stream.broadcast().map(f.Affine(number)),
    "custom": lambda stream, number: stream.partition_custom(f.by_value, f.key_of).map(
        f.Affine(number)
    ),
    "final sum": keyed(f.FinalSum),
    "final list": keyed(f.FinalList),
    "final map": keyed(f.FinalMap),
    "reminder": keyed(f.Reminder),
}
#: Steps of one stream that answer as records come.
RUNNING: dict[str, Build] = {
    "counting map": lambda stream, number: stream.map(f.CountingMap()),
    "reduce": lambda stream, number: stream.key_by(f.key_of).reduce(f.add),
    "running value": keyed(f.RunningValue),
    "running list": keyed(f.RunningList),
    "running map": keyed(f.RunningMap),
    "event timers": keyed(f.EventTimers),
}
#: Steps that depend on processing time, and so on the cuts.
TIMED: dict[str, Build] = {"processing timers": keyed(f.ProcessingTimers)}
#: Steps of two streams.
SETTLED_PAIRS: dict[str, BuildBoth] = {
    "union": lambda left, right: left.union(right),
    "connect": lambda left, right: left.connect(right).map(f.Either()),
    "final both": lambda left, right: (
        left.connect(right).key_by(f.key_of, f.key_of).process(f.FinalBoth())
    ),
}
RUNNING_PAIRS: dict[str, BuildBoth] = {
    "running both": lambda left, right: (
        left.connect(right).key_by(f.key_of, f.key_of).process(f.RunningBoth())
    ),
}
BUILD: dict[str, Build] = {**SETTLED, **RUNNING, **TIMED}
BUILD_BOTH: dict[str, BuildBoth] = {**SETTLED_PAIRS, **RUNNING_PAIRS}
#: Those that leave every exchange one input channel, if there is one source in one subtask.
ONE_CHANNEL = [*RUNNING, *(kind for kind in SETTLED if kind != "broadcast")]
SIDE_STEP = "side"


@dataclass(frozen=True)
class Step:
    """One call: its kind, which of the streams made so far it takes, and a number to play with."""

    kind: str
    streams: tuple[int, int] = (-1, -1)
    number: int = 0


@dataclass(frozen=True)
class Program:
    """A whole program. Records are (key, number, event time)."""

    sources: tuple[tuple[tuple[int, int, int], ...], ...]
    steps: tuple[Step, ...]
    parallelism: int
    #: How far event times may be out of order; None: records have no event time.
    disorder: int | None = None
    #: Parallelism of the last step and the sink behind it.
    last_parallelism: int | None = None


@dataclass
class Built:
    """A program ready to run, and where its output goes."""

    plan: ExecutionPlan
    sinks: list[RecordingSink] = field(default_factory=list)

    def by_subtask(self) -> list[dict[int, list[Any]]]:
        return [sink.by_subtask() for sink in self.sinks]

    def as_multisets(self) -> list[list[Any]]:
        return [sorted(sink.values()) for sink in self.sinks]


def build(program: Program) -> Built:
    """Write the program down in the API; every stream that nobody takes ends in a sink."""
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(program.parallelism)
    streams = [_source(env, program, list(records)) for records in program.sources]
    loose = list(streams)
    for step in program.steps:
        taken, made = _apply(step, streams)
        loose = [stream for stream in loose if not any(stream is other for other in taken)]
        loose += made
        streams += made
    sinks = []
    for stream in loose:
        if program.last_parallelism is not None:
            stream.set_parallelism(program.last_parallelism)
        sinks.append(RecordingSink())
        end = stream.sink_to(sinks[-1])
        if program.last_parallelism is not None:
            end.set_parallelism(program.last_parallelism)
    return Built(build_plan(env), sinks)


def _source(env: StreamExecutionEnvironment, program: Program, records: list[Any]) -> DataStream:
    stream = env.from_collection(records)
    if program.disorder is not None:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(program.disorder)
        ).with_timestamp_assigner(lambda record, _: record[2])
        stream = stream.assign_timestamps_and_watermarks(strategy)
        stream.set_parallelism(1)
    stream = stream.map(lambda record: (record[0], record[1]))
    stream.set_parallelism(1)
    return stream


def _apply(step: Step, streams: list[DataStream]) -> tuple[list[DataStream], list[DataStream]]:
    first, second = (streams[index % len(streams)] for index in step.streams)
    if step.kind == SIDE_STEP:
        main = first.process(f.ToSide())
        return [first], [main, main.get_side_output(f.SIDE)]
    if step.kind in BUILD_BOTH:
        if first is second:
            second = second.map(f.Affine(1))
        return [first, second], [BUILD_BOTH[step.kind](first, second)]
    return [first], [BUILD[step.kind](first, step.number)]


def records(in_order: bool = False) -> st.SearchStrategy[tuple[tuple[int, int, int], ...]]:
    one = st.tuples(st.integers(0, 4), st.integers(0, 50), st.integers(0, 40))
    # Seldom empty: an empty input hides everything that stands behind it.
    many = st.lists(one, min_size=4, max_size=16) | st.lists(one, max_size=2)
    if in_order:
        many = many.map(lambda found: sorted(found, key=lambda record: record[2]))
    return many.map(tuple)


def steps(kinds: list[str]) -> st.SearchStrategy[tuple[Step, ...]]:
    # Most often the latest stream: programs should grow long rather than broad.
    stream = st.sampled_from([-1, -1, -1, -2, 0])
    streams = st.tuples(stream, st.sampled_from([-2, 0, 1]))
    one = st.builds(Step, st.sampled_from(kinds), streams, st.integers(0, 3))
    return st.lists(one, min_size=2, max_size=6).map(tuple)


def any_program() -> st.SearchStrategy[Program]:
    """Draw from everything there is."""
    return st.builds(
        Program,
        st.lists(records(), min_size=1, max_size=3).map(tuple),
        steps([*BUILD, *BUILD_BOTH, SIDE_STEP]),
        st.integers(1, 3),
        st.sampled_from([None, 0, 5]),
    )


def settled_program() -> st.SearchStrategy[Program]:
    """Draw programs whose results do not depend on how their inputs interleave."""
    return st.builds(
        Program,
        st.lists(records(in_order=True), min_size=1, max_size=3).map(tuple),
        steps([*SETTLED, *SETTLED_PAIRS, SIDE_STEP]),
        st.integers(1, 3),
        st.just(0),
    )


def one_channel_program() -> st.SearchStrategy[Program]:
    """Draw programs in which every exchange has one input channel."""
    kinds = st.sampled_from(ONE_CHANNEL)
    chain = st.lists(st.builds(Step, kinds, number=st.integers(0, 3)), min_size=2, max_size=6)
    return st.builds(
        Program,
        st.tuples(records()),
        chain.map(tuple),
        st.just(1),
        st.sampled_from([None, 0, 5]),
        st.sampled_from([None, 1, 3]),
    )
