"""A keyed job on a temporary folder that ends as its argument says."""

import sys
import time
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment


def main() -> None:
    end, begun = sys.argv[1], Path(sys.argv[2])
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", "10")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    pairs = env.from_collection([("a", n) for n in range(100)])

    def act(pair: tuple[str, int]) -> tuple[str, int]:
        if pair[1] == 50:
            begun.touch()
            if end == "fail":
                raise ValueError("fifty")
            if end == "wait":
                time.sleep(600)
        return pair

    pairs.map(act).key_by(lambda pair: pair[0]).sum(1).write_as_text(str(begun) + ".out")
    env.execute("dying")


if __name__ == "__main__":
    main()
