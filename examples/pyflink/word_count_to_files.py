"""Count words into files: parts that are complete as soon as they can be seen."""

import logging
import shutil
import sys
import tempfile
from pathlib import Path

from penstock.common import Encoder, Types
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, OutputFileConfig, RollingPolicy

LINES = [
    "the river runs and the river bends",
    "the mill stands where the river bends",
    "the wheel turns and the mill hums",
]


def word_count(output_path):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)

    ds = env.from_collection(LINES, type_info=Types.STRING())

    def split(line):
        yield from line.split()

    ds = (
        ds.flat_map(split, output_type=Types.STRING())
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )

    ds.sink_to(
        sink=FileSink.for_row_format(base_path=output_path, encoder=Encoder.simple_string_encoder())
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
        )
        .with_rolling_policy(RollingPolicy.default_rolling_policy())
        .build()
    )

    env.execute("word count to files")


def show(output_path):
    """Print what any reader sees: each hour's folder has its parts, hidden files do not count."""
    for part in sorted(Path(output_path).glob("*/words-*.txt")):
        for line in sorted(part.read_text().splitlines()):
            print(line)
    hidden = [path for path in Path(output_path).rglob("*") if path.name.startswith(".")]
    print("left over:", len(hidden))


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="%(message)s")
    folder = tempfile.mkdtemp()
    word_count(folder)
    show(folder)
    shutil.rmtree(folder)
