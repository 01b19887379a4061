"""A short look at Penstock: six sensors report for ten seconds, and one job works on every reading.

The readings are made up as they go. From them the job keeps, sensor by sensor, how many came in,
their average and their maximum; and it counts the words of the status texts. Run it with
`make demo`.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.common import Configuration
from penstock.datastream import DataStream, SourceFunction, StreamExecutionEnvironment

SECONDS = 10
READINGS_A_SECOND = 300
#: Small batches: what piled up while Spark was starting is caught up on step by step, in view.
READINGS_A_BATCH = 300
#: Sensor, usual temperature, how much it swings.
SENSORS = [
    ("attic", 17.0, 3.0),
    ("boiler", 81.0, 9.0),
    ("cellar", 11.0, 1.0),
    ("freezer", -18.0, 2.0),
    ("hall", 20.5, 1.5),
    ("oven", 190.0, 25.0),
]


@dataclass(frozen=True)
class Reading:
    """What a sensor sends."""

    sensor: str
    celsius: float
    status: str


@dataclass(frozen=True)
class Summary:
    """What is known of a sensor so far."""

    sensor: str
    readings: int
    total: float
    maximum: float

    def merge(self, other: Summary) -> Summary:
        return Summary(
            self.sensor,
            self.readings + other.readings,
            self.total + other.total,
            max(self.maximum, other.maximum),
        )


@dataclass(frozen=True)
class WordCount:
    """How often a word has stood in a status text so far."""

    word: str
    count: int

    def merge(self, other: WordCount) -> WordCount:
        return WordCount(self.word, self.count + other.count)


class Sensors(SourceFunction):
    """Make up readings, the same ones every time, at a steady pace."""

    def __init__(self, seconds: int, readings_a_second: int) -> None:
        self.total = seconds * readings_a_second
        self.pause = 1.0 / readings_a_second
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        chance = random.Random(7)
        start = time.monotonic()
        for number in range(self.total):
            if not self.running:
                return
            name, usual, swing = SENSORS[number % len(SENSORS)]
            celsius = round(chance.gauss(usual, swing), 1)
            ctx.collect(Reading(name, celsius, status_of(celsius - usual, swing)))
            ahead = start + number * self.pause - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)

    def cancel(self) -> None:
        self.running = False


def status_of(deviation: float, swing: float) -> str:
    """Return the text that a sensor sends along."""
    if deviation > 2 * swing:
        return "too hot check"
    if deviation < -2 * swing:
        return "too cold check"
    return "steady" if abs(deviation) < swing else "drifting"


def build(env: StreamExecutionEnvironment) -> DataStream:
    """Return the stream of summaries and word counts, each time one of them has changed."""
    readings = env.add_source(Sensors(SECONDS, READINGS_A_SECOND), "sensors")
    summaries = (
        readings.map(lambda r: Summary(r.sensor, 1, r.celsius, r.celsius))
        .key_by(lambda summary: summary.sensor)
        .reduce(lambda before, new: before.merge(new))
    )
    words = (
        readings.flat_map(lambda r: (WordCount(word, 1) for word in r.status.split()))
        .key_by(lambda count: count.word)
        .reduce(lambda before, new: before.merge(new))
    )
    return summaries.union(words)


class Screen:
    """Show how results change: redrawn in place in a terminal, a line of progress elsewhere."""

    def __init__(self) -> None:
        self.summaries: dict[str, Summary] = {}
        self.words: dict[str, WordCount] = {}
        self.in_place = sys.stderr.isatty()
        self.lines_drawn = 0
        self.seen_last = 0
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.painter = threading.Thread(target=self.paint)

    def __enter__(self) -> Screen:
        self.painter.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.painter.join()
        self.draw()
        self.clear()

    def update(self, result: Summary | WordCount) -> None:
        with self.lock:
            if isinstance(result, Summary):
                self.summaries[result.sensor] = result
            else:
                self.words[result.word] = result

    def paint(self) -> None:
        """Results come in bursts, a batch at a time: look at what has come a few times a second."""
        while not self.ended.wait(0.2 if self.in_place else 1.0):
            self.draw()

    def draw(self) -> None:
        with self.lock:
            seen = sum(summary.readings for summary in self.summaries.values())
            lines = [progress_bar(seen)]
            if self.in_place:
                lines += ["", *self.table()]
        if seen > self.seen_last:
            self.clear()
            sys.stderr.write("\n".join(lines) + "\n")
            sys.stderr.flush()
            self.seen_last = seen
            self.lines_drawn = len(lines) if self.in_place else 0

    def clear(self) -> None:
        if self.lines_drawn:
            sys.stderr.write(f"\x1b[{self.lines_drawn}F\x1b[J")
            sys.stderr.flush()
            self.lines_drawn = 0

    def table(self) -> Iterator[str]:
        yield "  sensor    readings   average   maximum"
        yield "  " + "-" * 38
        for _, s in sorted(self.summaries.items()):
            average = s.total / s.readings
            yield f"  {s.sensor:<10}{s.readings:>8}{average:>10.1f}{s.maximum:>10.1f}"
        yield ""
        yield "  word in status texts    times"
        yield "  " + "-" * 29
        for _, w in sorted(self.words.items()):
            yield f"  {w.word:<20}{w.count:>9}"


def progress_bar(seen: int) -> str:
    total = SECONDS * READINGS_A_SECOND
    return f"  [{'#' * (30 * seen // total):<30}] {seen:>5} of {total} readings"


def main() -> None:
    print(
        f"{len(SENSORS)} sensors report {READINGS_A_SECOND} times a second, for {SECONDS} s.",
        flush=True,
    )
    print("Starting a local Spark ...", file=sys.stderr, flush=True)
    configuration = Configuration()
    configuration.set_integer("penstock.batch.max-records", READINGS_A_BATCH)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    with Screen() as screen, build(env).execute_and_collect("sensor demo") as results:
        for result in results:
            screen.update(result)
    print("\n".join(["", *screen.table(), ""]))
    print("The job has ended by itself. Its program is examples/demo.py.")


if __name__ == "__main__":
    main()
