"""Warn when the temperature of a sensor has been rising for one second.

The same function works in processing time and in event time: a timer is set when the temperature
begins to rise and taken back when it falls.
"""

import time
from dataclasses import dataclass

from penstock.datastream import KeyedProcessFunction, SourceFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor


@dataclass
class Reading:
    sensor: str
    milliseconds: int
    celsius: float


READINGS = [
    Reading("sensor_1", 0, 35.0),
    Reading("sensor_1", 300, 36.5),
    Reading("sensor_2", 400, 20.0),
    Reading("sensor_2", 600, 21.0),
    Reading("sensor_2", 900, 19.5),
    Reading("sensor_1", 1000, 37.0),
    Reading("sensor_1", 1700, 38.5),
]


class Sensors(SourceFunction):
    """Some readings at once, then silence."""

    def __init__(self):
        self.cancelled = False

    def run(self, ctx):
        with ctx.get_checkpoint_lock():
            for reading in READINGS:
                ctx.collect(reading)
        while not self.cancelled:
            time.sleep(0.1)

    def cancel(self):
        self.cancelled = True


class RisingForASecond(KeyedProcessFunction):
    def __init__(self, in_event_time):
        self.in_event_time = in_event_time

    def open(self, context):
        self.last = context.get_state(ValueStateDescriptor("last temperature"))
        self.timer = context.get_state(ValueStateDescriptor("timer"))

    def process_element(self, reading, ctx):
        last, timer = self.last.value(), self.timer.value()
        self.last.update(reading.celsius)
        timers = ctx.timer_service()
        if last is None or reading.celsius < last:
            if timer is not None and self.in_event_time:
                timers.delete_event_time_timer(timer)
            elif timer is not None:
                timers.delete_processing_time_timer(timer)
            self.timer.clear()
        elif reading.celsius > last and timer is None:
            if self.in_event_time:
                timer = ctx.timestamp() + 1000
                timers.register_event_time_timer(timer)
            else:
                timer = timers.current_processing_time() + 1000
                timers.register_processing_time_timer(timer)
            self.timer.update(timer)

    def on_timer(self, timestamp, ctx):
        self.timer.clear()
        yield f"{ctx.get_current_key()} has been rising for a second"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    # In event time: the alarm comes when the watermark has reached its time.
    readings = env.from_collection(READINGS)
    timed = readings.assign_ascending_timestamps(lambda reading: reading.milliseconds)
    by_sensor = timed.key_by(lambda reading: reading.sensor)
    by_sensor.process(RisingForASecond(in_event_time=True)).print("event time")
    env.execute("rising temperature")

    # In processing time: a second later, though nothing has come in since.
    by_sensor = env.add_source(Sensors(), "sensors").key_by(lambda reading: reading.sensor)
    alarms = by_sensor.process(RisingForASecond(in_event_time=False))
    for alarm in alarms.execute_and_collect("rising temperature, live", limit=1):
        print(f"processing time> {alarm}")


if __name__ == "__main__":
    main()
