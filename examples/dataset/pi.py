"""Pi by throwing darts: a bulk iteration that keeps a count of the hits."""

import random

from penstock.dataset import DataSet, ExecutionEnvironment

THROWS = 20000


def throw(state: tuple[int, int]) -> tuple[int, int]:
    step, hits = state
    chance = random.Random(step)
    x, y = chance.random(), chance.random()
    return step + 1, hits + (1 if x * x + y * y <= 1 else 0)


def throw_many(state: tuple[int, int]) -> tuple[int, int]:
    for _ in range(THROWS // 10):
        state = throw(state)
    return state


def darts(env: ExecutionEnvironment) -> DataSet:
    """Return `(throws, hits)`."""
    loop = env.from_elements((0, 0)).iterate(10)
    return loop.close_with(loop.map(throw_many))


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment().set_parallelism(1)
    ((steps, hits),) = darts(env).collect()
    print(f"pi is about {4 * hits / steps:.2f} after {steps} throws")


if __name__ == "__main__":
    main()
