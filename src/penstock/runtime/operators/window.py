"""The window operator for any assigner, trigger and evictor, by the rules of Flink's.

Timers of the trigger and the timer that ends a window stand in the same queues, under the window's
namespace; one that both set for the same time fires once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.core.windowing import MergingWindowAssigner, TriggerResult
from penstock.errors import ProgramError
from penstock.runtime.operators.window_base import WindowOperatorBase
from penstock.runtime.state.tables import ValueTable
from penstock.runtime.windowing.contents import (
    CombinedContents,
    Contents,
    ElementContents,
    TimedContents,
)
from penstock.runtime.windowing.contexts import (
    AssignerContextImpl,
    EvictorContextImpl,
    TriggerContextImpl,
)
from penstock.runtime.windowing.merging import SETS, MergingWindowSet
from penstock.runtime.windowing.panes import Pane, namespace_of, window_of

_CONTINUE = TriggerResult.CONTINUE


class WindowOperator(WindowOperatorBase):
    """Windows of any kind."""

    def open(self) -> None:
        """Open the user's functions."""
        assert self.backend is not None
        spec = self.spec
        self._assigner, self._trigger, self._evictor = spec.assigner, spec.trigger, spec.evictor
        for part in (self._assigner, self._trigger, self._evictor):
            if part is not None and not type(part).__module__.startswith("penstock."):
                self.host(part)
        self._merging = isinstance(self._assigner, MergingWindowAssigner)
        self._sets: ValueTable = self.backend.table(SETS, "value")
        self._assigner_context = AssignerContextImpl(self)
        self._trigger_context = TriggerContextImpl(self)
        self._evictor_context = EvictorContextImpl(self)
        super().open()
        self._contents = self._make_contents()
        timers = self.backend.event_timers if self._event_time else self.backend.processing_timers
        self._cleanup_timers = timers

    def _make_contents(self) -> Contents:
        assert self.backend is not None
        if self._evictor is not None:
            return TimedContents(self.backend)
        if self._combiner is not None:
            return CombinedContents(self.backend, self._combiner)
        return ElementContents(self.backend)

    # --- records --------------------------------------------------------------------------

    def process(self, value: Any) -> None:
        """Take one record."""
        key, timestamp = self._keys.key, self.scope.timestamp
        if timestamp is None and self._event_time:
            raise self.missing_timestamp(value)
        time = MIN_WATERMARK if timestamp is None else timestamp
        skipped = True
        for window in self._assigner.assign_windows(value, time, self._assigner_context):
            window, state = self._join(key, window)
            if window is None:
                continue
            skipped = False
            namespace = namespace_of(window)
            self._contents.add((key, state), value, timestamp)
            self._trigger_context.enter(key, namespace)
            result = self._trigger.on_element(value, time, window, self._trigger_context)
            if result is not _CONTINUE:
                self._settle(key, namespace, state, window.max_timestamp(), result)
            self._register_cleanup(key, namespace, window)
        if skipped and self._event_time and time + self._lateness <= self.watermark:
            self.drop(value)

    def _join(self, key: Any, window: Any) -> tuple[Any, Any]:
        """Return the window that an element joins and its state window; None if it is too late."""
        if not self._merging:
            late = self._is_late(window)
            return (None, None) if late else (window, namespace_of(window))
        windows = MergingWindowSet(self._assigner, self._sets, key)

        def on_merge(merged: Any, members: list[Any], state: Any, states: list[Any]) -> None:
            self._merge(key, merged, members, state, states)

        window = windows.add(window, on_merge)
        namespace = namespace_of(window)
        late = self._is_late(window)
        if late:
            windows.retire(namespace)
        windows.save()
        return (None, None) if late else (window, windows.state_of(namespace))

    def _merge(
        self, key: Any, merged: Any, members: list[Any], state: Any, states: list[Any]
    ) -> None:
        """Move triggers, timers and contents of windows that have become one."""
        self._require_future(merged)
        context = self._trigger_context
        context.enter(key, namespace_of(merged))
        context.merging(members)
        self._trigger.on_merge(merged, context)
        for member in members:
            window = window_of(member)
            context.enter(key, member)
            self._trigger.clear(window, context)
            self._cleanup_timers.delete(self.cleanup_time(window.max_timestamp()), (key, member))
        self._contents.merge((key, state), [(key, other) for other in states])

    def _require_future(self, window: Any) -> None:
        if self._event_time:
            past = self._is_late(window)
        else:
            past = window.max_timestamp() <= self.scope.time
        if past:
            raise ProgramError(
                "a window must not end in the past because windows merge",
                where=f"{self.plan.describe()} ({self._assigner!r})",
                got=f"{window!r} at watermark {self.watermark}, time {self.scope.time}",
                todo="let merge_windows return a window that covers all of those that it merges",
            )

    def _is_late(self, window: Any) -> bool:
        return self._event_time and self.cleanup_time(window.max_timestamp()) <= self.watermark

    # --- firing ---------------------------------------------------------------------------

    def _settle(
        self, key: Any, namespace: Any, state: Any, max_timestamp: int, result: TriggerResult
    ) -> None:
        """Do what a trigger has decided: fire, purge, or both."""
        pane = (key, state)
        if result.is_fire():
            if self._evictor is not None:
                self._fire_evicting(pane, namespace, max_timestamp)
            elif (elements := self._contents.elements(pane)) is not None:
                self.emit_window(key, namespace, max_timestamp, elements)
        if result.is_purge():
            self._contents.clear(pane)

    def _fire_evicting(self, pane: Pane, namespace: Any, max_timestamp: int) -> None:
        contents, context, window = self._contents, self._evictor_context, window_of(namespace)
        assert isinstance(contents, TimedContents)
        timed = contents.timed(pane)
        if not timed:
            return
        self._evictor.evict_before(timed, len(timed), window, context)
        elements = [each.value for each in timed]
        if self._combiner is not None:
            elements = self._combiner.over(elements)
        self.emit_window(pane[0], namespace, max_timestamp, elements)
        self._evictor.evict_after(timed, len(timed), window, context)
        contents.replace(pane, timed)

    def _register_cleanup(self, key: Any, namespace: Any, window: Any) -> None:
        time = self.cleanup_time(window.max_timestamp())
        if time < MAX_WATERMARK:  # a window that lasts for ever needs no timer
            self._cleanup_timers.register(time, (key, namespace))

    # --- timers ---------------------------------------------------------------------------

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Ask the trigger; end the window if its time has come."""
        self._on_timer(timestamp, key, namespace, self._trigger.on_event_time, self._event_time)

    def on_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Ask the trigger; end the window if its time has come."""
        asked = self._trigger.on_processing_time
        self._on_timer(timestamp, key, namespace, asked, not self._event_time)

    def _on_timer(
        self,
        timestamp: int,
        key: Any,
        namespace: Any,
        ask: Callable[[int, Any, Any], TriggerResult],
        may_end: bool,
    ) -> None:
        state, window = namespace, window_of(namespace)
        windows = None
        if self._merging:
            windows = MergingWindowSet(self._assigner, self._sets, key)
            if not windows.has(namespace):
                return  # the window has merged and its trigger left the timer behind
            state = windows.state_of(namespace)
        max_timestamp = window.max_timestamp()
        self._trigger_context.enter(key, namespace)
        result = ask(timestamp, window, self._trigger_context)
        if result is not _CONTINUE:
            self._settle(key, namespace, state, max_timestamp, result)
        if may_end and timestamp == self.cleanup_time(max_timestamp):
            self._contents.clear((key, state))
            self._trigger.clear(window, self._trigger_context)
            self.clear_window(key, namespace)
            if windows is not None:
                windows.retire(namespace)
                windows.save()
