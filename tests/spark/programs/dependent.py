"""A job on two executor processes whose function needs a zipped module and an archive."""

import sys
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment


def work(value: int) -> tuple[int, str]:
    import fromzip.lib

    return fromzip.lib.twice(value), Path("stuff/numbers.py").read_text()


def main() -> None:
    configuration = Configuration()
    configuration.set_string("penstock.master", "local-cluster[2,1,1024]")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.add_python_file(sys.argv[1])
    env.add_python_archive(sys.argv[2], "stuff")
    env.from_collection([1, 2]).map(work).print()
    env.execute("dependent")


if __name__ == "__main__":
    main()
