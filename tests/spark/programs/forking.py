"""A job in a program with a forked child, which lives on when the program is killed.

Arguments: folder, and whether to wait to be killed.
"""

import multiprocessing
import os
import sys
import time
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment


def main(folder: Path, waits: bool) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    configuration.set_string("penstock.batch.max-records", "5")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)

    def slowly(number: int) -> int:
        if waits and number == 12:
            (folder / "begun").touch()
            time.sleep(600)
        return number

    env.from_collection(list(range(20))).map(slowly).write_as_text(str(folder / "numbers"))
    client = env.execute_async("forking")
    if waits:
        while not (folder / "begun").exists():
            time.sleep(0.05)
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(300,))
        child.start()
        print(child.pid, os.getpid(), flush=True)
    client.get_job_execution_result().result()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "wait")
