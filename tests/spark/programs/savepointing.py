"""A keyed job of which one savepoint after the other is taken, until it has ended."""

import sys
import threading
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError

RECORDS = [(f"key {n % 50}", n) for n in range(6_000)]


def main() -> None:
    place, slow = Path(sys.argv[1]), sys.argv[2] == "slow"
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", "60" if slow else "2000")
    configuration.set_string("execution.checkpointing.dir", str(place / "checkpoints"))
    if len(sys.argv) > 3:
        configuration.set_string("execution.state-recovery.path", sys.argv[3])
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    sums = env.from_collection(RECORDS).key_by(lambda pair: pair[0]).sum(1)
    sums.map(str).write_as_text(str(place / "out"), write_mode="OVERWRITE")
    client = env.execute_async("savepointing")

    def take() -> None:
        while True:
            try:
                client.trigger_savepoint(str(place / "savepoints")).result()
            except PenstockError:
                return

    if slow:
        threading.Thread(target=take, daemon=True).start()
    client.get_job_execution_result().result()


if __name__ == "__main__":
    main()
