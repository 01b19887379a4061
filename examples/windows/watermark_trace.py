"""Watch the watermark: when it reaches the end of a window, the window fires.

The watermark is ten seconds behind the largest timestamp, windows are three seconds long. For each
line the trace shows event time, the largest event time up to then, the watermark behind it, and
the windows that fire.
"""

import argparse
from datetime import datetime
from zoneinfo import ZoneInfo

from penstock.common import Configuration, Time, Watermark
from penstock.datastream import (
    AssignerWithPeriodicWatermarks,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import TumblingEventTimeWindows

ZONE = "Asia/Shanghai"
LINES = [
    f"0001,{1790820660000 + 1000 * second}" for second in (22, 26, 32, 33, 34, 36, 37, 39, 31, 43)
]


class TenSecondsBehind(AssignerWithPeriodicWatermarks):
    def __init__(self):
        self.current_max_timestamp = 0

    def extract_timestamp(self, element, previous_element_timestamp):
        timestamp = element[1]
        self.current_max_timestamp = max(timestamp, self.current_max_timestamp)
        return timestamp

    def get_current_watermark(self):
        return Watermark(self.current_max_timestamp - 10_000)


def clock(timestamp):
    return datetime.fromtimestamp(timestamp / 1000, ZoneInfo(ZONE)).strftime("%H:%M:%S")


class Describe(ProcessWindowFunction):
    """Number of elements, first and last, start and end of the window."""

    def process(self, key, context, elements):
        times = sorted(timestamp for _, timestamp in elements)
        window = context.window()
        shown = (clock(t) for t in (times[0], times[-1], window.start, window.end))
        yield f"({key}),{len(times)},{','.join(shown)}"


def parse(line):
    key, timestamp = line.split(",")
    return key, int(timestamp)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, help="read lines from a socket")
    parser.add_argument("--timeline", help="draw the trace into this file, .html or .png")
    arguments, _ = parser.parse_known_args()

    configuration = Configuration()
    # Ask for a watermark behind every line, even if many lines come at once.
    configuration.set_string("penstock.watermark.records", "1")
    configuration.set_string("table.local-time-zone", ZONE)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.enable_watermark_trace(timeline=arguments.timeline)

    if arguments.port is None:
        lines = env.from_collection(LINES)
    else:
        lines = env.socket_text_stream(arguments.host, arguments.port)
    records = lines.map(parse).assign_timestamps_and_watermarks(TenSecondsBehind())
    windows = records.key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(3)))
    windows.process(Describe()).print()

    env.execute("watermark trace")


if __name__ == "__main__":
    main()
