"""Pairs of two keyed streams whose times are close to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common import Duration, Time, TypeInformation
from penstock.common.time import to_milliseconds
from penstock.core.functions import ProcessJoinFunction
from penstock.core.output_tag import OutputTag
from penstock.datastream.time_characteristic import TimeCharacteristic
from penstock.errors import GraphError, WindowConfigError
from penstock.graph.call_site import capture_call_site
from penstock.graph.function_checks import require_object
from penstock.graph.specs import IntervalJoinSpec

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream import DataStream


class IntervalJoin:
    """What `interval_join` returns: two keyed streams that wait for their interval."""

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        self._left = left
        self._right = right

    def between(
        self, lower_bound: Time | Duration | int, upper_bound: Time | Duration | int
    ) -> IntervalJoined:
        """Pair each left element with the right ones from `lower_bound` to `upper_bound` after it.

        Both bounds are included; negative ones lie before the left element.

        :raises WindowConfigError: if the lower bound is above the upper one.
        :raises GraphError: if the environment works in processing time.
        """
        environment = self._left.get_execution_environment()
        if environment.get_stream_time_characteristic() is TimeCharacteristic.ProcessingTime:
            raise GraphError(
                "interval joins work in event time only",
                where=str(capture_call_site()),
                got="time characteristic ProcessingTime",
                todo="call set_stream_time_characteristic(TimeCharacteristic.EventTime)",
            )
        lower, upper = to_milliseconds(lower_bound), to_milliseconds(upper_bound)
        _require_order(lower, upper)
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined:
    """An interval join that knows its interval. Setters return the object itself."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower: int, upper: int) -> None:
        self._left = left
        self._right = right
        self._lower = lower
        self._upper = upper
        self._open_below = False
        self._open_above = False
        self._left_late: OutputTag[Any] | None = None
        self._right_late: OutputTag[Any] | None = None

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Leave out right elements exactly at the lower bound."""
        self._open_below = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Leave out right elements exactly at the upper bound."""
        self._open_above = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag[Any]) -> IntervalJoined:
        """Send left elements that are late to a side output of the result."""
        require_object("side_output_left_late_data()", output_tag, OutputTag)
        self._left_late = output_tag
        return self

    def side_output_right_late_data(self, output_tag: OutputTag[Any]) -> IntervalJoined:
        """Send right elements that are late to a side output of the result."""
        require_object("side_output_right_late_data()", output_tag, OutputTag)
        self._right_late = output_tag
        return self

    def process(
        self,
        process_join_function: ProcessJoinFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a function for each pair."""
        require_object("process()", process_join_function, ProcessJoinFunction)
        # Times are whole milliseconds, so an open bound is the next one further in.
        lower = self._lower + self._open_below
        upper = self._upper - self._open_above
        _require_order(lower, upper)
        spec = IntervalJoinSpec(
            lower,
            upper,
            process_join_function,
            left_late_tag=self._left_late.tag_id if self._left_late else None,
            right_late_tag=self._right_late.tag_id if self._right_late else None,
        )
        connected = self._left.connect(self._right)
        return connected._transform("Interval Join", spec, output_type)


def _require_order(lower: int, upper: int) -> None:
    if lower > upper:
        raise WindowConfigError(
            "the lower bound of an interval must not be above its upper bound",
            where=str(capture_call_site()),
            got=f"from {lower} ms to {upper} ms",
            todo="pass the earlier bound first",
        )
