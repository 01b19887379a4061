"""Connect two streams of different types: readings on one side, fire alarms on the other."""

from penstock.common import Types
from penstock.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor

TEMPERATURES = [("hall", 21.5), ("boiler", 88.0), ("hall", 22.0), ("attic", 31.0)]
SMOKE = ["boiler:high", "attic:low", "hall:low"]


class Describe(CoMapFunction):
    """One line of text from either side."""

    def map1(self, value):
        return f"{value[0]} has {value[1]} degrees"

    def map2(self, value):
        room, level = value.split(":")
        return f"smoke in {room}: {level}"


class FireAlarm(CoFlatMapFunction):
    """Raise an alarm for a room that is both hot and full of smoke, whichever is seen first."""

    def open(self, runtime_context: RuntimeContext):
        self.hottest = runtime_context.get_state(ValueStateDescriptor("hottest", Types.DOUBLE()))
        self.smoke = runtime_context.get_state(ValueStateDescriptor("smoke", Types.BOOLEAN()))

    def flat_map1(self, value):
        room, temperature = value
        if temperature > (self.hottest.value() or 0.0):
            self.hottest.update(temperature)
        yield from self.alarm(room)

    def flat_map2(self, value):
        room, level = value.split(":")
        self.smoke.update(level == "high")
        yield from self.alarm(room)

    def alarm(self, room):
        hottest = self.hottest.value() or 0.0
        if hottest > 60 and self.smoke.value():
            yield f"FIRE in the {room}: {hottest} degrees"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    temperatures = env.from_collection(
        TEMPERATURES, type_info=Types.TUPLE([Types.STRING(), Types.DOUBLE()])
    )
    smoke = env.from_collection(SMOKE, type_info=Types.STRING())

    temperatures.connect(smoke).map(Describe(), output_type=Types.STRING()).print()

    temperatures.connect(smoke).key_by(
        lambda reading: reading[0], lambda line: line.split(":")[0], key_type=Types.STRING()
    ).flat_map(FireAlarm(), output_type=Types.STRING()).print()

    env.execute("connect")


if __name__ == "__main__":
    main()
