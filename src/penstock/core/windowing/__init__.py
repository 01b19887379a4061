"""Windows, assigners, triggers and evictors: when elements are grouped and groups are worked on."""

from penstock.core.windowing.assigners.base import (
    MergingWindowAssigner,
    WindowAssigner,
)
from penstock.core.windowing.assigners.count import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.core.windowing.assigners.global_windows import (
    GlobalWindows,
)
from penstock.core.windowing.assigners.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.core.windowing.assigners.sliding import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
from penstock.core.windowing.assigners.tumbling import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.core.windowing.delta_function import (
    DeltaFunction,
)
from penstock.core.windowing.evictors.base import (
    Evictor,
    TimestampedValue,
)
from penstock.core.windowing.evictors.count import (
    CountEvictor,
)
from penstock.core.windowing.evictors.delta import (
    DeltaEvictor,
)
from penstock.core.windowing.evictors.time import (
    TimeEvictor,
)
from penstock.core.windowing.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from penstock.core.windowing.tagged_union import (
    TaggedUnion,
)
from penstock.core.windowing.triggers.base import (
    Trigger,
    TriggerResult,
)
from penstock.core.windowing.triggers.continuous import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from penstock.core.windowing.triggers.count import (
    CountTrigger,
)
from penstock.core.windowing.triggers.delta import (
    DeltaTrigger,
)
from penstock.core.windowing.triggers.event_time import (
    EventTimeTrigger,
)
from penstock.core.windowing.triggers.never import (
    NeverTrigger,
)
from penstock.core.windowing.triggers.processing_time import (
    ProcessingTimeTrigger,
)
from penstock.core.windowing.triggers.purging import (
    PurgingTrigger,
)
from penstock.core.windowing.windows import (
    CountWindow,
    GlobalWindow,
    TimeWindow,
    Window,
)

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TaggedUnion",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
]
