"""Three ways with records that come after their window has fired.

They are dropped; or fire their window again while it is kept for some time longer; or go to a side
output. The watermark is ten seconds behind the largest timestamp, windows are three seconds long.
"""

from penstock.common import Configuration, Time, Watermark
from penstock.datastream import (
    AssignerWithPeriodicWatermarks,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import TumblingEventTimeWindows

START = 1790820660000
LATE = OutputTag("late-data")


class TenSecondsBehind(AssignerWithPeriodicWatermarks):
    def __init__(self):
        self.current_max_timestamp = 0

    def extract_timestamp(self, element, previous_element_timestamp):
        self.current_max_timestamp = max(element[1], self.current_max_timestamp)
        return element[1]

    def get_current_watermark(self):
        return Watermark(self.current_max_timestamp - 10_000)


class Describe(ProcessWindowFunction):
    """How many elements a window has when it fires; times are seconds of the minute."""

    def process(self, key, context, elements):
        start, end = ((t - START) // 1000 for t in (context.window().start, context.window().end))
        seconds = sorted((timestamp - START) // 1000 for _, timestamp in elements)
        yield f"[{start},{end}) {len(seconds)} {seconds}"


def windows_of(env, seconds):
    records = env.from_collection([("0001", START + 1000 * second) for second in seconds])
    timed = records.assign_timestamps_and_watermarks(TenSecondsBehind())
    return timed.key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(3)))


def main():
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)

    late = (30, 31, 32)
    windows_of(env, (30, 43, *late)).process(Describe()).print("dropped")

    kept = windows_of(env, (30, 43, *late, 44, *late, 45, *late)).allowed_lateness(Time.seconds(2))
    kept.process(Describe()).print("lateness")

    aside = windows_of(env, (30, 43, *late)).side_output_late_data(LATE).process(Describe())
    aside.print("side")
    aside.get_side_output(LATE).map(lambda late: f"late {(late[1] - START) // 1000}").print("side")

    env.execute("late data")


if __name__ == "__main__":
    main()
