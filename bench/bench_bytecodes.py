"""How much Python code does a record run through? Counted, so that a busy machine is no matter.

Programs run in this process with no engine, at two sizes; printed is what each further record
costs in bytecodes of the interpreter. Work inside C functions counts as the one call that it is.
Another commit is compared by its sources in front of the path:

    python bench/bench_bytecodes.py
    PYTHONPATH=/elsewhere/src python bench/bench_bytecodes.py value timers
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common import Configuration, Duration, Watermark, WatermarkStrategy
from penstock.common.watermark_generators import WatermarkGenerator
from penstock.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import TumblingEventTimeWindows

KEYS = 500
SIZES = (2_000, 6_000)


class Value(KeyedProcessFunction):
    """Count in a ValueState."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)


class Pair(Value):
    """Keep a tuple in a ValueState."""

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update(((self.count.value() or (0, ""))[0] + 1, "x"))


class Map(KeyedProcessFunction):
    """Count in a MapState."""

    def open(self, runtime_context: Any) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.counts.put(value % 7, (self.counts.get(value % 7) or 0) + 1)


class List(KeyedProcessFunction):
    """Add to a ListState."""

    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.kept.add(value)


class Timers(KeyedProcessFunction):
    """Set a timer for each hundred milliseconds of a key."""

    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value // 100 * 100 + 99)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield from ()


class AfterEach(WatermarkGenerator[int]):
    """Give a watermark after every record."""

    def on_event(self, event: int, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing is left to say."""


def timed(stream: DataStream, strategy: WatermarkStrategy | None = None) -> DataStream:
    """Take the records for their own timestamps."""
    strategy = strategy or WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, _: value)
    )


def by_key(stream: DataStream) -> Any:
    """Spread the records over the keys."""
    return stream.key_by(lambda value: value % KEYS)


WORKLOADS: dict[str, Callable[[DataStream], DataStream]] = {
    "value": lambda stream: by_key(stream).process(Value()),
    "pair": lambda stream: by_key(stream).process(Pair()),
    "map": lambda stream: by_key(stream).process(Map()),
    "list": lambda stream: by_key(stream).process(List()),
    "timers": lambda stream: by_key(timed(stream)).process(Timers()),
    "timers, a watermark after each record": lambda stream: by_key(
        timed(stream, WatermarkStrategy.for_generator(lambda context: AfterEach()))
    ).process(Timers()),
    "window": lambda stream: (
        by_key(timed(stream))
        .window(TumblingEventTimeWindows.of(Duration.of_millis(1000)))
        .reduce(lambda one, other: one + other)
    ),
    "reduce": lambda stream: by_key(stream).reduce(lambda one, other: one + other),
}


def build(workload: str, records: int, batch: int) -> StreamExecutionEnvironment:
    """Return an environment with a program that is ready to run."""
    configuration = Configuration()
    configuration.set_string("execution.target", "in-process")
    configuration.set_string("penstock.batch.max-records", str(batch))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    stream = WORKLOADS[workload](env.from_collection(range(records)))
    stream.filter(lambda value: False).print()
    return env


def bytecodes(env: StreamExecutionEnvironment) -> int:
    """Return how many bytecodes a program takes, on whatever threads it runs."""
    count = 0

    def on_opcode(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
        return on_opcode

    def on_call(frame: Any, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return on_opcode

    threading.settrace(on_call)
    sys.settrace(on_call)
    try:
        env.execute("counted")
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    return count


def main() -> int:
    """Print what a record of each workload costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument(
        "--batch", type=int, default=2_000, help="records of a batch, which share what it costs"
    )
    options = parser.parse_args()
    for workload in options.workloads or WORKLOADS:
        build(workload, 100, options.batch).execute(workload)  # what is imported and compiled once
        few, many = (bytecodes(build(workload, size, options.batch)) for size in SIZES)
        print(f"{workload}: {(many - few) / (SIZES[1] - SIZES[0]):.1f} bytecodes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
