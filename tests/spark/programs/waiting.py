"""An unbounded job that says when it has begun, and waits for the user to interrupt it."""

import sys
import time

from penstock.common import Configuration
from penstock.datastream import SourceFunction, StreamExecutionEnvironment


class Once(SourceFunction):
    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        ctx.collect("begun")
        while self.running:
            time.sleep(0.05)

    def cancel(self) -> None:
        self.running = False


def main(directory: str) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", directory)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.add_source(Once()).print()
    env.execute("waiting")


if __name__ == "__main__":
    main(sys.argv[1])
