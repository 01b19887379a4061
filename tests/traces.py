"""The traces that the documents of Flink's users step through: lines, and what each one leads to.

A trace is a program over lines of text and a list of steps: the line that is typed, and the results
that appear because of it. The same traces run on the operators of one process, batch by batch, and
on Spark, typed into a socket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common import Time, Watermark
from penstock.datastream import (
    AssignerWithPeriodicWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
)
from penstock.datastream.window import TumblingEventTimeWindows

LATE = OutputTag("late")
#: 2026-10-01 10:11:00 in Shanghai; times are given in seconds after it.
MINUTE = 1790820660000

Steps = list[tuple[str, list[str]]]


@dataclass(frozen=True)
class Trace:
    """A program, its lines, and what they lead to."""

    build: Callable[[DataStream], DataStream]
    steps: Steps


def parse(line: str) -> tuple[str, int]:
    key, time = line.split(",")
    return key, int(time)


class Lagging(AssignerWithPeriodicWatermarks):
    """The watermark is ten seconds behind the largest timestamp."""

    def __init__(self) -> None:
        self.current_max_timestamp = 0

    def extract_timestamp(self, element: tuple[str, int], previous_element_timestamp: int) -> int:
        self.current_max_timestamp = max(element[1], self.current_max_timestamp)
        return element[1]

    def get_current_watermark(self) -> Watermark:
        return Watermark(self.current_max_timestamp - 10_000)


class Describe(ProcessWindowFunction):
    """Say how many elements there are, the first and the last of them, and the window."""

    def process(self, key: str, context: Any, elements: Iterable[tuple[str, int]]) -> Iterable[str]:
        times = sorted((time - MINUTE) // 1000 for _, time in elements)
        window = context.window()
        start, end = (window.start - MINUTE) // 1000, (window.end - MINUTE) // 1000
        yield f"{len(times)} ({times[0]},{times[-1]}) [{start},{end})"


class Bounded(BoundedOutOfOrdernessTimestampExtractor):
    """The classic extractor of lines such as `10000 a`."""

    def extract_timestamp(self, element: str) -> int:
        return int(element.split(" ")[0])


class Alarm(KeyedProcessFunction):
    """Set a timer five seconds behind each record."""

    def process_element(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[1] + 5000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[str]:
        yield f"timer {timestamp} at watermark {ctx.timer_service().current_watermark()}"


def key_of(record: tuple[str, int]) -> str:
    return record[0]


def late_record(record: tuple[str, int]) -> str:
    return f"late {(record[1] - MINUTE) // 1000}"


def three_seconds(
    lines: DataStream, lateness: int = 0, side: bool = False, parallelism: int = 1
) -> DataStream:
    """Build the program of the first traces: windows of three seconds, a lag of ten."""
    records = lines.map(parse)
    if parallelism > 1:
        records = lines.rebalance().map(parse).set_parallelism(parallelism)
    timed = records.assign_timestamps_and_watermarks(Lagging()).set_parallelism(parallelism)
    windows = timed.key_by(key_of).window(TumblingEventTimeWindows.of(Time.seconds(3)))
    windows.allowed_lateness(lateness)
    if not side:
        return windows.process(Describe())
    result = windows.side_output_late_data(LATE).process(Describe())
    return result.union(result.get_side_output(LATE).map(late_record))


def ten_seconds(lines: DataStream, bound: int, lateness: int = 0, side: bool = False) -> DataStream:
    """Build the program of the traces with a bounded disorder: windows of ten seconds."""
    timed = lines.assign_timestamps_and_watermarks(Bounded(Time.seconds(bound)))
    ones = timed.map(lambda line: (line.split(" ")[1], 1, line.split(" ")[0]))
    windows = ones.key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    windows.allowed_lateness(Time.seconds(lateness))
    if side:
        windows.side_output_late_data(LATE)
    counts = windows.reduce(lambda a, b: (a[0], a[1] + b[1], ""))
    result = counts.map(lambda count: f"{count[0]}{count[1]}")
    if not side:
        return result
    return result.union(counts.get_side_output(LATE).map(lambda late: f"late {late[2]}"))


def alarms(lines: DataStream) -> DataStream:
    """Build the program of the timers: timestamps that rise."""
    records = lines.map(lambda line: (line.split(" ")[1], int(line.split(" ")[0])))
    timed = records.assign_ascending_timestamps(lambda record: record[1])
    return timed.key_by(key_of).process(Alarm())


def seconds(text: str) -> Steps:
    """Read `22 26 => 1 (26,26) [24,27) | 27`: steps are parted by bars."""
    return _steps(text, lambda word: f"0001,{MINUTE + 1000 * int(word)}")


def events(text: str) -> Steps:
    """Read `10000a 20000b => a1 & b1 | 30000a`."""
    return _steps(text, lambda word: f"{word[:-1]} {word[-1]}")


def _steps(text: str, line_of: Callable[[str], str]) -> Steps:
    steps: Steps = []
    for part in text.split("|"):
        lines, _, results = part.partition("=>")
        steps += [(line_of(word), []) for word in lines.split()]
        if results.strip():
            steps[-1][1].extend(result.strip() for result in results.split("&"))
    return steps


TRACES: dict[str, Trace] = {
    "T1 out of order": Trace(
        three_seconds,
        seconds(
            "22 26 32 33 34 => 1 (22,22) [21,24) | 36 | 37 => 1 (26,26) [24,27) | 39 31 "
            "| 43 => 2 (31,32) [30,33)"
        ),
    ),
    "T2 late records are dropped": Trace(
        three_seconds, seconds("30 43 => 1 (30,30) [30,33) | 30 31 32")
    ),
    "T3 allowed lateness": Trace(
        lambda lines: three_seconds(lines, lateness=2000),
        seconds(
            "30 43 => 1 (30,30) [30,33) | 30 => 2 (30,30) [30,33) | 31 => 3 (30,31) [30,33) "
            "| 32 => 4 (30,32) [30,33) | 44 | 30 => 5 (30,32) [30,33) | 31 => 6 (30,32) [30,33) "
            "| 32 => 7 (30,32) [30,33) | 45 | 30 31 32"
        ),
    ),
    "T4 late records to the side": Trace(
        lambda lines: three_seconds(lines, side=True),
        seconds("30 43 => 1 (30,30) [30,33) | 30 => late 30 | 31 => late 31 | 32 => late 32"),
    ),
    "T5 two subtasks": Trace(
        lambda lines: three_seconds(lines, parallelism=2),
        seconds("30 43 | 48 => 1 (30,30) [30,33)"),
    ),
    "T6 no disorder": Trace(
        lambda lines: ten_seconds(lines, 0),
        events(
            "10000a 11000a 12000b 13000b 14000a 19888a 13000a 20000a => a5 & b2 | 11000a 12000b "
            "| 21000b 22000a 29999a => a3 & b1"
        ),
    ),
    "T7 three seconds of disorder": Trace(
        lambda lines: ten_seconds(lines, 3),
        events(
            "10000a 11000a 12000b 20000a 21000a 22000b 23000a => a2 & b1 "
            "| 24000a 29000b 30000a 22000a 23000a 33000a => a6 & b2"
        ),
    ),
    "T8 disorder and lateness": Trace(
        lambda lines: ten_seconds(lines, 3, lateness=2),
        events("10000a 24000a => a1 | 11000a => a2 | 12000a => a3 | 25000a | 11000a"),
    ),
    "T9 disorder, lateness and a side output": Trace(
        lambda lines: ten_seconds(lines, 3, lateness=2, side=True),
        events("10000a 25000a => a1 | 11000a => late 11000"),
    ),
    "T10 timers": Trace(
        alarms, events("22000a | 27000a | 28000a => timer 27000 at watermark 27999")
    ),
}
