"""The classic shorthands: time windows by the environment's time, and count windows."""

from __future__ import annotations

import warnings
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
from penstock.graph.call_site import capture_call_site
from penstock.graph.specs import TimestampsSpec
from penstock.graph.transformations import OperatorTransformation, Transformation

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

CountWindowParts = tuple[WindowAssigner[Any, Any], Trigger[Any, Any], Evictor[Any, Any] | None]


def time_window_assigner(
    environment: StreamExecutionEnvironment,
    source: Transformation,
    size: Time | Duration,
    slide: Time | Duration | None,
) -> WindowAssigner[Any, Any]:
    """Return tumbling or sliding windows in the time that the environment names.

    Programs that use these shorthands were written when processing time was the default.
    """
    characteristic = environment.named_time_characteristic()
    if characteristic is None and _has_timestamps(source):
        warnings.warn(
            f"time_window() at {capture_call_site()} follows processing time, although the records "
            "have timestamps: call env.set_stream_time_characteristic(TimeCharacteristic.EventTime)"
            ", or use .window(TumblingEventTimeWindows.of(...))",
            stacklevel=3,
        )
    if characteristic in (None, TimeCharacteristic.ProcessingTime):
        if slide is None:
            return TumblingProcessingTimeWindows.of(size)
        return SlidingProcessingTimeWindows.of(size, slide)
    if slide is None:
        return TumblingEventTimeWindows.of(size)
    return SlidingEventTimeWindows.of(size, slide)


def _has_timestamps(transformation: Transformation) -> bool:
    """Tell whether timestamps are assigned somewhere in front."""
    if isinstance(transformation, OperatorTransformation):
        spec = transformation.spec
        if isinstance(spec, TimestampsSpec) or getattr(spec, "strategy", None) is not None:
            return True
    return any(_has_timestamps(each) for each in transformation.inputs)


def count_window_parts(size: int, slide: int) -> CountWindowParts:
    """Return assigner, trigger and evictor of a count window.

    :param slide: zero for windows that do not overlap.
    """
    if slide == 0:
        # Purged when it fires: a window of a number of elements has no end in time.
        assigner = CountTumblingWindowAssigner.of(size)
        return assigner, PurgingTrigger.of(CountTrigger.of(size)), None
    return GlobalWindows.create(), CountTrigger.of(slide), CountEvictor.of(size)
