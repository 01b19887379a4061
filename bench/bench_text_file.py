"""How fast is a text file read, and with how much memory? How fast are its words counted?

Three things are measured: the reader alone in this process; a job of parallelism 2 that reads the
whole file and counts its lines, with the memory of the processes that read (`--bytes`, 1 GB if
nothing else is said); and a word count, as the marginal rate between two sizes.

    python bench/bench_text_file.py --bytes 1g
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import threading
import time
from pathlib import Path

import psutil

from penstock.common import WatermarkStrategy
from penstock.connectors.file_source.file_format import FilePiece
from penstock.datastream import FlatMapFunction, SinkFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat

UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
VOCABULARY = 5_000


def make_file(path: Path, size: int) -> int:
    """Write lines of ten words; return how many lines there are."""
    chance = random.Random(1)
    words = [f"{chance.choice('aeiou')}word{number}" for number in range(VOCABULARY)]
    block = "".join(" ".join(chance.choices(words, k=10)) + "\n" for _ in range(20_000)).encode()
    lines = written = 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(block)
            lines += 20_000
    return lines


class CountLines(FlatMapFunction):
    """Count and send nothing on."""

    def open(self, runtime_context) -> None:
        self.lines = runtime_context.get_long_counter("lines")
        self.share = runtime_context.get_long_counter(
            f"lines of {runtime_context.get_index_of_this_subtask()}"
        )

    def flat_map(self, value):
        self.lines.add(1)
        self.share.add(1)
        return ()


class Words(FlatMapFunction):
    """Split lines."""

    def flat_map(self, value):
        return [(word, 1) for word in value.split()]


class Tally(SinkFunction):
    """Count the results."""

    def open(self, runtime_context) -> None:
        self.results = runtime_context.get_long_counter("results")

    def invoke(self, value) -> None:
        self.results.add(1)


class Memory(threading.Thread):
    """Watch the resident memory of the Python workers below this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak: dict[int, int] = {}
        self.driver = 0
        self._ended = threading.Event()

    def run(self) -> None:
        here = psutil.Process()
        while not self._ended.wait(0.1):
            self.driver = max(self.driver, here.memory_info().rss)
            for child in here.children(recursive=True):
                try:
                    if "python" in child.name():
                        rss = child.memory_info().rss
                        self.peak[child.pid] = max(rss, self.peak.get(child.pid, 0))
                except psutil.Error:
                    continue

    def stop(self) -> None:
        self._ended.set()
        self.join()


def lines_of(env: StreamExecutionEnvironment, path: Path):
    text = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(text, str(path)).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    return env


def reader_alone(path: Path, lines: int) -> None:
    size = path.stat().st_size
    file_format = StreamFormat.text_line_format()
    began = time.perf_counter()
    found = sum(map(len, file_format.read(FilePiece(str(path), 0, size, size))))
    seconds = time.perf_counter() - began
    assert found == lines
    print(f"reader alone: {lines / seconds:,.0f} lines/s, {size / seconds / 1e6:,.0f} MB/s")


def count_lines(path: Path, lines: int):
    env = environment()
    lines_of(env, path).flat_map(CountLines()).add_sink(Tally())
    result = env.execute(f"lines of {path.stem}")
    assert result.get_accumulator_result("lines") == lines
    return result


def whole_file(path: Path, lines: int) -> None:
    memory = Memory()
    memory.start()
    began = time.perf_counter()
    result = count_lines(path, lines)
    seconds = time.perf_counter() - began
    memory.stop()
    # A small file is not cut: then there is one share.
    counts = result.get_all_accumulator_results()
    shares = [count for name, count in sorted(counts.items()) if name.startswith("lines of ")]
    size = path.stat().st_size
    workers = sorted((peak >> 20 for peak in memory.peak.values()), reverse=True)
    print(f"whole file: {size:,} bytes, {lines:,} lines, {seconds:.1f} s wall")
    print(f"  {lines / seconds:,.0f} lines/s, lines by subtask {shares}")
    print(f"  peak of the workers in MiB {workers}, of this process {memory.driver >> 20}")


def word_count(folder: Path, size: int) -> tuple[int, float]:
    path = folder / f"words-{size}.txt"
    lines = make_file(path, size)
    env = environment()
    pairs = lines_of(env, path).flat_map(Words())
    counts = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    counts.add_sink(Tally())
    began = time.perf_counter()
    result = env.execute(f"words {size}")
    seconds = time.perf_counter() - began
    assert result.get_accumulator_result("results") == 10 * lines
    print(f"word count of {size >> 20} MiB: {10 * lines:,} words in {seconds:.1f} s")
    return 10 * lines, seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", default="1g")
    parser.add_argument("--words", default="8,24", help="two sizes in MiB, or nothing")
    options = parser.parse_args()
    size = int(options.bytes[:-1]) * UNITS[options.bytes[-1].lower()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "large.txt"
        lines = make_file(path, size)
        reader_alone(path, lines)
        # The first job starts Spark and its workers.
        count_lines(folder / "warm.txt", make_file(folder / "warm.txt", 1 << 20))
        whole_file(path, lines)
        os.remove(path)
        if options.words:
            small, large = (int(text) << 20 for text in options.words.split(","))
            word_count(folder, 1 << 20)  # the first job with an exchange starts what it needs
            few, first = word_count(folder, small)
            many, second = word_count(folder, large)
            print(f"word count: {(many - few) / (second - first):,.0f} words/s, marginal")


if __name__ == "__main__":
    main()
