"""Timers: one in processing time, due at once, and one in event time, five seconds ahead.

With ascending timestamps the watermark is one millisecond behind: the timer for 27000 does not fire
with the record of second 27, but with that of second 28, at watermark 27999.
"""

import time

from penstock.common import Configuration
from penstock.datastream import (
    KeyedProcessFunction,
    SourceFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
    TimeDomain,
)


class AtOnce(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time())
        yield f"{value[0]} set a timer"

    def on_timer(self, timestamp, ctx):
        assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
        yield f"{ctx.get_current_key()} was called back"


class FiveSecondsAhead(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] * 1000 + 5000)
        yield f"{value[0]} at second {value[1]}"

    def on_timer(self, timestamp, ctx):
        watermark = ctx.timer_service().current_watermark()
        shown = "the end of time" if watermark == 2**63 - 1 else watermark
        yield f"timer of {ctx.get_current_key()} for {timestamp}, watermark: {shown}"


class OneReading(SourceFunction):
    """One reading, then silence."""

    def __init__(self):
        self.cancelled = False

    def run(self, ctx):
        ctx.collect(("sensor_1", 22))
        while not self.cancelled:
            time.sleep(0.1)

    def cancel(self):
        self.cancelled = True


def main():
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)

    readings = env.from_collection([("sensor_1", second) for second in (22, 27, 28, 29)])
    timed = readings.assign_ascending_timestamps(lambda value: value[1] * 1000)
    timed.key_by(lambda value: value[0]).process(FiveSecondsAhead()).print("event")
    env.execute("timers in event time")

    live = env.add_source(OneReading(), "live").key_by(lambda value: value[0])
    for text in live.process(AtOnce()).execute_and_collect("timers in processing time", limit=2):
        print(f"processing> {text}")


if __name__ == "__main__":
    main()
