"""Count letters in windows of ten seconds of event time, in order and out of order.

Lines are a time in milliseconds and a letter. With a port they come from a socket:
`tumbling_event_window.py --port 9999 --bound 3 --lateness 2`.
"""

import argparse

from penstock.common import Configuration, Time
from penstock.datastream import (
    BoundedOutOfOrdernessTimestampExtractor,
    OutputTag,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from penstock.datastream.window import TumblingEventTimeWindows

LATE = OutputTag("late-data")
IN_ORDER = (
    "10000a 11000a 12000b 13000b 14000a 19888a 13000a 20000a 11000a 12000b 21000b 22000a 29999a"
)
OUT_OF_ORDER = (
    "10000a 11000a 12000b 20000a 21000a 22000b 23000a 24000a 29000b 30000a 22000a 23000a 33000a"
)
WITH_LATENESS = "10000a 24000a 11000a 12000a 25000a 11000a"


class Extractor(BoundedOutOfOrdernessTimestampExtractor):
    def extract_timestamp(self, element):
        return int(element.split(" ")[0])


def count(lines, label, bound, lateness=0):
    """Print the letters of each window when it fires, and those that came too late for it."""
    timed = lines.assign_timestamps_and_watermarks(Extractor(Time.seconds(bound)))
    counts = (
        timed.map(lambda line: (line.split(" ")[1], 1))
        .key_by(0)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .side_output_late_data(LATE)
        .allowed_lateness(Time.seconds(lateness))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    counts.map(lambda pair: f"{label} {pair[0]} {pair[1]}").print()
    counts.get_side_output(LATE).map(lambda pair: f"{label} late {pair[0]}").print()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int)
    parser.add_argument("--bound", type=int, default=3, help="seconds out of order")
    parser.add_argument("--lateness", type=int, default=0, help="seconds of allowed lateness")
    arguments, _ = parser.parse_known_args()

    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    if arguments.port is not None:
        lines = env.socket_text_stream(arguments.host, arguments.port)
        count(lines, "count", arguments.bound, arguments.lateness)
    else:
        cases = (("in-order", IN_ORDER, 0, 0), ("bound-3", OUT_OF_ORDER, 3, 0),
                 ("lateness-2", WITH_LATENESS, 3, 2))  # fmt: skip
        for label, words, bound, lateness in cases:
            lines = [f"{word[:-1]} {word[-1]}" for word in words.split()]
            count(env.from_collection(lines), label, bound, lateness)
    env.execute("tumbling event windows")


if __name__ == "__main__":
    main()
