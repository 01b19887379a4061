"""Random programs with every kind of state, whose results do not depend on the parallelism."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from penstock.cep import CEP, Pattern
from penstock.common import Configuration, Duration, Time, WatermarkStrategy
from penstock.core.functions import CheckpointedFunction
from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.core.windowing import (
    CountEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.datastream import (
    AggregateFunction,
    BroadcastProcessFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.unit.properties import functions as f
from tests.unit.testing.recording import RecordingSink

Pair = tuple[int, int]
RULES: MapStateDescriptor = MapStateDescriptor("rules")


class Total(AggregateFunction):
    mergeable = True

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Pair, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Content(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Pair]:
        window = context.window()
        yield key, (window.start * 3 + window.end + sum(_number(each) for each in elements)) % 997


class Newest(ProcessWindowFunction):
    """Say how many elements an evictor has left."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Pair]:
        yield key, len(list(elements))


def _number(element: Any) -> int:
    return element[1] if isinstance(element, tuple) else element


class Everything(KeyedProcessFunction):
    """Keep all kinds of keyed state, and answer at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        ttl = StateTtlConfig.new_builder(Time.days(1)).build()
        largest = ValueStateDescriptor("largest")
        largest.enable_time_to_live(ttl)
        self.largest = runtime_context.get_state(largest)
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b)
        )
        self.summed = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("summed", Total())
        )
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

    def process_element(self, value: Pair, ctx: Any) -> None:
        self.largest.update([max((self.largest.value() or [0])[0], value[1])])
        self.total.add(value[1])
        self.summed.add(value)
        self.seen.add([value[1]])
        self.counts.put(value[1] % 3, (self.counts.get(value[1] % 3) or 0) + 1)
        ctx.timer_service().register_event_time_timer(f.AT_THE_END)
        # Far away: it must not fire, but it must not get lost and be told of either.
        ctx.timer_service().register_processing_time_timer(10**14 + value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        counts = sum(name * count for name, count in self.counts.items())
        seen = sum(number for (number,) in self.seen.get())
        sums = self.total.get() + 7 * self.summed.get() + 11 * seen
        yield ctx.get_current_key(), sums + counts + (self.largest.value() or [0])[0]


class Hoarding(ProcessFunction, CheckpointedFunction):
    """Keep every second record in operator state, and send it on one record later."""

    def __init__(self) -> None:
        self.kept: list[Pair] = []

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("kept"))
        self.kept = list(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.kept)

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        yield from self.kept
        self.kept = []
        if value[1] % 2:
            yield value
        else:
            self.kept.append(value)


class Joined(ProcessJoinFunction):
    def process_element(self, left: Pair, right: Pair, ctx: Any) -> Iterator[Pair]:
        yield left[0], left[1] * 100 + right[1]


class Ruled(BroadcastProcessFunction):
    """Keep rules; what they are shows when records of the end meet them."""

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        yield value

    def process_broadcast_element(self, value: Pair, ctx: Any) -> None:
        state = ctx.get_broadcast_state(RULES)
        state.put(value[0], max(value[1], state.get(value[0]) or 0))


def windowed(assigner: Any, finish: Callable[[Any], DataStream]) -> Any:
    return lambda stream, number: finish(stream.key_by(f.key_of).window(assigner))


def matched(stream: DataStream, number: int) -> DataStream:
    """Find pairs of a record and two larger ones; those of the same time are in a fixed order."""
    pattern = Pattern.begin("low").followed_by("high").times(2).allow_combinations().within(14)
    pattern.where(
        lambda value, ctx: all(value[1] > low[1] for low in ctx.get_events_for_pattern("low"))
    )
    matches = CEP.pattern(
        stream.key_by(f.key_of), pattern, lambda left, right: (left > right) - (left < right)
    )
    return matches.select(lambda match: (match["low"][0][0], sum(v for _, v in match["high"])))


STEPS: dict[str, Any] = {
    "pattern": matched,
    "map": lambda stream, number: stream.map(f.Affine(number)),
    "rebalance": lambda stream, number: stream.rebalance().map(f.Affine(number)),
    "rescale": lambda stream, number: stream.rescale().filter(f.keep_most),
    "shuffle": lambda stream, number: stream.shuffle().map(f.Affine(number)),
    "global": lambda stream, number: stream.global_().map(f.Affine(number)),
    "final sum": lambda stream, number: stream.key_by(f.key_of).process(f.FinalSum()),
    "final list": lambda stream, number: stream.key_by(f.key_of).process(f.FinalList()),
    "final map": lambda stream, number: stream.key_by(f.key_of).process(f.FinalMap()),
    "everything": lambda stream, number: stream.key_by(f.key_of).process(Everything()),
    "reminder": lambda stream, number: stream.key_by(f.key_of).process(f.Reminder()),
    "tumbling": windowed(TumblingEventTimeWindows(5), lambda w: w.aggregate(Total(), Content())),
    "tumbling elements": windowed(TumblingEventTimeWindows(6), lambda w: w.process(Content())),
    "short sliding": windowed(SlidingEventTimeWindows(6, 2), lambda w: w.process(Content())),
    "slices": windowed(SlidingEventTimeWindows(32, 3), lambda w: w.aggregate(Total(), Content())),
    "sliced elements": windowed(SlidingEventTimeWindows(32, 4), lambda w: w.process(Content())),
    "sessions": windowed(EventTimeSessionWindows(3), lambda w: w.aggregate(Total(), Content())),
    "session elements": windowed(EventTimeSessionWindows(5), lambda w: w.process(Content())),
    "purging": windowed(
        EventTimeSessionWindows(7),
        lambda w: w.trigger(PurgingTrigger(EventTimeTrigger())).process(Content()),
    ),
    "evictor": windowed(
        TumblingEventTimeWindows(7), lambda w: w.evictor(CountEvictor(2)).process(Newest())
    ),
    "late": windowed(
        SlidingEventTimeWindows(30, 3),
        lambda w: w.allowed_lateness(9).aggregate(Total(), Content()),
    ),
}
SESSIONS = ("sessions", "session elements", "purging")
PAIRS: dict[str, Any] = {
    "union": lambda left, right: left.union(right),
    "connect": lambda left, right: left.connect(right).map(f.Either()),
    "final both": lambda left, right: (
        left.connect(right).key_by(f.key_of, f.key_of).process(f.FinalBoth())
    ),
    "interval join": lambda left, right: (
        left.key_by(f.key_of)
        .interval_join(right.key_by(f.key_of))
        .between(Time.milliseconds(-4), Time.milliseconds(5))
        .process(Joined())
    ),
    "broadcast state": lambda left, right: left.connect(right.broadcast(RULES)).process(Ruled()),
}


@dataclass(frozen=True)
class Program:
    sources: tuple[tuple[tuple[int, int, int], ...], ...]
    steps: tuple[tuple[str, int, int], ...]  # kind, number, which stream

    def build(self, parallelism: int) -> tuple[ExecutionPlan, list[RecordingSink]]:
        configuration = Configuration()
        configuration.set_string("penstock.watermark.records", "1")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        streams = [_source(env, list(records)) for records in self.sources]
        loose = list(streams)
        for kind, number, which in self.steps:
            first, second = streams[-1], streams[which % len(streams)]
            if kind == "side":
                main = first.process(f.ToSide())
                made, taken = [main, main.get_side_output(f.SIDE)], [first]
            elif kind in PAIRS:
                second = second.map(f.Affine(1)) if first is second else second
                made, taken = [PAIRS[kind](first, second)], [first, second]
            else:
                made, taken = [STEPS[kind](first, number)], [first]
            loose = [s for s in loose if not any(s is other for other in taken)] + made
            streams += made
        sinks = [RecordingSink() for _ in loose]
        for stream, sink in zip(loose, sinks, strict=True):
            stream.sink_to(sink)
        return build_plan(env), sinks


def _source(env: StreamExecutionEnvironment, records: list[Any]) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(0)
    ).with_timestamp_assigner(lambda record, _: record[2])
    stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
    stream = stream.map(lambda record: (record[0], record[1]))
    return stream


def programs() -> st.SearchStrategy[Program]:
    # Even times, and sessions with odd gaps: whether two that touch become one depends on when the
    # watermark comes.
    one = st.tuples(st.integers(0, 6), st.integers(0, 50), st.integers(0, 20).map(lambda n: 2 * n))
    many = st.lists(one, min_size=4, max_size=14).map(
        lambda found: tuple(sorted(found, key=lambda record: record[2]))
    )
    kinds = [*STEPS, *PAIRS, "side"]
    first = st.tuples(st.sampled_from(kinds), st.integers(0, 3), st.integers(0, 5))
    others = [kind for kind in kinds if kind not in SESSIONS]
    step = st.tuples(st.sampled_from(others), st.integers(0, 3), st.integers(0, 5))
    steps = st.tuples(first, st.lists(step, max_size=3)).map(lambda drawn: (drawn[0], *drawn[1]))
    return st.builds(Program, st.lists(many, min_size=1, max_size=2).map(tuple), steps)


def results(sinks: list[RecordingSink]) -> list[list[Any]]:
    return [sorted(sink.values()) for sink in sinks]


def run(plan: ExecutionPlan, cuts: int = 3, **options: Any) -> None:
    with tempfile.TemporaryDirectory() as directory:
        LocalJob(plan, directory, cuts=cuts, poll_ms=0, **options).run()
