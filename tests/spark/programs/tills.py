"""A job whose records, keys and state are dataclasses of this script; a few records a batch."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.common import Configuration
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

SALES = 400


@dataclass(frozen=True)
class Place:
    city: str
    shop: int


@dataclass
class Sale:
    place: Place
    cents: int


@dataclass
class Till:
    sales: int
    cents: int
    last: Sale


class Tills(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.till = runtime_context.get_state(ValueStateDescriptor("till"))

    def process_element(self, value: Sale, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        place = ctx.get_current_key()
        before = self.till.value()
        # What was read back must be of this script's classes, not of copies that only look alike.
        assert type(value) is Sale
        assert type(place) is Place
        assert before is None or (type(before) is Till and type(before.last) is Sale)
        assert before is None or before.last.place == place == value.place
        till = Till(1, value.cents, value)
        if before is not None:
            till = Till(before.sales + 1, before.cents + value.cents, value)
        self.till.update(till)
        yield f"{place.city}-{place.shop} {till.sales} {till.cents}"


def main(directory: str) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", directory)
    configuration.set_string("penstock.batch.max-records", "40")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    sales = [Sale(Place(("Bergen", "Oslo")[n % 2], n % 5), n) for n in range(SALES)]
    env.from_collection(sales).key_by(lambda sale: sale.place).process(Tills()).print()
    env.execute("tills")


if __name__ == "__main__":
    main(sys.argv[1])
