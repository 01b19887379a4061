"""Count the words of a text file: the batch program that everybody begins with."""

import tempfile
from pathlib import Path

from penstock.dataset import ExecutionEnvironment, Order

TEXT = """hello world
hello flink
hello spark
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hello.txt"
        path.write_text(TEXT)

        env = ExecutionEnvironment.get_execution_environment()
        lines = env.read_text_file(path)
        counts = (
            lines.flat_map(lambda line: line.split()).map(lambda word: (word, 1)).group_by(0).sum(1)
        )
        counts.sort_partition(0, Order.ASCENDING).set_parallelism(1).print()


if __name__ == "__main__":
    main()
