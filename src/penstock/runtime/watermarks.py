"""Watermark generation: timestamps given to records, and generators asked for watermarks.

Flink asks a periodic generator every 200 ms of processing time. Processing time stands still
inside a batch, so here it is asked after every so many records, counted from the batch's start,
and at the batch's end: a replay asks at the same places.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.common.watermark import Watermark, WatermarkOutput
from penstock.common.watermark_generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarks,
)
from penstock.common.watermark_strategy import WatermarkStrategy, WatermarkStrategyContext
from penstock.core.metrics import MetricGroup
from penstock.core.pickling import PROTOCOL, is_picklable
from penstock.core.time import MIN_WATERMARK
from penstock.errors import MissingTimestampError, show_value
from penstock.graph.plan import PlanOperator
from penstock.runtime.scope import Scope

_BOUNDED = (BoundedOutOfOrdernessWatermarks, AscendingTimestampsWatermarks)


class _Collector(WatermarkOutput):
    """What a generator writes to."""

    def __init__(self, source: WatermarkSource) -> None:
        self._source = source

    def emit_watermark(self, watermark: Watermark) -> None:
        time = watermark.timestamp if isinstance(watermark, Watermark) else watermark
        self._source.advance(time)

    def mark_idle(self) -> None:
        self._source.set_idle(True)

    def mark_active(self) -> None:
        self._source.set_idle(False)


class WatermarkSource:
    """One generator at work on one stream of records (a subtask's, or a split's).

    :param plan: the operator that it works for.
    :param metrics: the operator's, for generators that count something.
    :param on_change: called when the watermark rises or the stream goes idle or comes back.
    """

    def __init__(
        self,
        plan: PlanOperator,
        strategy: WatermarkStrategy,
        scope: Scope,
        interval: int,
        on_change: Callable[[], None],
        metrics: MetricGroup | None = None,
    ) -> None:
        self.plan = plan
        context = WatermarkStrategyContext(metrics)
        self._generator = strategy.create_watermark_generator(context)
        self._assign = strategy.assigner_for(self._generator, context)
        # An assigner object of the user's may keep attributes: it is the method's own object.
        self._assigner = getattr(self._assign, "__self__", None)
        self._silent = self._assign is None and type(self._generator) is NoWatermarks
        self._bounded = type(self._generator) in _BOUNDED
        self._idle_timeout: int | None = strategy.idle_timeout_ms
        self._scope = scope
        self._interval = interval
        self._on_change = on_change
        self._output = _Collector(self)
        self._count = 0
        self._last_active: int | None = None
        self.watermark = MIN_WATERMARK
        self.idle = False

    def begin_batch(self) -> None:
        """Start counting anew."""
        self._count = 0
        if self._last_active is None:
            self._last_active = self._scope.time

    def stamp(self, values: Iterable[Any]) -> Iterable[Any]:
        """Return the records, the scope's timestamp set for each, watermarks between them."""
        if self._silent and isinstance(values, list):
            # Neither timestamps nor watermarks: nothing to be done for each of them.
            if self.idle:
                self.set_idle(False)
            self._count += len(values)
            return values
        return self._stamped_bounded(values) if self._bounded else self._stamped(values)

    def _stamped(self, values: Iterable[Any]) -> Iterator[Any]:
        scope, assign, generator = self._scope, self._assign, self._generator
        on_event, output, interval = generator.on_event, self._output, self._interval
        for value in values:
            before = timestamp = scope.timestamp
            if assign is not None:
                timestamp = assign(value, MIN_WATERMARK if timestamp is None else timestamp)
                if type(timestamp) is not int:
                    timestamp = _whole(timestamp, value, self.plan)
                scope.timestamp = timestamp
            if self.idle:
                self.set_idle(False)
            yield value
            # Behind the yield: the record has been through the whole task, as in Flink, before
            # the generator may raise the watermark.
            on_event(value, MIN_WATERMARK if timestamp is None else timestamp, output)
            self._count += 1
            if self._count % interval == 0:
                generator.on_periodic_emit(output)
            scope.timestamp = before  # the next record must not inherit this one's

    def _stamped_bounded(self, values: Iterable[Any]) -> Iterator[Any]:
        """Do the same, and in place of the call what the commonest generators do on an event."""
        scope, assign = self._scope, self._assign
        generator: Any = self._generator
        interval, largest = self._interval, generator.max_timestamp
        next_emit = interval - self._count % interval
        number = 0
        for value in values:
            before = timestamp = scope.timestamp
            if assign is not None:
                timestamp = assign(value, MIN_WATERMARK if timestamp is None else timestamp)
                if type(timestamp) is not int:
                    timestamp = _whole(timestamp, value, self.plan)
                scope.timestamp = timestamp
            if self.idle:
                self.set_idle(False)
            yield value
            if timestamp is not None and timestamp > largest:
                largest = timestamp
            number += 1
            if number == next_emit:
                next_emit += interval
                generator.max_timestamp = largest
                generator.on_periodic_emit(self._output)
            scope.timestamp = before
        generator.max_timestamp = largest
        self._count += number

    def end_batch(self) -> None:
        """Ask the generator, and look whether the stream has been silent for too long."""
        if self._count:
            self._last_active = self._scope.time
        elif (
            self._idle_timeout is not None
            and self._last_active is not None
            and self._scope.time >= self._last_active + self._idle_timeout
        ):
            self.set_idle(True)
            return  # an idle stream is not asked: its old watermark would wake it up
        self._generator.on_periodic_emit(self._output)

    def idle_at(self) -> int | None:
        """Return when the stream becomes idle if nothing comes."""
        if self._idle_timeout is None or self.idle or self._last_active is None:
            return None
        return self._last_active + self._idle_timeout

    def advance(self, watermark: int) -> None:
        """Take a watermark; it never falls, and one that does not rise wakes nobody up."""
        if watermark > self.watermark:
            self.watermark = watermark
            self.idle = False
            self._on_change()

    def set_idle(self, idle: bool) -> None:
        """Go idle or come back."""
        if idle is not self.idle:
            self.idle = idle
            self._on_change()

    def snapshot(self) -> Any:
        """Return what the next batch must know; the attributes of the user's objects too."""
        holders = (_attributes(self._generator), _attributes(self._assigner))
        attributes = pickle.dumps(holders, PROTOCOL)
        return self.watermark, self.idle, self._last_active, attributes

    def restore(self, snapshot: Any) -> None:
        """Undo `snapshot`."""
        self.watermark, self.idle, self._last_active, attributes = snapshot
        generator, assigner = pickle.loads(attributes)
        for holder, saved in ((self._generator, generator), (self._assigner, assigner)):
            if saved:
                vars(holder).update(saved)


def _attributes(holder: Any) -> dict[str, Any]:
    held = getattr(holder, "__dict__", {})
    if is_picklable(held):
        return dict(held)
    return {name: value for name, value in held.items() if is_picklable(value)}


def _whole(timestamp: Any, value: Any, plan: PlanOperator) -> int:
    try:
        if int(timestamp) == timestamp:
            return int(timestamp)
    except (TypeError, ValueError, OverflowError):
        pass
    raise MissingTimestampError(
        "a timestamp assigner must return epoch milliseconds as a whole number",
        where=plan.describe(),
        got=f"{show_value(timestamp)} for {show_value(value)}",
        todo="return an int from extract_timestamp(value, record_timestamp)",
    )
