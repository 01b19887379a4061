"""Numbers without end, in a job with a secret among its settings, which prints each number."""

import time
from collections.abc import Iterator
from typing import Any

from penstock.common import Configuration
from penstock.datastream import SourceFunction, StreamExecutionEnvironment

SECRET = "5up3r-s3cr3t"


class Numbers(SourceFunction[int]):
    """Send a number every 50 milliseconds."""

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: Any) -> None:
        for number in self.numbers():
            ctx.collect(number)
            time.sleep(0.05)

    def numbers(self) -> Iterator[int]:
        number = 0
        while self.running:
            yield number
            number += 1

    def cancel(self) -> None:
        self.running = False


def main() -> None:
    configuration = Configuration()
    configuration.set_string("penstock.master", "local[2]")
    configuration.set_string("spark.hadoop.fs.s3a.secret.key", SECRET)
    configuration.set_string("spark.driver.extraJavaOptions", f"-Dpassword={SECRET}")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.add_source(Numbers()).key_by(lambda n: n % 2).map(lambda n: n).print()
    env.execute("secretive")


if __name__ == "__main__":
    main()
