"""What else a window can be told: triggers, evictors, state, and one window for all keys."""

from penstock.common import Configuration, Time, WatermarkStrategy
from penstock.datastream import (
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    GlobalWindows,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

#: (sensor, seconds, level)
LEVELS = [("s1", 1, 3), ("s2", 2, 9), ("s1", 4, 5), ("s1", 7, 50), ("s2", 8, 2), ("s1", 12, 4)]


class AtFlood(Trigger):
    """Fire at the end of the window, and at once when the water is high."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if element[2] >= 50 else TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())


class Levels(ProcessWindowFunction):
    """The levels of a window; how often it has fired; how many windows of the sensor have."""

    FIRINGS = ValueStateDescriptor("firings")

    def process(self, key, context, elements):
        firings = context.window_state().get_state(self.FIRINGS)
        firings.update((firings.value() or 0) + 1)
        total = context.global_state().get_state(self.FIRINGS)
        total.update((total.value() or 0) + 1)
        levels = [level for _, _, level in elements]
        yield f"{key} {levels}: {firings.value()} of the window, {total.value()} of the sensor"

    def clear(self, context):
        context.window_state().get_state(self.FIRINGS).clear()


class Highest(ProcessAllWindowFunction):
    def process(self, context, elements):
        highest = max(elements, key=lambda element: element[2])
        yield f"[{context.window().start},{context.window().end}) {highest}"


def main():
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    levels = env.from_collection(LEVELS).assign_timestamps_and_watermarks(
        in_order.with_timestamp_assigner(lambda level, _: level[1] * 1000)
    )
    by_sensor = levels.key_by(lambda level: level[0])
    ten_seconds = TumblingEventTimeWindows.of(Time.seconds(10))

    by_sensor.window(ten_seconds).trigger(AtFlood()).process(Levels()).print("flood")
    every_four = ContinuousEventTimeTrigger.of(Time.seconds(4))
    by_sensor.window(ten_seconds).trigger(every_four).process(Levels()).print("continuous")
    by_sensor.window(ten_seconds).evictor(CountEvictor.of(2)).process(Levels()).print("last-two")
    pairs = by_sensor.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
    pairs.process(Levels()).print("pairs")
    levels.window_all(ten_seconds).process(Highest()).print("all")

    env.execute("window options")


if __name__ == "__main__":
    main()
