"""Warn when a water level has been rising for five seconds, in event and in processing time.

The state of the function (the last level, the time of the alarm) is kept by sensor. Lines are
`sensor,second,level`.
"""

import time

from penstock.common import Watermark
from penstock.datastream import (
    AssignerWithPunctuatedWatermarks,
    KeyedProcessFunction,
    SourceFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from penstock.datastream.state import ValueStateDescriptor

LINES = [
    "sensor_1,22,10",
    "sensor_1,23,11",
    "sensor_2,23,40",
    "sensor_1,24,10",  # falls: the alarm for second 27 is taken back
    "sensor_1,25,12",
    "sensor_2,26,41",
    "sensor_1,27,14",
    "sensor_2,28,42",  # the alarm of sensor_2, set at second 23
    "sensor_1,29,15",
    "sensor_1,30,16",  # the alarm of sensor_1, set at second 25
]


class EveryRecord(AssignerWithPunctuatedWatermarks):
    def extract_timestamp(self, element, previous_element_timestamp):
        return element[1] * 1000

    def check_and_get_next_watermark(self, last_element, extracted_timestamp):
        return Watermark(extracted_timestamp)


class RisingForFiveSeconds(KeyedProcessFunction):
    def __init__(self, in_event_time):
        self.in_event_time = in_event_time

    def open(self, context):
        self.level = context.get_state(ValueStateDescriptor("level", default_value=0))
        self.alarm = context.get_state(ValueStateDescriptor("alarm"))

    def process_element(self, value, ctx):
        _, second, level = value
        timers = ctx.timer_service()
        if level > self.level.value():
            if self.alarm.value() is None:
                now = second * 1000 if self.in_event_time else timers.current_processing_time()
                self.alarm.update(now + 5000)
                if self.in_event_time:
                    timers.register_event_time_timer(now + 5000)
                else:
                    timers.register_processing_time_timer(now + 5000)
        elif self.alarm.value() is not None:
            if self.in_event_time:
                timers.delete_event_time_timer(self.alarm.value())
            else:
                timers.delete_processing_time_timer(self.alarm.value())
            self.alarm.clear()
        self.level.update(level)

    def on_timer(self, timestamp, ctx):
        when = f" at second {timestamp // 1000}" if self.in_event_time else ""
        yield f"{ctx.get_current_key()} has been rising for 5 seconds{when}"


class Live(SourceFunction):
    """Two sensors, of which one is falling again; then silence."""

    def __init__(self):
        self.cancelled = False

    def run(self, ctx):
        with ctx.get_checkpoint_lock():
            for line in ("sensor_1,0,10", "sensor_2,0,10", "sensor_1,0,11", "sensor_2,0,9"):
                ctx.collect(line)
        while not self.cancelled:
            time.sleep(0.1)

    def cancel(self):
        self.cancelled = True


def parse(line):
    sensor, second, level = line.split(",")
    return sensor, int(second), int(level)


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)

    timed = env.from_collection(LINES).map(parse).assign_timestamps_and_watermarks(EveryRecord())
    by_sensor = timed.key_by(lambda value: value[0])
    by_sensor.process(RisingForFiveSeconds(in_event_time=True)).print("event time")

    env.execute("rising water level")

    by_sensor = env.add_source(Live(), "live").map(parse).key_by(lambda value: value[0])
    alarms = by_sensor.process(RisingForFiveSeconds(in_event_time=False))
    for alarm in alarms.execute_and_collect("rising water level, live", limit=1):
        print(f"processing time> {alarm}")


if __name__ == "__main__":
    main()
