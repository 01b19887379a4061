"""Functions that print: whole lines from two subtasks, a failure right after a print."""

import sys

from penstock.datastream import StreamExecutionEnvironment


def tell(value: int) -> int:
    print("map", value)
    print("x" * 20_000)
    print("error stream", value, file=sys.stderr)
    return value


def fail(value: int) -> int:
    print("about to fail")
    sys.stdout.write("no newline")
    raise ValueError("failed")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(20)))
    numbers.rebalance().map(tell).filter(lambda n: n == 7).print("result")
    env.execute("telling")
    print("between", flush=True)
    env.from_collection([1]).map(fail).print()
    env.execute("failing")


if __name__ == "__main__":
    main()
