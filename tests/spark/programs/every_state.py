"""Random functions over every kind of state, and patterns that are matched over many batches.

The driver dies in mid-job if it is told to.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from penstock.cep import CEP, Pattern
from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.datastream import MapFunction, OutputTag, StreamExecutionEnvironment
from tests.unit.process.random_functions import (
    RULES,
    SIDE,
    RandomBroadcastFunction,
    RandomCoFunction,
    RandomFunction,
)

HOUR = 3_600_000
UNMATCHED = OutputTag("unmatched")
RECORDS = [((n * 7) % 5, (n * 31) % 100, n * 3 + (n * 5) % 7) for n in range(240)]
RULE_RECORDS = [(n % 3, (n * 17) % 50, n * 24) for n in range(30)]


class Fatal(MapFunction):
    """Kill the driver, once, when a record comes."""

    def __init__(self, marker: Path, driver: int) -> None:
        self.marker = marker
        self.driver = driver

    def map(self, value: Any) -> Any:
        if value == RECORDS[130] and self.marker.exists():
            self.marker.unlink()
            os.kill(self.driver, signal.SIGKILL)
            signal.pause()
        return value


def build(env: StreamExecutionEnvironment, fatal: Fatal) -> list[Any]:
    """Return the streams whose records are the program's output."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[2])
    records = env.from_collection(RECORDS).assign_timestamps_and_watermarks(strategy)
    rules = env.from_collection(RULE_RECORDS).assign_timestamps_and_watermarks(strategy)
    records.set_parallelism(1)
    rules.set_parallelism(1)
    keyed = records.key_by(key_of)
    results = [
        keyed.process(RandomFunction(1, None, False)),
        keyed.process(RandomFunction(2, HOUR, False)),
        keyed.connect(rules.key_by(key_of)).process(RandomCoFunction(3, HOUR, False)),
        keyed.connect(rules.broadcast(RULES)).process(RandomBroadcastFunction(4, HOUR, False)),
        records.rebalance().map(fatal).filter(nothing),
        CEP.pattern(keyed, peaks()).select(UNMATCHED, lambda match, time: (match, time), dict),
    ]
    return [*results, results[0].get_side_output(SIDE), results[-1].get_side_output(UNMATCHED)]


def peaks() -> Pattern:
    """Return a pattern whose matches span several batches."""
    low = Pattern.begin("low").where(lambda record: record[1] < 30).one_or_more()
    high = low.followed_by_any("high").where(lambda record: record[1] > 80)
    return high.within(Duration.of_millis(150))


def key_of(record: Any) -> int:
    return record[0]


def nothing(record: Any) -> bool:
    return False


def environment(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", "20")
    configuration.set_string("penstock.watermark.records", "1")
    for key, value in settings.items():
        configuration.set_string(key.replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("target")
    parser.add_argument("backend")
    options = parser.parse_args()
    folder: Path = options.folder
    env = environment(
        execution_target=options.target,
        execution_checkpointing_dir=str(folder / "checkpoints"),
        penstock_master="local[2]",
        state_backend_type=options.backend,
    )
    for number, stream in enumerate(build(env, Fatal(folder / "fatal", os.getpid()))):
        stream.map(repr).write_as_text(str(folder / f"result{number}"))
    env.execute("every state")


if __name__ == "__main__":
    main()
