"""A random program, drawn from a seed: keyed state, timers, windows, union, connect, broadcast.

As a script it runs programs on Spark, each until it has finished, as it is told on standard input.
`right_lines` runs one in this process with no engine, to learn what is right. Whatever the cut
into batches, a program's output is the same set of lines.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows

#: (key, number, time in milliseconds)
Record = tuple[str, int, int]
RULES = MapStateDescriptor("rules")
KEYS = "abcdefg"


class Sums(KeyedProcessFunction):
    """Number the records of a key and add them up: a record lost or doubled changes all behind."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        count, total = self.held.value() or (0, 0)
        self.held.update((count + 1, total + value[1]))
        yield value[0], total + value[1], value[2]


class Timers(KeyedProcessFunction):
    """Tell the number of a key's records when time has passed each hundred milliseconds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

    def process_element(self, value: Record, ctx: Any) -> None:
        end = value[2] // 100 * 100 + 99
        self.counts.put(end, (self.counts.get(end) or 0) + 1)
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Record]:
        yield ctx.get_current_key(), self.counts.get(timestamp) or 0, timestamp
        self.counts.remove(timestamp)


class Ruled(BroadcastProcessFunction):
    """Pass records on. What a rule does to them depends on how inputs interleave, so none does."""

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        yield value

    def process_broadcast_element(self, value: Record, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


class Both(CoMapFunction):
    def map1(self, value: Record) -> Record:
        return value

    def map2(self, value: Record) -> Record:
        return value[0], -value[1], value[2]


def key_of(record: Record) -> str:
    return record[0]


def windowed(stream: DataStream) -> DataStream:
    window = TumblingEventTimeWindows.of(Duration.of_millis(50))
    return stream.key_by(key_of).window(window).reduce(
        lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2]))
    )  # fmt: skip


def connected(stream: DataStream) -> DataStream:
    return stream.connect(stream.filter(lambda record: record[1] % 3 == 0)).map(Both())


def ruled(stream: DataStream) -> DataStream:
    return stream.connect(stream.filter(lambda r: r[1] % 50 == 0).broadcast(RULES)).process(Ruled())


STEPS: list[Callable[[DataStream], DataStream]] = [
    lambda stream: stream.key_by(key_of).process(Timers()),
    windowed,
    connected,
    ruled,
    lambda stream: stream.rebalance().map(lambda r: (r[0], r[1] + 1, r[2])),
    lambda stream: stream.union(stream.map(lambda r: (r[0], r[1] * 2, r[2]))),
]


def build(env: StreamExecutionEnvironment, seed: int, pace: float) -> DataStream:
    chance = random.Random(seed)
    count = 600
    records = [(chance.choice(KEYS), chance.randint(0, 99), n * 2) for n in range(count)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20))
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[2])

    def slowly(record: Record) -> Record:
        time.sleep(pace)
        return record

    # In one subtask up to here: so the order within a key is the collection's own.
    stream = env.from_collection(records).map(slowly).set_parallelism(1)
    stream = stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    stream = stream.key_by(key_of).process(Sums())
    for step in chance.sample(STEPS, chance.randint(1, 3)):
        stream = step(stream)
    return stream.map(repr)


def environment(settings: dict[str, str]) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def right_lines(seed: int) -> list[str]:
    """Return what the program must write, from a run that nothing happens to."""
    with tempfile.TemporaryDirectory() as folder:
        env = environment({"execution.target": "in-process"})
        build(env, seed, 0).write_as_text(f"{folder}/out")
        env.execute("right")
        return lines_of(Path(folder) / "out")


def lines_of(folder: Path) -> list[str]:
    return sorted(line for path in folder.iterdir() for line in path.read_text().splitlines())


def run(seed: int, folder: Path, master: str) -> None:
    """Execute the program of a seed on Spark, once or once more."""
    env = environment(
        {
            "penstock.master": master,
            "state.backend.type": ("hashmap", "rocksdb")[seed % 2],
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.checkpointing.interval": "50 ms",
            "penstock.batch.max-records": "40",
            "restart-strategy.exponential-delay.initial-backoff": "100 ms",
        }
    )
    build(env, seed, 0.002).write_as_text(str(folder / "out"))
    env.execute(f"chaos {seed}")


def main() -> None:
    """Run what is asked for on standard input, one program a line; answer in files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("master")
    parser.add_argument("answers", type=Path)
    options = parser.parse_args()
    for line in sys.stdin:
        task = json.loads(line)
        if task["forks"]:
            context = multiprocessing.get_context("fork")
            context.Process(target=time.sleep, args=(20,), daemon=True).start()
        told = ""
        try:
            run(task["seed"], Path(task["folder"]), options.master)
        except Exception as error:
            traceback.print_exc()
            told = f"{type(error).__name__}: {error}"
        answer = options.answers / str(task["seed"])
        answer.with_suffix(".new").write_text(told)
        answer.with_suffix(".new").rename(answer)


if __name__ == "__main__":
    main()
