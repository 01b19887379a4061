"""Event time: which timestamps are in which window does not depend on when lines arrive.

Lines are a key and a time in milliseconds, up to a second out of order. They come from a socket if
a port is given, else from a list.
"""

import argparse

from penstock.common import Time
from penstock.datastream import (
    BoundedOutOfOrdernessTimestampExtractor,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

LINES = ["a 1000", "a 1500", "b 1700", "a 2500", "a 1900", "a 3900", "b 3950", "a 4100", "a 6000"]


class Second(BoundedOutOfOrdernessTimestampExtractor):
    """Timestamps in the second field, up to one second out of order."""

    def __init__(self):
        super().__init__(Time.milliseconds(1000))

    def extract_timestamp(self, element):
        return element[1]


def parse(line):
    key, time = line.split(" ")
    return key, int(time), 1


def collect(times, element):
    times.add(element[1])
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int)
    arguments, _ = parser.parse_known_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    if arguments.port is None:
        lines = env.from_collection(LINES)
    else:
        lines = env.socket_text_stream(arguments.host, arguments.port)
    by_key = lines.map(parse).assign_timestamps_and_watermarks(Second()).key_by(0)

    tumbling = by_key.window(TumblingEventTimeWindows.of(Time.seconds(2)))
    tumbling.fold(set(), collect).map(sorted).print("tumbling")

    sliding = by_key.window(SlidingEventTimeWindows.of(Time.seconds(2), Time.milliseconds(500)))
    sliding.fold(set(), collect).map(sorted).print("sliding")

    session = by_key.window(EventTimeSessionWindows.with_gap(Time.milliseconds(500)))
    counts = session.reduce(lambda a, b: (a[0], 0, a[2] + b[2]))
    counts.map(lambda count: f"session {count[0]} {count[2]}").print()

    env.execute("windows of event time")


if __name__ == "__main__":
    main()
