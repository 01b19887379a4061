"""What all window operators do: call the window's function, and deal with late records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.functions import ProcessAllWindowFunction, ProcessWindowFunction
from penstock.core.time import MAX_WATERMARK
from penstock.core.value_keys import unwrapped
from penstock.core.windowing import MergingWindowAssigner
from penstock.errors import MissingTimestampError, show_value
from penstock.runtime.calls import method_of
from penstock.runtime.operators.process import ResultOperator
from penstock.runtime.windowing.combine import Combiner, make_combiner
from penstock.runtime.windowing.contexts import FunctionContextImpl
from penstock.runtime.windowing.panes import window_of

#: Calls a window's function with key, window and elements.
WindowCall = Callable[[Any, Any, list[Any]], Any]


class WindowOperatorBase(ResultOperator):
    """Base of the window operators."""

    def open(self) -> None:
        """Open the user's functions."""
        assert self.backend is not None
        spec = self.spec
        self._keys = self.backend.context
        self._event_time: bool = spec.assigner.is_event_time()
        self._lateness: int = spec.allowed_lateness if self._event_time else 0
        self._dropped = self.late_counter()
        if spec.combine is not None:
            self.host(spec.combine.function)
        self._combiner: Combiner | None = make_combiner(spec.combine)
        self._function = spec.function
        if self._function is not None:
            self.host(self._function)
        merging = isinstance(spec.assigner, MergingWindowAssigner)
        self._function_context = FunctionContextImpl(self, merging)
        self._call = self._window_call()
        self._has_clear = _is_redefined(self._function, "clear")
        super().open()

    def _window_call(self) -> WindowCall | None:
        function, context = self._function, self._function_context
        if function is None:
            return None
        if isinstance(function, ProcessWindowFunction):
            return lambda key, window, elements: function.process(key, context, elements)
        if isinstance(function, ProcessAllWindowFunction):
            return lambda key, window, elements: function.process(context, elements)
        apply = method_of(function, "apply")
        if self.spec.all_windows:
            return lambda key, window, elements: apply(window, elements)
        return apply

    def cleanup_time(self, max_timestamp: int) -> int:
        """Return when a window goes, by the largest timestamp that belongs to it."""
        return min(max_timestamp + self._lateness, MAX_WATERMARK)

    def emit_window(
        self, key: Any, namespace: Any, max_timestamp: int, elements: list[Any]
    ) -> None:
        """Call the window's function and send on what it returns, at the window's time."""
        scope = self.scope
        before = scope.timestamp
        scope.timestamp = max_timestamp
        if self._call is None:
            for element in elements:
                self.emit(element)
        else:
            window = window_of(namespace)
            self._function_context.enter(key, window)
            self.send(self._call(unwrapped(key), window, elements))
        scope.timestamp = before

    # A window ends with its last millisecond, not at the beginning of it: as in Flink, timers in
    # processing time fire one millisecond later, so that records of that time still belong to it.

    def fire_processing_timers(self, time: int) -> None:
        """Fire the timers whose time has passed."""
        super().fire_processing_timers(time - 1)

    def next_processing_time(self) -> int | None:
        """Return when the next timer's time will have passed."""
        time = super().next_processing_time()
        return None if time is None else time + 1

    def clear_window(self, key: Any, namespace: Any) -> None:
        """Let the window's function forget a window."""
        if self._has_clear:
            self._function_context.enter(key, window_of(namespace))
            self._function.clear(self._function_context)

    def drop(self, value: Any) -> None:
        """Send a late record to its side output, or count it."""
        tag = self.spec.late_tag
        if tag is not None:
            self.output.to_side(tag, value)
        else:
            self._dropped.inc()

    def missing_timestamp(self, value: Any) -> MissingTimestampError:
        """Return the error for a record without a timestamp in an event-time window."""
        return MissingTimestampError(
            "record has no event timestamp",
            where=f"{self.plan.describe()} ({self.spec.assigner!r})",
            got=show_value(value),
            todo="call assign_timestamps_and_watermarks(...) on the stream before .window(...)",
        )


def _is_redefined(function: Any, method: str) -> bool:
    """Tell whether a window function has a method of its own, not the one that does nothing."""
    own = getattr(type(function), method, None)
    bases = (ProcessWindowFunction, ProcessAllWindowFunction)
    return own is not None and all(own is not getattr(base, method) for base in bases)
