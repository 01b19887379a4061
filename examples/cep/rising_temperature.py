"""Alarm when a sensor's temperature rises four times in a row and ends above a limit.

Each reading of the loop is compared with the one before it: an iterative condition sees the events
that a match has so far.
"""

from dataclasses import dataclass

from penstock.cep import CEP, AfterMatchSkipStrategy, IterativeCondition, Pattern
from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment


@dataclass
class Reading:
    sensor: str
    second: int
    celsius: float


READINGS = [
    Reading("north", second, celsius)
    for second, celsius in enumerate([20.1, 20.4, 21.0, 22.5, 31.0, 30.2, 30.4, 30.5, 30.9])
] + [
    Reading("south", second, celsius)
    for second, celsius in enumerate([18.0, 18.5, 18.2, 19.0, 19.5, 20.5, 21.0, 22.0, 23.0])
]


class Warmer(IterativeCondition):
    """Accept a reading above the last one of a stage."""

    def __init__(self, stage):
        self.stage = stage

    def filter(self, value, ctx):
        before = ctx.get_events_for_pattern(self.stage)
        return not before or value.celsius > before[-1].celsius


def alarm(match):
    rise = [reading.celsius for reading in match["rise"] + match["peak"]]
    return f"{match['peak'][0].sensor}: {' < '.join(map(str, rise))}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda reading, _: reading.second * 1000
    )
    readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(strategy)
    rising = (
        Pattern.begin("rise", AfterMatchSkipStrategy.skip_past_last_event())
        .where(Warmer("rise"))
        .times(3)
        .consecutive()
        .next("peak")
        .where(Warmer("rise"))
        .where(lambda reading: reading.celsius > 22)
    )
    CEP.pattern(readings.key_by(lambda reading: reading.sensor), rising).select(alarm).print()
    env.execute("rising temperature")


if __name__ == "__main__":
    main()
