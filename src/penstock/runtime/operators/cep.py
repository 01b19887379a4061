"""Complex event processing: feed the events of each key to an automaton, in the order of time.

In event time an event waits until the watermark has passed it. One timer a key says when there is
something to do: events have become due, or the time of a partial match is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from itertools import repeat
from typing import Any

from penstock.core.output_tag import OutputTag, tag_id_of
from penstock.core.pattern import PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.errors import MissingTimestampError, show_value
from penstock.runtime.calls import method_of
from penstock.runtime.cep.calls import results_of
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.match_state import MatchState
from penstock.runtime.cep.nfa import NFA, Match, TimedOut
from penstock.runtime.cep.tables import EventQueueTable, MatchTable
from penstock.runtime.operators.process import ResultOperator
from penstock.runtime.state.keyed_backend import KEY_TIMERS

#: Calls the user's function with a match; returns its results.
MatchCall = Callable[[Match], Iterable[Any] | None]


def _order_of(comparator: Callable[[Any, Any], int]) -> Callable[[tuple[int, Any]], Any]:
    """Return how to sort events with their times: by time, and by the user's order then."""
    rank = cmp_to_key(comparator)
    return lambda waiting: (waiting[0], rank(waiting[1]))


class _Context(PatternProcessFunction.Context):
    """What is known of a match."""

    def __init__(self, operator: CepOperator) -> None:
        self._operator = operator
        self.time = 0

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._operator.scope.time

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        self._operator.output.to_side(tag_id_of(output_tag), value)


class CepOperator(ResultOperator):
    """Find the matches of a pattern, and call the user's function with them."""

    def open(self) -> None:
        """Open the user's function and conditions."""
        assert self.backend is not None
        spec = self.spec
        pattern = spec.pattern
        self._context = _Context(self)
        self._on_match = self._match_call()
        self._on_timeout = self._timeout_call()
        skip_strategy = pattern.get_after_match_skip_strategy()
        self._nfa = NFA(compile_pattern(pattern), skip_strategy, self._on_timeout is not None)
        self.backend.timer_kind = KEY_TIMERS
        self._keys = self.backend.context
        self._queue: EventQueueTable = self.backend.table("\0queue", EventQueueTable.kind)
        self._matches: MatchTable = self.backend.table("\0matches", MatchTable.kind)
        self._timers = (
            self.backend.event_timers if spec.event_time else self.backend.processing_timers
        )
        self._order = (
            None if spec.comparator is None else _order_of(method_of(spec.comparator, "compare"))
        )
        self._dropped = self.late_counter()
        for function in (spec.function, spec.timeout_function, *self._nfa.functions):
            if function is not None:
                self.host(function)
        super().open()

    def _match_call(self) -> MatchCall:
        spec, context = self.spec, self._context
        if spec.method == "select":
            select = method_of(spec.function, "select")
            return lambda match: (select(match),)
        if spec.method == "flat_select":
            return results_of(spec.function, "flat_select", 1)
        process = results_of(spec.function, "process_match", 2)
        return lambda match: process(match, context)

    def _timeout_call(self) -> MatchCall | None:
        spec, context = self.spec, self._context
        if isinstance(spec.function, TimedOutPartialMatchHandler):
            process = spec.function.process_timed_out_match
            return lambda match: process(match, context)
        if spec.timeout_function is None:
            return None
        tag = OutputTag[Any](spec.timeout_tag)
        if spec.method == "select":
            timeout = method_of(spec.timeout_function, "timeout")
            return lambda match: ((tag, timeout(match, context.time)),)
        flat_timeout = results_of(spec.timeout_function, "timeout", 2)
        return lambda match: [(tag, each) for each in flat_timeout(match, context.time) or ()]

    # ---- events ------------------------------------------------------------------------------

    def process(self, value: Any) -> None:
        """Take one event."""
        time = self.scope.timestamp
        self.process_keyed([self._keys.key], None if time is None else [time], [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many events, each under its key."""
        if self.spec.event_time:
            self._enqueue(keys, repeat(None) if timestamps is None else timestamps, values)
        elif self._order is None:
            self._process_at_once(keys, values)
        else:
            # One that has come in this very millisecond may have to be sorted in.
            add, register, time = self._queue.add, self._timers.register, self.scope.time
            for key, value in zip(keys, values, strict=True):
                if add(key, time, value):
                    register(time + 1, key)

    def _enqueue(self, keys: list[Any], timestamps: Iterable[Any], values: list[Any]) -> None:
        watermark, add, register = self.watermark, self._queue.add, self._timers.register
        for key, time, value in zip(keys, timestamps, values, strict=False):
            if time is None:
                raise self._missing_timestamp(value)
            if time <= watermark:
                self._drop(value, time)
            elif add(key, time, value):
                register(time, key)

    def _process_at_once(self, keys: list[Any], values: list[Any]) -> None:
        nfa, current, time = self._nfa, self._keys, self.scope.time
        self.scope.timestamp = None
        for current.key, value in zip(keys, values, strict=True):
            state = self._matches.data.get(current.key) or nfa.initial_state()
            self._advance(state, time)
            self._emit(nfa.process(state, value, time, time), time)
            self._keep(current.key, state)

    # ---- time --------------------------------------------------------------------------------

    def fire_event_timers(self, until: int) -> None:
        """Go on with the keys that have something to do."""
        current = self._keys
        if self.spec.event_time:
            for _, current.key in self._timers.due(until):
                self._run(current.key, until)

    def fire_processing_timers(self, time: int) -> None:
        """Go on with the keys that have something to do."""
        current = self._keys
        if not self.spec.event_time:
            for _, current.key in self._timers.due(time):
                self._run(current.key, time)

    def _run(self, key: Any, until: int) -> None:
        """Process the waiting events of a key up to a time, and let that time come."""
        nfa, now, reached = self._nfa, self.scope.time, None
        process, emit = nfa.process, self._emit
        state = self._matches.data.get(key)
        if state is None:
            state = nfa.initial_state()
        due = self._queue.take(key, until)
        if self._order is not None:
            due.sort(key=self._order)
        for time, value in due:
            if time != reached:
                self._advance(state, time)
                reached = time
            if matches := process(state, value, time, now):
                emit(matches, time)
        self._advance(state, until)
        self._keep(key, state)
        waiting = self._queue.first_time(key)
        if waiting is not None:
            self._timers.register(waiting, key)

    def _advance(self, state: MatchState, time: int) -> None:
        matches, timed_out = self._nfa.advance_time(state, time)
        if matches:
            self._emit(matches, time)
        if timed_out:
            self._emit_timed_out(timed_out)

    def _keep(self, key: Any, state: MatchState) -> None:
        if not state.changed:
            if state.buffer.was_read:
                self._matches.put(key, state)
            return
        if self._nfa.is_initial(state):
            self._matches.remove(key)
            return
        self._matches.put(key, state)
        timeout = self._nfa.next_timeout(state)
        if timeout is not None:
            # As in Flink, time in processing time is up when its last millisecond has passed.
            self._timers.register(timeout + (not self.spec.event_time), key)

    # ---- results -----------------------------------------------------------------------------

    def _emit(self, matches: list[Match], time: int) -> None:
        call = self._on_match
        for value in matches:
            self._enter(time)
            self.send(call(value))

    def _emit_timed_out(self, timed_out: list[TimedOut]) -> None:
        call = self._on_timeout
        assert call is not None
        for value, time in timed_out:
            self._enter(time)
            self.send(call(value))

    def _enter(self, time: int) -> None:
        self._context.time = time
        self.scope.timestamp = time if self.spec.event_time else None

    def _drop(self, value: Any, time: int) -> None:
        tag = self.spec.late_tag
        if tag is None:
            self._dropped.inc()
            return
        self.scope.timestamp = time
        self.output.to_side(tag, value)

    def _missing_timestamp(self, value: Any) -> MissingTimestampError:
        return MissingTimestampError(
            "record has no event timestamp",
            where=self.plan.describe(),
            got=show_value(value),
            todo="call assign_timestamps_and_watermarks(...) on the stream in front of "
            "CEP.pattern(...), or in_processing_time() on the pattern stream",
        )
