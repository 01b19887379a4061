"""User functions that random programs are made of. Records are pairs (key, number).

Those called *final* give the same results in whatever order the records of a key arrive: they
answer once, at the end of time. The others answer as records come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.core.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream import (
    CoMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
)

#: Behind every timestamp that a program has, and before the end of time.
AT_THE_END = 10**12
SIDE = OutputTag("side")
Pair = tuple[int, int]


def key_of(record: Pair) -> int:
    return record[0]


def keep_most(record: Pair) -> bool:
    return record[1] % 4 != 1


def repeat(record: Pair) -> list[Pair]:
    return [(record[0], record[1] + i) for i in range(record[1] % 3)]


def add(left: Pair, right: Pair) -> Pair:
    return left[0], (left[1] + right[1]) % 1000


def by_value(key: int, partitions: int) -> int:
    return (key * 7 + 1) % partitions


class Affine(MapFunction):
    def __init__(self, number: int) -> None:
        self.number = number

    def map(self, value: Pair) -> Pair:
        return (value[0] + self.number) % 5, (value[1] * 3 + self.number) % 100


class CountingMap(MapFunction):
    """Keep a count in an attribute and in an accumulator."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counter = runtime_context.get_int_counter("mapped")
        self.seen = 0

    def map(self, value: Pair) -> Pair:
        self.counter.add(1)
        self.seen += 1
        return value[0], (value[1] + self.seen) % 100


class ToSide(ProcessFunction):
    def process_element(self, value: Pair, ctx: Any) -> Iterator[Any]:
        if value[1] % 2:
            yield SIDE, (value[0], value[1] + 1)
        else:
            yield value


class Either(CoMapFunction):
    def map1(self, value: Pair) -> Pair:
        return value[0], value[1] + 1

    def map2(self, value: Pair) -> Pair:
        return value[0], value[1] + 2


class RunningValue(KeyedProcessFunction):
    """Number the records of a key; start anew after five of them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        count = (self.count.value() or 0) + 1
        yield value[0], value[1] * 10 + count
        if count == 5:
            self.count.clear()
        else:
            self.count.update(count)


class RunningList(KeyedProcessFunction):
    """Remember records; give them back, latest first, when there are three."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept"))

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        self.kept.add(value[1])
        kept = list(self.kept.get())
        if len(kept) == 3:
            self.kept.clear()
            yield from ((ctx.get_current_key(), number) for number in reversed(kept))


class RunningMap(KeyedProcessFunction):
    """Count each number of a key; drop those that come for the third time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        number = value[1] % 4
        count = (self.counts.get(number) or 0) + 1
        self.counts.put(number, count)
        if count == 3:
            self.counts.remove(number)
        yield value[0], sum(self.counts.values())


class EventTimers(KeyedProcessFunction):
    """Answer some time after each record, with how many there have been by then."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Pair, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        at = (ctx.timestamp() or 0) + value[1] % 7
        ctx.timer_service().register_event_time_timer(at)
        if value[1] % 5 == 0:
            ctx.timer_service().delete_event_time_timer(at + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        yield ctx.get_current_key(), timestamp % 1000 + self.count.value()


class ProcessingTimers(KeyedProcessFunction):
    """Answer after a while; the answer sets a timer that is due already."""

    def process_element(self, value: Pair, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + value[1] % 40)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        if timestamp % 3:
            ctx.timer_service().register_processing_time_timer(timestamp + 1)
        yield ctx.get_current_key(), timestamp % 1000


class RunningBoth(KeyedCoProcessFunction):
    """Take the second input as what the first one is multiplied by."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.factor = runtime_context.get_state(ValueStateDescriptor("factor"))
        self.order: list[int] = []

    def process_element1(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        self.order = [*self.order[-2:], value[1]]
        yield value[0], sum(self.order) * (self.factor.value() or 1) % 1000

    def process_element2(self, value: Pair, ctx: Any) -> None:
        self.factor.update(value[1] % 10 + 1)


class _Final:
    """Ask to be called at the end."""

    @staticmethod
    def wait(ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(AT_THE_END)


class FinalSum(_Final, KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: Pair, ctx: Any) -> None:
        self.total.update((self.total.value() or 0) + value[1])
        self.wait(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        yield ctx.get_current_key(), self.total.value()


class FinalList(_Final, KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept"))

    def process_element(self, value: Pair, ctx: Any) -> None:
        self.kept.add(value[1])
        self.wait(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        for place, number in enumerate(sorted(self.kept.get())):
            yield ctx.get_current_key(), place * 100 + number


class FinalMap(_Final, KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

    def process_element(self, value: Pair, ctx: Any) -> None:
        self.counts.put(value[1], (self.counts.get(value[1]) or 0) + 1)
        self.wait(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        for number, count in sorted(self.counts.items()):
            yield ctx.get_current_key(), number * 10 + count


class FinalBoth(_Final, KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = runtime_context.get_list_state(ListStateDescriptor("left"))
        self.right = runtime_context.get_state(ValueStateDescriptor("right"))

    def process_element1(self, value: Pair, ctx: Any) -> None:
        self.left.add(value[1])
        self.wait(ctx)

    def process_element2(self, value: Pair, ctx: Any) -> None:
        self.right.update((self.right.value() or 0) + value[1])
        self.wait(ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        yield ctx.get_current_key(), sum(self.left.get()) - (self.right.value() or 0)


class Reminder(KeyedProcessFunction):
    """Answer once for each moment at which a record of a key wants an answer."""

    def process_element(self, value: Pair, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 3)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
        yield ctx.get_current_key(), timestamp % 1000
