"""Count for ever: numbers from a source function, by their last digit, into a file sink."""

import sys
import time

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import SourceFunction


class Numbers(SourceFunction):
    """Send 0, 1, 2 ... and go on after a restart."""

    def __init__(self):
        self.next = 0
        self.running = True

    def run(self, ctx):
        while self.running:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1
            time.sleep(0.01)

    def cancel(self):
        self.running = False


def count(value, state):
    total = (state or 0) + 1
    return (value % 10, total), total


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.add_source(Numbers()).uid("numbers").set_parallelism(1)
counted = numbers.key_by(lambda n: n % 10).map_with_state(count).uid("counts")
counted.map(lambda pair: f"{pair[0]} {pair[1]}").write_as_text(sys.argv[1], "OVERWRITE")
env.execute("endless counts")
