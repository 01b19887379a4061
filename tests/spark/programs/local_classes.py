"""Keys, state and records of classes that are defined inside a function; functions as records.

Prints one line for each record: what its key's state held, and whether classes are what they are.
"""

import enum
import sys
import wave  # the one beside this script, not Python's own
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.common import Configuration
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor


def double(number: int) -> int:
    return 2 * number


class Named:
    """A key whose hash is made from a string."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def build(env: StreamExecutionEnvironment, fatal: int) -> None:
    class Colour(enum.Enum):
        RED = 1
        GREEN = 2

    @dataclass(frozen=True)
    class Key:
        name: str
        colour: Colour

    @dataclass
    class Held:
        number: int
        colour: Colour

    class Counting(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.held = runtime_context.get_state(ValueStateDescriptor("held"))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
            number, function = value
            if number == fatal:
                raise ValueError("half-way")
            held = self.held.value() or Held(0, Colour.RED)
            assert type(held) is Held
            assert held.colour is Colour.RED
            self.held.update(Held(held.number + 1, held.colour))
            key = ctx.get_current_key()
            name = key.name
            assert isinstance(key, Named) or key.colour is Colour.GREEN
            yield f"{type(key).__name__} {name} {number} {held.number + 1} {function(number)}"

    def key_of(value: tuple[int, Callable[[int], int]]) -> Key:
        return Key("abc"[value[0] % 3], Colour.GREEN)

    def name_of(value: tuple[int, Callable[[int], int]]) -> Named:
        return Named("abc"[value[0] % 3] + wave.SUFFIX)

    records = env.from_collection([(n, double) for n in range(30)])
    records.key_by(key_of).process(Counting()).print()
    records.key_by(name_of).process(Counting()).print()


def main(directory: str, fatal: int) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", directory)
    configuration.set_string("penstock.batch.max-records", "5")
    configuration.set_string("restart-strategy.type", "none")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    build(env, fatal)
    env.execute("local classes")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
