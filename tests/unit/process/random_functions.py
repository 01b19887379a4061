"""Process functions that do random things to state of every kind.

What a function does to a record follows from its seed and the record alone, so that two runs over
the same records do the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common import Time
from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.datastream import (
    AggregateFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
)

SIDE = OutputTag("side")
RULES = MapStateDescriptor("rules")
#: (key, number)
Pair = tuple[int, int]


class Mean(AggregateFunction):
    """An accumulator that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0] // accumulator[1]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


def add(a: int, b: int) -> int:
    return (a + b) % 1000


class States:
    """One state of each kind, with or without time to live, and random things done to them.

    :param ttl: milliseconds that entries live; None: for ever.
    """

    def __init__(self, seed: int, ttl: int | None) -> None:
        self.seed = seed
        self.ttl = ttl

    def descriptors(self) -> dict[str, Any]:
        found = {
            "value": ValueStateDescriptor("value"),
            "list": ListStateDescriptor("list"),
            "map": MapStateDescriptor("map"),
            "reducing": ReducingStateDescriptor("reducing", add),
            "aggregating": AggregatingStateDescriptor("aggregating", Mean()),
            "defaulted": ValueStateDescriptor("defaulted", default_value=[7]),
        }
        if self.ttl is not None:
            config = StateTtlConfig.new_builder(Time.milliseconds(self.ttl))
            if self.seed % 2:
                config.update_ttl_on_read_and_write()
            if self.seed % 3 == 0:
                config.disable_cleanup_in_background().return_expired_if_not_cleaned_up()
            for descriptor in found.values():
                descriptor.enable_time_to_live(config.build())
        return found

    def open(self, context: RuntimeContext) -> None:
        described = self.descriptors()
        self.value = context.get_state(described["value"])
        self.defaulted = context.get_state(described["defaulted"])
        self.list = context.get_list_state(described["list"])
        self.map = context.get_map_state(described["map"])
        self.reducing = context.get_reducing_state(described["reducing"])
        self.aggregating = context.get_aggregating_state(described["aggregating"])

    def change(self, chance: random.Random, number: int) -> None:
        for change in chance.sample(CHANGES, chance.randint(1, 4)):
            change(self, number)

    def seen(self) -> tuple[Any, ...]:
        return (
            repr(self.value.value()),
            tuple(self.list.get()),
            tuple(sorted((name, repr(value)) for name, value in self.map.items())),
            self.map.is_empty(),
            self.reducing.get(),
            self.aggregating.get(),
            tuple(self.defaulted.value() or ()),
        )

    # --- changes ------------------------------------------------------------------------------

    def set_value(self, number: int) -> None:
        self.value.update({"numbers": [number]} if number % 2 else number)

    def change_value_in_place(self, number: int) -> None:
        held = self.value.value()
        if isinstance(held, dict):
            held["numbers"].append(number)

    def clear_value(self, number: int) -> None:
        self.value.clear()

    def set_default(self, number: int) -> None:
        self.defaulted.update([*(self.defaulted.value() or [])[-2:], number])

    def append(self, number: int) -> None:
        self.list.add(number)
        self.list.add_all([number, number + 1])

    def shorten(self, number: int) -> None:
        self.list.update(list(self.list.get())[-2:])

    def clear_list(self, number: int) -> None:
        self.list.clear()

    def put(self, number: int) -> None:
        self.map.put(number % 5, [number])
        self.map.put_all({number % 3: [0]})

    def change_entry_in_place(self, number: int) -> None:
        for entry in self.map.values():
            entry.append(number)
            break

    def remove(self, number: int) -> None:
        self.map.remove(number % 5)

    def clear_map(self, number: int) -> None:
        self.map.clear()

    def reduce(self, number: int) -> None:
        self.reducing.add(number)

    def clear_reduced(self, number: int) -> None:
        self.reducing.clear()

    def aggregate(self, number: int) -> None:
        self.aggregating.add(number)

    def clear_aggregate(self, number: int) -> None:
        self.aggregating.clear()


CHANGES: list[Callable[[States, int], None]] = [
    States.set_value, States.change_value_in_place, States.clear_value, States.set_default,
    States.append, States.shorten, States.clear_list,
    States.put, States.change_entry_in_place, States.remove, States.clear_map,
    States.reduce, States.clear_reduced, States.aggregate, States.clear_aggregate,
]  # fmt: skip


class _Random:
    """What the functions below have in common."""

    def __init__(self, seed: int, ttl: int | None, timed: bool) -> None:
        self.seed = seed
        self.timed = timed
        self.states = States(seed, ttl)
        self.handled = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.states.open(runtime_context)
        self.count = runtime_context.get_int_counter("handled")
        self.metric = runtime_context.get_metrics_group().counter("handled")

    def handle(self, what: str, number: int, ctx: Any) -> Iterator[Any]:
        chance = random.Random(f"{self.seed}/{what}/{number}")
        self.handled += 1
        self.count.add(1)
        self.metric.inc()
        self.states.change(chance, number)
        self.set_timers(chance, number, ctx.timer_service(), ctx.timestamp())
        key = ctx.get_current_key()
        if chance.random() < 0.3:
            yield SIDE, (key, number, what)
        if chance.random() < 0.7:
            yield key, number, self.states.seen(), self.handled

    def set_timers(self, chance: random.Random, number: int, timers: Any, at: int | None) -> None:
        at = 0 if at is None else at
        if chance.random() < 0.4:
            timers.register_event_time_timer(at + chance.randint(-3, 12))
        if chance.random() < 0.2:
            timers.delete_event_time_timer(at + chance.randint(0, 6))
        if self.timed and chance.random() < 0.4:
            now = timers.current_processing_time()
            timers.register_processing_time_timer(now + chance.randint(-5, 40))
            timers.delete_processing_time_timer(now + chance.randint(5, 20))

    def fired(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        # Seldom sets another timer, or a function that lives in the past would never end.
        number = timestamp % 97
        self.states.change(random.Random(f"{self.seed}/timer/{timestamp}"), number)
        yield ctx.get_current_key(), number, self.states.seen(), ctx.time_domain().name


class RandomFunction(_Random, KeyedProcessFunction):
    def process_element(self, value: Pair, ctx: Any) -> Iterator[Any]:
        return self.handle("one", value[1], ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        return self.fired(timestamp, ctx)


class RandomCoFunction(_Random, KeyedCoProcessFunction):
    def process_element1(self, value: Pair, ctx: Any) -> Iterator[Any]:
        return self.handle("first", value[1], ctx)

    def process_element2(self, value: Pair, ctx: Any) -> Iterator[Any]:
        return self.handle("second", value[1], ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        return self.fired(timestamp, ctx)


class RandomBroadcastFunction(_Random, KeyedBroadcastProcessFunction, CheckpointedFunction):
    """Broadcast state, visits of all keys, and operator state of every kind as well."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.listed = store.get_list_state(ListStateDescriptor("listed"))
        self.united = store.get_union_list_state(ListStateDescriptor("united"))
        self.told = store.get_broadcast_state(MapStateDescriptor("told"))

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Any]:
        yield from self.handle("data", value[1], ctx)
        self.listed.add(value[1])
        if value[1] % 3 == 0:
            self.united.update([*list(self.united.get())[-3:], value[1]])
        rules = sorted(ctx.get_broadcast_state(RULES).items())
        yield value[0], rules, list(self.listed.get())[-3:], list(self.united.get())

    def process_broadcast_element(self, value: Pair, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if value[1] % 7 == 0:
            rules.clear()
        rules.put(value[1] % 4, [value[1]])
        chance = random.Random(f"{self.seed}/rule/{value[1]}")
        name, descriptor = chance.choice(list(self.states.descriptors().items()))
        visited: list[Any] = []

        def visit(key: Any, state: Any) -> None:
            visited.append(key)
            if (key + value[1]) % 4 == 0:
                state.clear()

        ctx.apply_to_keyed_state(descriptor, visit)
        yield "rule", value[1], name, tuple(visited)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from self.fired(timestamp, ctx)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.listed.update(list(self.listed.get())[-5:])
        self.told.put(context.get_checkpoint_id() % 3, [self.handled])
