"""Count words in tumbling, sliding and session windows of processing time.

Words come from a socket if a port is given (type into `nc -lk 9999`), else from a small source
that sends a few at once and then waits until their windows are over.
"""

import argparse
import time

from penstock.common import Time
from penstock.datastream import SourceFunction, StreamExecutionEnvironment, TimeCharacteristic
from penstock.datastream.window import ProcessingTimeSessionWindows

SIZE_MS = 6_000


class OneBurst(SourceFunction):
    """Send all words at the beginning of a window, and wait until their windows are over."""

    def __init__(self):
        self.running = True

    def run(self, ctx):
        start = (time.time() * 1000 // SIZE_MS + 1) * SIZE_MS
        self.sleep_until(start)
        for line in ("hello window", "hello world", "hello"):
            ctx.collect(line)
        self.sleep_until(start + 3 * SIZE_MS)

    def sleep_until(self, moment):
        while self.running and time.time() * 1000 < moment:
            time.sleep(0.05)

    def cancel(self):
        self.running = False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int)
    arguments, _ = parser.parse_known_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)

    if arguments.port is None:
        lines = env.add_source(OneBurst())
    else:
        lines = env.socket_text_stream(arguments.host, arguments.port)
    words = lines.flat_map(lambda line: line.split(" ")).map(lambda word: (word, 1))
    by_word = words.key_by(lambda pair: pair[0])

    def show(counts, label):
        counts.map(lambda pair: f"{label} {pair[0]} {pair[1]}").print()

    show(by_word.time_window(Time.milliseconds(SIZE_MS)).sum(1), "tumbling")
    show(by_word.time_window(Time.milliseconds(SIZE_MS), Time.seconds(3)).sum(1), "sliding")
    gap = ProcessingTimeSessionWindows.with_gap(Time.seconds(2))
    show(by_word.window(gap).sum(1), "session")

    env.execute("words in windows of time")


if __name__ == "__main__":
    main()
