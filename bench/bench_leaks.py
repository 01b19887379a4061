"""What grows with the jobs of a process, with the batches of a job, and with time in an idle one.

    python -m bench.bench_leaks [--jobs 40] [--batches 5000] [--idle 3600] [--every 5]

Jobs are a keyed count, and a word count over data sets, in turns. The job of many batches is a
keyed count with a few records in each; the idle one waits for files that never come. Told from
time to time: memory, threads and open files of this process and of the JVM, memory and number of
the workers, files in the temporary folder.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import psutil

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.dataset import ExecutionEnvironment
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.execution.process_folder import process_folder

_PER_BATCH = 20


@dataclass(frozen=True)
class Snapshot:
    """What a process holds, with everything below it. Memory in MB."""

    memory: int
    threads: int
    files: int
    jvm_memory: int
    jvm_threads: int
    jvm_files: int
    workers: int
    worker_memory: int
    temporary_files: int

    @staticmethod
    def take() -> Snapshot:
        """Look at this process and its children now."""
        gc.collect()
        here = psutil.Process()
        jvm: list[psutil.Process] = []
        workers: list[int] = []
        for child in here.children(recursive=True):
            try:
                if "java" in child.name():
                    jvm.append(child)
                else:
                    workers.append(child.memory_info().rss)
            except psutil.Error:
                continue  # it has ended meanwhile
        folder = process_folder().path
        return Snapshot(
            memory=here.memory_info().rss >> 20,
            threads=here.num_threads(),
            files=here.num_fds(),
            jvm_memory=sum(each.memory_info().rss for each in jvm) >> 20,
            jvm_threads=sum(each.num_threads() for each in jvm),
            jvm_files=sum(each.num_fds() for each in jvm),
            workers=len(workers),
            worker_memory=max(workers, default=0) >> 20,
            temporary_files=sum(len(names) for _, _, names in os.walk(folder)),
        )


def environment(settings: dict[str, str]) -> StreamExecutionEnvironment:
    """Return an environment with some settings."""
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def keyed_count(records: int, settings: dict[str, str]) -> None:
    """Run a job that counts by key."""
    env = environment(settings)
    source = NumberSequenceSource(0, records - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counted = numbers.map(lambda n: (n % 10, 1)).key_by(lambda pair: pair[0])
    counted.reduce(lambda a, b: (a[0], a[1] + b[1])).filter(lambda pair: False).print()
    env.execute("keyed count")


def word_count(settings: dict[str, str]) -> None:
    """Run a job over data sets."""
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = ExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    words = env.from_collection([f"w{n % 7}" for n in range(200)]).map(lambda word: (word, 1))
    assert len(words.group_by(0).sum(1).collect()) == 7


def over_jobs(
    jobs: int, every: int, settings: dict[str, str], tell: Callable[[int, Snapshot], None]
) -> None:
    """Run jobs one after the other, and look at the process every few of them."""
    for number in range(1, jobs + 1):
        if number % 2:
            keyed_count(100, settings)
        else:
            word_count(settings)
        if number % every == 0:
            tell(number, Snapshot.take())


def over_batches(batches: int, tell: Callable[[int, Snapshot], None], seconds: float) -> None:
    """Run one job of many batches, and look at the process from time to time."""
    ended = threading.Event()
    began = time.monotonic()

    def watch() -> None:
        while not ended.wait(seconds):
            tell(int(time.monotonic() - began), Snapshot.take())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        few = {"penstock.batch.max-records": str(_PER_BATCH)}
        keyed_count(batches * _PER_BATCH, few)
    finally:
        ended.set()
        watcher.join()
    tell(int(time.monotonic() - began), Snapshot.take())


def while_idle(seconds: float, every: float, tell: Callable[[int, Snapshot], None]) -> None:
    """Run a job that nothing comes to, and look at the process from time to time."""
    with tempfile.TemporaryDirectory(prefix="bench-leaks-") as folder:
        env = environment({})
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder)
        source = lines.monitor_continuously(Duration.of_seconds(1)).build()
        words = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
        words.key_by(len).reduce(lambda one, other: one + other).print()
        client = env.execute_async("idle")
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            time.sleep(min(every, seconds - passed))
            tell(int(time.monotonic() - began), Snapshot.take())
        client.cancel().result()


def _table(first: str) -> Callable[[int, Snapshot], None]:
    names = [first, *(field.name.replace("_", " ") for field in fields(Snapshot))]
    print("| " + " | ".join(names) + " |")
    print("|" + " --- |" * len(names))

    def tell(number: int, snapshot: Snapshot) -> None:
        print("| " + " | ".join(map(str, (number, *astuple(snapshot)))) + " |", flush=True)

    return tell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--batches", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=60.0, help="between looks at one job")
    parser.add_argument("--idle", type=float, default=3600, help="seconds of a job without input")
    options: Any = parser.parse_args()
    os.chdir(Path(__file__).parents[1])
    if options.jobs:
        over_jobs(options.jobs, options.every, {}, _table("jobs"))
    if options.batches:
        print()
        over_batches(options.batches, _table("seconds"), options.seconds)
    if options.idle:
        print()
        while_idle(options.idle, options.seconds, _table("idle seconds"))


if __name__ == "__main__":
    main()
