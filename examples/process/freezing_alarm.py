"""Send a warning to a side output for each temperature below 32 degrees Fahrenheit."""

from penstock.common import Types
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

READINGS = [("sensor_1", 35.8), ("sensor_6", 15.4), ("sensor_7", 6.7), ("sensor_10", 38.1)]
FREEZING = OutputTag("freezing-alarms", Types.STRING())


class FreezingMonitor(ProcessFunction):
    """All readings go to the main output; warnings are of another type."""

    def process_element(self, value, ctx):
        sensor, fahrenheit = value
        if fahrenheit < 32.0:
            ctx.output(FREEZING, f"Freezing Alarm for {sensor}")
        yield value


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    monitored = env.from_collection(READINGS).process(FreezingMonitor())
    monitored.get_side_output(FREEZING).print("alarm")
    monitored.print("reading")
    env.execute("freezing alarm")


if __name__ == "__main__":
    main()
