"""Count words: a line becomes words, words become pairs, pairs are added up by word."""

import logging
import sys

from penstock.common import Types
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

LINES = [
    "the river runs and the river bends",
    "the mill stands where the river bends",
    "the wheel turns and the mill hums",
]


def word_count():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    # all of the output in one place
    env.set_parallelism(1)

    ds = env.from_collection(LINES, type_info=Types.STRING())

    def split(line):
        yield from line.split()

    # compute word count
    ds = (
        ds.flat_map(split, output_type=Types.STRING())
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )

    ds.print()

    # submit for execution
    env.execute("word count")


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="%(message)s")
    word_count()
