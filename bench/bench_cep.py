"""How fast patterns are matched, and how much state they keep.

Two patterns over the events of many keys, of which one in ten belongs to a given stage: `two-stage`
(an event followed by another within a time) and `looping` (an event, one or more others, and an
end). The job runs in this process, in one thread: reading, the exchange between the two levels, and
writing what changed to the log of the state are all counted. Printed after each batch: events a
second of CPU time, keys with state, the weight of the state and of its log.

    python -m bench.bench_cep --pattern two-stage --events 1000000 --keys 1000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

from bench.bench_window_state import state_of
from penstock.cep import CEP, Pattern
from penstock.common import WatermarkStrategy
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.testing.local_executor import LocalJob

KINDS = 10


def two_stage() -> Pattern:
    start = Pattern.begin("start").where(lambda event: event[1] == 1)
    return start.followed_by("end").where(lambda event: event[1] == 2)


def looping() -> Pattern:
    start = Pattern.begin("start").where(lambda event: event[1] == 1)
    steps = start.followed_by("step").where(lambda event: event[1] == 2).one_or_more()
    return steps.followed_by("end").where(lambda event: event[1] == 3)


PATTERNS = {"two-stage": two_stage, "looping": looping}


def event(number: int, keys: int) -> tuple[int, int, int]:
    """Return key, kind and time of an event; keys and kinds are spread, times rise."""
    mixed = number * 2_654_435_761 % 2**32
    return mixed % keys, (mixed >> 16) % KINDS, number


def build(pattern: Pattern, events: int, keys: int) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda each, _: each[2]
    )
    numbers = env.from_source(
        NumberSequenceSource(0, events - 1), WatermarkStrategy.no_watermarks(), "numbers"
    )
    stream = numbers.map(lambda number: event(number, keys))
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda each: each[0])
    found = CEP.pattern(keyed, pattern.within(keys * 20)).select(len)
    found.filter(lambda count: False).print()
    return build_plan(env)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pattern", choices=PATTERNS, default="two-stage")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=10)
    arguments = parser.parse_args()
    plan = build(PATTERNS[arguments.pattern](), arguments.events, arguments.keys)
    size = arguments.events // arguments.batches
    print(f"{'batch':>5} {'events/s':>9} {'keys':>6} {'state KB':>9} {'log KB':>7}")
    with tempfile.TemporaryDirectory() as folder:
        job = LocalJob(plan, folder, cuts=size, poll_ms=0)
        for number in range(arguments.batches):
            started = time.process_time()
            job.step()
            seconds = time.process_time() - started
            store = job.stores[1, 0]
            entries, _, weight = state_of(plan, store)
            log = sum(map(len, store.entries.values()))
            print(
                f"{number + 1:>5} {size / seconds:>9,.0f} {entries:>6} {weight / 1024:>9.0f} "
                f"{log / 1024:>7.0f}",
                flush=True,
            )
        job.close()


if __name__ == "__main__":
    main()
