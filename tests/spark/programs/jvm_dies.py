"""A sum whose JVM is killed on the way, and another job after it.

Arguments: folder, and `own` if the program makes its SparkSession itself.
"""

import logging
import os
import signal
import sys
import time
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobFailedError
from penstock.spark.gateway import jvm_pid

FATAL = 40


def main(folder: Path, own: bool) -> None:
    logging.basicConfig(level=logging.ERROR)
    if own:
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark.getOrCreate().sparkContext.setLogLevel("OFF")
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    configuration.set_string("execution.checkpointing.interval", "10 ms")
    configuration.set_string("penstock.batch.max-records", "10")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)

    def deadly(pair: tuple[str, int]) -> tuple[str, int]:
        if pair[1] == FATAL and not (folder / "killed").exists():
            (folder / "killed").touch()
            while not (folder / "jvm").exists():
                time.sleep(0.01)
            os.kill(int((folder / "jvm").read_text()), signal.SIGKILL)
        return pair

    pairs = env.from_collection([("ab"[n % 2], n) for n in range(80)])
    pairs.map(deadly).key_by(lambda pair: pair[0]).sum(1).write_as_text(str(folder / "sums"))
    client = env.execute_async("sums")
    first = jvm_pid()
    (folder / "jvm.tmp").write_text(str(first))
    (folder / "jvm.tmp").rename(folder / "jvm")
    try:
        client.get_job_execution_result().result()
    except JobFailedError as error:
        print(error, flush=True)
    print("same" if jvm_pid() == first else "another", flush=True)
    env.from_collection([1]).map(lambda n: n).print()
    try:
        env.execute("after")
    except JobFailedError as error:
        print(error, flush=True)
    if not own:
        commands = [" ".join(child.cmdline()) for child in psutil.Process().children()]
        print(sum("penstock.spark.nursery " in command for command in commands), "nursery")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] == ["own"])
