"""A job that prints two results, then one that fails."""

from penstock.datastream import StreamExecutionEnvironment


def check(value: int) -> int:
    if value == 3:
        raise ValueError("three is too many")
    return value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0]).sum(1).print()
    env.execute("good")
    env.from_collection([3]).map(check).print()
    env.execute("bad")


if __name__ == "__main__":
    main()
