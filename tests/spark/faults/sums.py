"""A keyed sum over a few batches that does something terrible to itself on the way.

Each fault happens once: a marker file tells that it has happened.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.coordinator.coordinator import Coordinator
from penstock.runtime.coordinator.publisher import Publisher
from penstock.runtime.coordinator.records import RecordLog

RECORDS = 300
KEYS = 6
BATCH = 30
#: Faults that strike where records are worked on; the others strike in the coordinator.
IN_A_TASK = ("none", "raise", "worker", "executor", "task")


def happens_now(marker: Path) -> bool:
    """Tell, once, that the fault is due."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def parent(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


class Sum(KeyedProcessFunction):
    """Sum up, and strike when the fatal record comes."""

    def __init__(self, fault: str, fatal: int, marker: Path, driver: int) -> None:
        self.fault = fault
        self.fatal = fatal
        self.marker = marker
        self.driver = driver
        #: An attribute is state too.
        self.seen = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(
        self, value: tuple[int, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[str]:
        key, number = value
        self.seen += 1
        total = (self.total.value() or 0) + number
        self.total.update(total)
        if number == self.fatal and self.fault in IN_A_TASK and happens_now(self.marker):
            self.strike()
        yield f"{key} {total}"

    def strike(self) -> None:
        if self.fault == "raise":
            raise RuntimeError("once")
        if self.fault == "worker":
            kill(os.getpid())
        if self.fault == "executor":
            daemon = os.getppid()
            kill(parent(daemon))
        if self.fault == "task":
            kill(self.driver)
            signal.pause()


def strike_in(owner: type, name: str, when: int, marker: Path, *, after: bool) -> None:
    """Kill this process when a method is called for the n-th time, before or after it works."""
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        due = calls == when and happens_now(marker)
        if due and not after:
            kill(os.getpid())
        result = original(self, *arguments, **options)
        if due:
            kill(os.getpid())
        return result

    setattr(owner, name, method)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("fault")
    parser.add_argument("--master", default="local[2,4]")
    parser.add_argument("--fatal", type=int, default=100)
    parser.add_argument("--backend", default="hashmap")
    options = parser.parse_args()
    marker = options.folder / f"{options.fault}.happened"
    if options.fault == "commit":
        strike_in(Coordinator, "commit", 2, marker, after=False)
    elif options.fault == "recorded":
        strike_in(Coordinator, "commit", 2, marker, after=True)
    elif options.fault == "publish":
        strike_in(Publisher, "publish", 3, marker, after=False)
    elif options.fault == "published":
        strike_in(RecordLog, "mark_published", 2, marker, after=False)

    configuration = Configuration()
    configuration.set_string("penstock.master", options.master)
    configuration.set_string("execution.checkpointing.dir", str(options.folder / "checkpoints"))
    configuration.set_string("penstock.batch.max-records", str(BATCH))
    configuration.set_string("state.backend.type", options.backend)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    records = [(n % KEYS, n) for n in range(RECORDS)]
    sums = (
        env.from_collection(records)
        .key_by(lambda record: record[0])
        .process(Sum(options.fault, options.fatal, marker, os.getpid()))
    )
    sums.write_as_text(str(options.folder / "sums"))
    env.execute("sums")


if __name__ == "__main__":
    main()
