"""Two jobs with different log levels, in one Spark."""

import sys
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment


def main() -> None:
    log = Path(sys.argv[1])
    for level in ("error", "info", "off"):
        configuration = Configuration()
        configuration.set_string("penstock.spark.log-level", level)
        configuration.set_string("penstock.spark.log-file", str(log))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1)
        before = log.read_text().count("INFO") if log.exists() else 0
        env.from_collection([1]).print()
        env.execute(level)
        print(level, log.read_text().count("INFO") > before)


if __name__ == "__main__":
    main()
