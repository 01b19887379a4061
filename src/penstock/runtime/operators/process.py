"""Process functions on one input, keyed and not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from penstock.core.functions import KeyedProcessFunction, ProcessFunction
from penstock.core.output_tag import OutputTag, tag_id_of
from penstock.core.time import TimeDomain, TimerService
from penstock.core.value_keys import unwrapped
from penstock.runtime.context import KeyedTimerService, OperatorTimerService
from penstock.runtime.operators.base import Operator
from penstock.runtime.timers import TimerQueue


class ResultOperator(Operator):
    """An operator whose function returns or yields results, some of them for side outputs."""

    def timers(self) -> TimerService:
        """Return the timer service that the function's contexts hand out."""
        where = self.plan.describe()
        if self.backend is None:
            return OperatorTimerService(self.scope, lambda: self.watermark, where)
        return KeyedTimerService(self.backend, self.scope, lambda: self.watermark, where)

    def send(self, results: Iterable[Any] | None) -> None:
        """Send results on: `(OutputTag, value)` pairs to side outputs, the others to the main."""
        if results is None:
            return
        emit = self.emit
        try:
            for result in results:
                if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                    self.output.to_side(result[0].tag_id, result[1])
                else:
                    emit(result)
        except TypeError:
            self.require_iterable(results)
            raise


class ElementContextImpl(KeyedProcessFunction.Context, ProcessFunction.Context):
    """What is known while a record is processed: one object, read through to the task's scope."""

    def __init__(self, operator: ResultOperator) -> None:
        self._operator = operator
        self._scope = operator.scope
        self._timers = operator.timers()

    def timestamp(self) -> int | None:
        return self._scope.timestamp

    def timer_service(self) -> TimerService:
        return self._timers

    def get_current_key(self) -> Any:
        backend = self._operator.backend
        return None if backend is None else unwrapped(backend.context.key)

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        self._operator.output.to_side(tag_id_of(output_tag), value)


class TimerContextImpl(ElementContextImpl, KeyedProcessFunction.OnTimerContext):
    """What is known while a timer fires."""

    domain = TimeDomain.EVENT_TIME
    fired_at: int | None = None

    def timestamp(self) -> int | None:
        # Results of a processing-time timer have no timestamp; the timer itself has one.
        return self.fired_at

    def time_domain(self) -> TimeDomain:
        return self.domain


class ProcessOperator(ResultOperator):
    """A process function on a stream that is not keyed."""

    def open(self) -> None:
        """Open the user's function."""
        self._context = ElementContextImpl(self)
        function = self.host(self.spec.function)
        super().open()
        self._process = function.process_element

    def process(self, value: Any) -> None:
        """Take one record."""
        self.send(self._process(value, self._context))


class TimerOperator(ResultOperator):
    """An operator whose function is told about timers."""

    function: Any
    _timer_context: Any

    def open(self) -> None:
        """Open the user's function."""
        self._timer_context = TimerContextImpl(self)
        super().open()

    def fire_event_timers(self, until: int) -> None:
        """Call the function's `on_timer` for the timers that a watermark has reached."""
        assert self.backend is not None
        self._timer_context.domain = TimeDomain.EVENT_TIME
        self.emit_all(self._fired(self.backend.event_timers, until, has_time=True))

    def fire_processing_timers(self, time: int) -> None:
        """Call the function's `on_timer` for the timers that are due when a batch begins."""
        assert self.backend is not None
        self._timer_context.domain = TimeDomain.PROCESSING_TIME
        self.emit_all(self._fired(self.backend.processing_timers, time, has_time=False))

    def _fired(self, queue: TimerQueue, until: int, has_time: bool) -> Iterator[Any]:
        assert self.backend is not None
        current, scope, to_side = self.backend.context, self.scope, self.output.to_side
        function, context = self.function, self._timer_context
        for timestamp, current.key in queue.due(until):
            context.fired_at = timestamp
            scope.timestamp = timestamp if has_time else None
            results = function.on_timer(timestamp, context)
            if results is None:
                continue
            try:
                for result in results:
                    if (
                        type(result) is tuple
                        and len(result) == 2
                        and isinstance(result[0], OutputTag)
                    ):
                        to_side(result[0].tag_id, result[1])
                    else:
                        yield result
            except TypeError:
                self.require_iterable(results)
                raise


class KeyedProcessOperator(TimerOperator):
    """A process function on a keyed stream."""

    def open(self) -> None:
        """Open the user's function."""
        self._context = ElementContextImpl(self)
        self.function = self.host(self.spec.function)
        super().open()
        self._process = self.function.process_element

    def process(self, value: Any) -> None:
        """Take one record."""
        self.send(self._process(value, self._context))

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many records, each under its key."""
        times = repeat(None) if timestamps is None else timestamps
        self.emit_all(self._results(keys, times, values))

    def _results(self, keys: list[Any], timestamps: Any, values: list[Any]) -> Iterator[Any]:
        # As `send` does it, in one frame that stays.
        assert self.backend is not None
        current, scope, to_side = self.backend.context, self.scope, self.output.to_side
        process, context = self._process, self._context
        for current.key, scope.timestamp, value in zip(keys, timestamps, values, strict=False):
            results = process(value, context)
            if results is None:
                continue
            try:
                for result in results:
                    if (
                        type(result) is tuple
                        and len(result) == 2
                        and isinstance(result[0], OutputTag)
                    ):
                        to_side(result[0].tag_id, result[1])
                    else:
                        yield result
            except TypeError:
                self.require_iterable(results)
                raise
