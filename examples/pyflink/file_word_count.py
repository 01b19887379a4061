"""Count the words of the files in a folder, read by a FileSource."""

import os
import tempfile

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat

LINES = [
    "the river runs and the river bends",
    "the mill stands where the river bends",
    "the wheel turns and the mill hums",
]


def word_count(input_path):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    # all of the output in one place
    env.set_parallelism(1)

    ds = env.from_source(
        source=FileSource.for_record_stream_format(StreamFormat.text_line_format(), input_path)
        .process_static_file_set()
        .build(),
        watermark_strategy=WatermarkStrategy.for_monotonous_timestamps(),
        source_name="file_source",
    )

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
    env.execute("word count of files")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(LINES):
            with open(os.path.join(folder, f"part-{number}.txt"), "w", encoding="utf-8") as file:
                file.write(line + "\n")
        word_count(folder)
