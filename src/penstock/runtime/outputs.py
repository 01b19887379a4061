"""Where an operator's results go: next operators of the same task, and exchanges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import compress, count
from typing import Any, Protocol

from penstock.graph.declared_types import Converter
from penstock.graph.plan import PlanOperator
from penstock.runtime.codec import freeze, thaw
from penstock.runtime.gate import Channel, Gate

#: How to take one record, and how to take many.
_Takers = tuple[Callable[[Any], None], Callable[[Iterable[Any]], None]]


class Consumer(Protocol):
    """One taker of an operator's results."""

    def process(self, value: Any, /) -> None:
        """Take one record."""

    def process_all(self, values: Iterable[Any], /) -> None:
        """Take many records."""

    def watermark(self, watermark: int) -> None:
        """Take a watermark."""

    def set_idle(self, idle: bool) -> None:
        """Learn that the stream is idle, or active again."""

    def end(self) -> None:
        """Learn that the stream has ended."""


class LocalConsumer:
    """An operator of the same task: records are direct calls of its methods."""

    def __init__(
        self,
        process: Callable[[Any], None],
        process_all: Callable[[Iterable[Any]], None],
        gate: Gate,
        channel: Channel,
    ) -> None:
        self.process = process
        self.process_all = process_all
        self._gate = gate
        self._channel = channel

    def watermark(self, watermark: int) -> None:
        """Take a watermark."""
        self._gate.advance(self._channel, watermark)

    def set_idle(self, idle: bool) -> None:
        """Learn that the stream is idle, or active again."""
        self._gate.set_idle(self._channel, idle)

    def end(self) -> None:
        """Learn that the stream has ended."""
        self._gate.end(self._channel)


def _drop(value: Any) -> None:
    """Nobody takes it."""


def _drop_all(values: Iterable[Any]) -> None:
    for _ in values:  # pull: the operators in front must run all the same
        pass


class _FanOut:
    """Several takers of the same records. Each gets an object of its own, as in Flink."""

    def __init__(self, consumers: list[Consumer]) -> None:
        self._first = [consumer.process for consumer in consumers[:-1]]
        self._last = consumers[-1].process

    def process(self, value: Any) -> None:
        entry = freeze(value)
        if entry is value:
            for process in self._first:
                process(value)
        else:
            for process in self._first:
                process(thaw(entry))
        self._last(value)

    def process_all(self, values: Iterable[Any]) -> None:
        process = self.process
        for value in values:
            process(value)


class Conversion:
    """Turn records into ones of the declared type on their way out."""

    def __init__(
        self,
        plan: PlanOperator,
        convert: Converter,
        process: Callable[[Any], None],
        process_all: Callable[[Iterable[Any]], None],
    ) -> None:
        self.plan = plan
        self._convert = convert
        self._process = process
        self._process_all = process_all

    def process(self, value: Any) -> None:
        self._process(next(self._convert.each(self, (value,))))

    def process_all(self, values: Iterable[Any]) -> None:
        self._process_all(self._convert.each(self, values))


class RecordCounter:
    """Count records on their way to their takers."""

    def __init__(
        self, process: Callable[[Any], None], process_all: Callable[[Iterable[Any]], None]
    ) -> None:
        self._process = process
        self._process_all = process_all
        self._single = 0
        self._ticks = count(1)

    def process(self, value: Any) -> None:
        self._single += 1
        self._process(value)

    def process_all(self, values: Iterable[Any]) -> None:
        # All ticks are true: what passes through is all there is, at no call into Python.
        self._process_all(compress(values, self._ticks))

    @property
    def count(self) -> int:
        """The records since the last reset."""
        ticks = next(self._ticks)
        self._ticks = count(ticks)
        return self._single + ticks - 1

    def reset(self) -> None:
        """Begin anew."""
        self._single = 0
        self._ticks = count(1)


class Output:
    """All takers of one operator: of its main output, and of its side outputs by tag.

    :param counted: tags of the outputs whose records are to be counted; None is the main one.
    """

    def __init__(
        self,
        main: list[Consumer],
        sides: dict[str, list[Consumer]],
        plan: PlanOperator | None = None,
        counted: Collection[str | None] = (),
    ) -> None:
        self.counters: dict[str | None, RecordCounter] = {}
        self.process, self.process_all = self._counted(None, counted, _joined(main))
        if plan is not None and plan.converter is not None:
            conversion = Conversion(plan, plan.converter, self.process, self.process_all)
            self.process, self.process_all = conversion.process, conversion.process_all
        converters = {} if plan is None else plan.side_converters
        self.sides: dict[str, Callable[[Any], None]] = {}
        for tag, consumers in sides.items():
            takers = self._counted(tag, counted, _joined(consumers))
            if plan is not None and tag in converters:
                self.sides[tag] = Conversion(plan, converters[tag], *takers).process
            else:
                self.sides[tag] = takers[0]
        #: Whether an operator of the same task is handed the very objects that are emitted.
        self.local = any(isinstance(consumer, LocalConsumer) for consumer in main)
        self._all = [*main, *(consumer for group in sides.values() for consumer in group)]
        if len(self._all) == 1:
            # A watermark may follow every record: it goes straight to the only one.
            self.watermark = self._all[0].watermark  # type: ignore[method-assign]

    def _counted(
        self, tag: str | None, counted: Collection[str | None], takers: _Takers
    ) -> _Takers:
        if tag not in counted:
            return takers
        counter = self.counters[tag] = RecordCounter(*takers)
        return counter.process, counter.process_all

    def to_side(self, tag: str, value: Any) -> None:
        """Send a record to a side output; nobody may be listening."""
        process = self.sides.get(tag)
        if process is not None:
            process(value)

    def watermark(self, watermark: int) -> None:
        """Send a watermark to everybody."""
        for consumer in self._all:
            consumer.watermark(watermark)

    def set_idle(self, idle: bool) -> None:
        """Tell everybody that the stream is idle, or active again."""
        for consumer in self._all:
            consumer.set_idle(idle)

    def end(self) -> None:
        """Tell everybody that the stream has ended."""
        for consumer in self._all:
            consumer.end()


def _joined(consumers: list[Consumer]) -> _Takers:
    if not consumers:
        return _drop, _drop_all
    if len(consumers) == 1:
        return consumers[0].process, consumers[0].process_all
    fan_out = _FanOut(consumers)
    return fan_out.process, fan_out.process_all
