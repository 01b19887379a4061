"""Join two streams by window and by interval, with elements whose value is their time."""

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import JoinFunction, ProcessJoinFunction, StreamExecutionEnvironment
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

ORANGE, GREEN = [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 3, 4]
#: With gaps, for sessions.
BURSTS_OF_ORANGE, BURSTS_OF_GREEN = [1, 2, 5, 6, 8, 9], [0, 4, 5]


class Pair(JoinFunction):
    def join(self, first, second):
        return f"{first},{second}"


class IntervalPair(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield f"{left},{right}"


def same_key(value):
    return 0


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    own_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )

    def stream(values):
        return env.from_collection(values).assign_timestamps_and_watermarks(own_time)

    def join(first, second, assigner):
        return first.join(second).where(same_key).equal_to(same_key).window(assigner).apply(Pair())

    orange, green = stream(ORANGE), stream(GREEN)
    two, one = Time.milliseconds(2), Time.milliseconds(1)
    join(orange, green, TumblingEventTimeWindows.of(two)).print("tumbling")
    join(orange, green, SlidingEventTimeWindows.of(two, one)).print("sliding")
    bursts = stream(BURSTS_OF_ORANGE), stream(BURSTS_OF_GREEN)
    join(*bursts, EventTimeSessionWindows.with_gap(one)).print("session")

    # green from 2 ms before an orange element to 1 ms after it
    interval = orange.key_by(same_key).interval_join(green.key_by(same_key))
    interval.between(Time.milliseconds(-2), Time.milliseconds(1)).process(IntervalPair()).print(
        "interval"
    )
    # all green and orange elements of a window together, also where one side has none
    groups = orange.co_group(green).where(same_key).equal_to(same_key)
    groups.window(TumblingEventTimeWindows.of(Time.milliseconds(2))).apply(
        lambda oranges, greens: [f"{list(oranges)} {list(greens)}"]
    ).print("co-group")

    env.execute("joins of two colours")


if __name__ == "__main__":
    main()
