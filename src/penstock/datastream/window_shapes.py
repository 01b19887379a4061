"""The classic shorthands: time windows by the environment's time, and count windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common import Duration, Time
from penstock.core.windowing import (
    CountEvictor,
    CountTrigger,
    CountTumblingWindowAssigner,
    Evictor,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.datastream.time_characteristic import TimeCharacteristic

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

CountWindowParts = tuple[WindowAssigner[Any, Any], Trigger[Any, Any], Evictor[Any, Any] | None]


def time_window_assigner(
    environment: StreamExecutionEnvironment,
    size: Time | Duration,
    slide: Time | Duration | None,
) -> WindowAssigner[Any, Any]:
    """Return tumbling or sliding windows in the time that the environment names."""
    characteristic = environment.get_stream_time_characteristic()
    if characteristic is TimeCharacteristic.ProcessingTime:
        if slide is None:
            return TumblingProcessingTimeWindows.of(size)
        return SlidingProcessingTimeWindows.of(size, slide)
    if slide is None:
        return TumblingEventTimeWindows.of(size)
    return SlidingEventTimeWindows.of(size, slide)


def count_window_parts(size: int, slide: int) -> CountWindowParts:
    """Return assigner, trigger and evictor of a count window.

    :param slide: zero for windows that do not overlap.
    """
    if slide == 0:
        # Purged when it fires: a window of a number of elements has no end in time.
        assigner = CountTumblingWindowAssigner.of(size)
        return assigner, PurgingTrigger.of(CountTrigger.of(size)), None
    return GlobalWindows.create(), CountTrigger.of(slide), CountEvictor.of(size)
