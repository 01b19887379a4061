"""What all subtasks share: a broadcast set, a cached file, and a counter that they add to."""

import tempfile
from pathlib import Path
from typing import Any

from penstock.core.functions import IntCounter
from penstock.dataset import ExecutionEnvironment
from penstock.dataset.functions import RichMapFunction


class Describe(RichMapFunction):
    """Look a name up in the broadcast set, and count."""

    def open(self, runtime_context: Any) -> None:
        self.ages = dict(runtime_context.get_broadcast_variable("ages"))
        path = runtime_context.get_distributed_cache().get_file("greeting")
        self.greeting = Path(path).read_text().strip()
        self.names = IntCounter()
        runtime_context.add_accumulator("names", self.names)

    def map(self, value: str) -> str:
        self.names.add(1)
        return f"{self.greeting} {value}, {self.ages[value]}"


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment().set_parallelism(2)
    with tempfile.TemporaryDirectory() as folder:
        greeting = Path(folder) / "greeting.txt"
        greeting.write_text("hello\n")
        env.register_cached_file(greeting, "greeting")

        ages = env.from_elements(("zs", 18), ("ls", 20), ("ww", 17))
        names = env.from_elements("zs", "ls", "ww")
        names.map(Describe()).with_broadcast_set(ages, "ages").print()
        result = env.get_last_job_execution_result()
        print(f"names: {result.get_accumulator_result('names')}")


if __name__ == "__main__":
    main()
