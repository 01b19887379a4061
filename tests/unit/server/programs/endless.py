"""Count for ever, in the process itself; or to a number."""

import sys
import time

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import SourceFunction


class Numbers(SourceFunction):
    def __init__(self, end):
        self.end = end
        self.running = True

    def run(self, ctx):
        number = 0
        while self.running and number != self.end:
            ctx.collect(number)
            number += 1
            time.sleep(0.01)

    def cancel(self):
        self.running = False


settings = Configuration()
settings.set_string("execution.target", "in-process")
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(1)
numbers = env.add_source(Numbers(int(sys.argv[2]) if len(sys.argv) > 2 else -1))
numbers.map(lambda n: n * 2).print()
env.execute(sys.argv[1])
