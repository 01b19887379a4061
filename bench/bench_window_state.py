"""How much state long sliding windows keep: a day of windows of one hour, one every ten seconds.

Each of the keys has a record every so many seconds, of which the window keeps sum and number. The
job runs in this process, one batch for every hour of event time. Printed after each batch: entries
of keyed state, pending timers, the weight of that state, and the weight of the log that a slot
keeps in Spark's state store, which holds the state and what changed since it was last written.

    python bench/bench_window_state.py --hours 24 --keys 1000 --every 60
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

from penstock.common import Time, WatermarkStrategy
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.core.functions import AggregateFunction
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import SlidingEventTimeWindows
from penstock.runtime.codec import dumps
from penstock.runtime.state.keyed_backend import TIMER_KINDS
from penstock.runtime.state.log import SlotLog
from penstock.runtime.task import Task
from penstock.testing.local_executor import DictSlotStore, LocalJob


class Mean(AggregateFunction):
    mergeable = True

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def build(hours: int, keys: int, every: int) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    records = hours * 3600 // every * keys
    step = every * 1000 / keys
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda number, _: int(number * step)
    )
    numbers = env.from_source(NumberSequenceSource(0, records - 1), strategy, "numbers")
    windows = numbers.key_by(lambda number: number % keys).window(
        SlidingEventTimeWindows.of(Time.hours(1), Time.seconds(10))
    )
    windows.aggregate(Mean()).filter(lambda mean: False).print()
    return build_plan(env), records // hours


def state_of(plan: Any, store: DictSlotStore) -> tuple[int, int, int]:
    """Return entries of keyed state, timers, and the weight of both."""
    task = Task(plan, plan.at_level(1), 1, 0, (1, 0))
    SlotLog().catch_up(store.copy(), task)
    entries = timers = weight = 0
    for _, _, kind, keys, dump in task.inventory():
        weight += len(dumps(dump(keys)))
        if kind in TIMER_KINDS:
            timers += len(keys)
        else:
            entries += len(keys)
    return entries, timers, weight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--every", type=int, default=60, help="seconds between records of a key")
    arguments = parser.parse_args()
    plan, hour = build(arguments.hours, arguments.keys, arguments.every)
    print(f"{'hour':>4} {'entries':>9} {'timers':>7} {'state KB':>9} {'log KB':>9} {'seconds':>8}")
    with tempfile.TemporaryDirectory() as folder:
        job = LocalJob(plan, folder, cuts=hour, poll_ms=0)
        for number in range(arguments.hours):
            started = time.perf_counter()
            job.step()
            seconds = time.perf_counter() - started
            store = job.stores[1, 0]
            entries, timers, weight = state_of(plan, store)
            log = sum(map(len, store.entries.values()))
            print(
                f"{number + 1:>4} {entries:>9} {timers:>7} {weight / 1024:>9.0f} "
                f"{log / 1024:>9.0f} {seconds:>8.1f}",
                flush=True,
            )
        job.close()


if __name__ == "__main__":
    main()
