"""Dataclasses of the program itself as records, as keys and in state: nothing to register."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor


@dataclass(frozen=True, order=True)
class Place:
    """A key: frozen, so that it can be hashed."""

    city: str
    shop: int


@dataclass
class Sale:
    """A record."""

    place: Place
    item: str
    cents: int


@dataclass
class Till:
    """What is kept for each place."""

    place: Place
    sales: int = 0
    cents: int = 0
    items: set[str] = field(default_factory=set)

    def add(self, sale: Sale) -> "Till":
        return Till(self.place, self.sales + 1, self.cents + sale.cents, self.items | {sale.item})


class Tills(KeyedProcessFunction):
    """Book each sale and tell how the till of its place stands."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.till = runtime_context.get_state(ValueStateDescriptor("till"))

    def process_element(self, value: Sale, ctx: KeyedProcessFunction.Context) -> Iterator[Till]:
        place = ctx.get_current_key()
        till = (self.till.value() or Till(place)).add(value)
        self.till.update(till)
        yield till


SALES = [
    Sale(Place("Bergen", 1), "tea", 450),
    Sale(Place("Oslo", 1), "milk", 210),
    Sale(Place("Bergen", 2), "bread", 390),
    Sale(Place("Bergen", 1), "milk", 215),
    Sale(Place("Oslo", 1), "milk", 210),
    Sale(Place("Bergen", 1), "tea", 450),
]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)

    tills = env.from_collection(SALES).key_by(lambda sale: sale.place).process(Tills())

    last: dict[Place, Till] = {}
    with tills.execute_and_collect("tills") as results:
        for till in results:
            last[till.place] = till
    for place, till in sorted(last.items()):
        items = ", ".join(sorted(till.items))
        print(f"{place.city} {place.shop}: {till.sales} sales, {till.cents / 100:.2f} ({items})")


if __name__ == "__main__":
    main()
