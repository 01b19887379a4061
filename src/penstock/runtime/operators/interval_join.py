"""Interval join: pairs of two keyed inputs whose times are close to each other.

Each side waits in the state for as long as the other may still bring a partner: until the
watermark has passed the end of its interval.
"""

from __future__ import annotations

from typing import Any

from penstock.core.functions import ProcessJoinFunction
from penstock.core.output_tag import OutputTag, tag_id_of
from penstock.errors import MissingTimestampError, show_value
from penstock.runtime.operators.process import ResultOperator
from penstock.runtime.state.interval_table import IntervalTable

_LEFT, _RIGHT = 0, 1


class _Context(ProcessJoinFunction.Context):
    """What is known of a pair."""

    def __init__(self, operator: IntervalJoinOperator) -> None:
        self._operator = operator
        self.left = self.right = 0

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        self._operator.output.to_side(tag_id_of(output_tag), value)


class IntervalJoinOperator(ResultOperator):
    """Pair records as they come."""

    def open(self) -> None:
        """Open the user's function."""
        assert self.backend is not None
        spec = self.spec
        self._keys = self.backend.context
        tables = [self.backend.table(name, IntervalTable.kind) for name in ("\0left", "\0right")]
        self._tables: list[IntervalTable] = tables
        # How far from a record's own time its partners may be, and for how long it must wait.
        self._bounds = [(spec.lower, spec.upper), (-spec.upper, -spec.lower)]
        self._waits = [max(spec.upper, 0), max(-spec.lower, 0)]
        self._late_tags = [spec.left_late_tag, spec.right_late_tag]
        self._dropped = self.late_counter()
        self._context = _Context(self)
        self._function = self.host(spec.function)
        super().open()

    def process(self, value: Any) -> None:
        """Take one record of the left input."""
        self._pair(value, _LEFT)

    def process2(self, value: Any) -> None:
        """Take one record of the right input."""
        self._pair(value, _RIGHT)

    def _pair(self, value: Any, side: int) -> None:
        assert self.backend is not None
        scope, key, context = self.scope, self._keys.key, self._context
        time = scope.timestamp
        if time is None:
            raise self._missing_timestamp(value)
        if time < self.watermark:
            self._drop(value, side)
            return
        self._tables[side].add((key, time), value)
        lower, upper = self._bounds[side]
        call = self._function.process_element
        for other_time, other in self._tables[1 - side].between(key, time + lower, time + upper):
            scope.timestamp = max(time, other_time)
            if side == _LEFT:
                context.left, context.right = time, other_time
                self.send(call(value, other, context))
            else:
                context.left, context.right = other_time, time
                self.send(call(other, value, context))
        scope.timestamp = time
        self.backend.event_timers.register(time + self._waits[side], (key, side))

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Forget the records of a side that no partner can reach any more."""
        self._tables[namespace].remove((key, timestamp - self._waits[namespace]))

    def _drop(self, value: Any, side: int) -> None:
        tag = self._late_tags[side]
        if tag is not None:
            self.output.to_side(tag, value)
        else:
            self._dropped.inc()

    def _missing_timestamp(self, value: Any) -> MissingTimestampError:
        return MissingTimestampError(
            "record has no event timestamp",
            where=self.plan.describe(),
            got=show_value(value),
            todo="call assign_timestamps_and_watermarks(...) on both streams before "
            ".interval_join(...)",
        )
