"""Every kind of window, as the runtime knows it and as the model does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.functions import AggregateFunction, ProcessWindowFunction
from penstock.core.windowing import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.graph.specs import Aggregated, Folded, Reduced, WindowSpec
from tests.unit.windowing import model


@dataclass(frozen=True)
class Kind:
    """An assigner and its counterpart in the model."""

    name: str
    assigner: WindowAssigner
    assign: Any
    event_time: bool = True
    merging: bool = False
    ends: bool = True  # whether its windows ever end by themselves


def gap_of(record: Any) -> int:
    """Return a gap that depends on the element."""
    value = record[1] if isinstance(record, tuple) else record
    return 3 + value % 4


KINDS = [
    Kind("tumbling", TumblingEventTimeWindows(10), model.tumbling(10)),
    Kind("offset", TumblingEventTimeWindows(10, 3), model.tumbling(10, 3)),
    Kind("negative offset", TumblingEventTimeWindows(7, -2), model.tumbling(7, -2)),
    Kind("sliding", SlidingEventTimeWindows(12, 4), model.sliding(12, 4)),
    Kind("sliding offset", SlidingEventTimeWindows(10, 3, 1), model.sliding(10, 3, 1)),
    Kind("gaps between", SlidingEventTimeWindows(4, 10), model.sliding(4, 10)),
    Kind("sliced", SlidingEventTimeWindows(40, 4), model.sliding(40, 4)),
    Kind("sliced, split", SlidingEventTimeWindows(41, 4, 1), model.sliding(41, 4, 1)),
    Kind("session", EventTimeSessionWindows(5), model.session(lambda value: 5), merging=True),
    Kind(
        "dynamic session",
        DynamicEventTimeSessionWindows(gap_of),
        model.session(gap_of),
        merging=True,
    ),
    Kind("global", GlobalWindows(), model.everything, event_time=False, ends=False),
    Kind(
        "tumbling in processing time", TumblingProcessingTimeWindows(10), model.tumbling(10), False
    ),
    Kind(
        "sliding in processing time",
        SlidingProcessingTimeWindows(12, 4),
        model.sliding(12, 4),
        False,
    ),
    Kind(
        "sliced in processing time",
        SlidingProcessingTimeWindows(40, 4),
        model.sliding(40, 4),
        False,
    ),
    Kind(
        "session in processing time",
        ProcessingTimeSessionWindows(5),
        model.session(lambda value: 5),
        event_time=False,
        merging=True,
    ),
    Kind(
        "dynamic session in processing time",
        DynamicProcessingTimeSessionWindows(gap_of),
        model.session(gap_of),
        event_time=False,
        merging=True,
    ),
]

END = ("end",)
TRIGGERS = [
    END,
    ("count", 2),
    ("continuous", 4),
    ("delta", 30),
    ("purging", END),
    ("purging", ("count", 3)),
    ("purging", ("continuous", 3)),
]
EVICTORS = [
    None,
    ("count", 2, "before"),
    ("count", 2, "after"),
    ("time", 6, "before"),
    ("time", 6, "after"),
]


def runtime_trigger(trigger: tuple, event_time: bool) -> Any:
    kind, *parameters = trigger
    if kind == "purging":
        return PurgingTrigger(runtime_trigger(parameters[0], event_time))
    if kind == "count":
        return CountTrigger(parameters[0])
    if kind == "delta":
        return DeltaTrigger(parameters[0], lambda old, new: abs(new[1] - old[1]))
    if kind == "continuous":
        cls = ContinuousEventTimeTrigger if event_time else ContinuousProcessingTimeTrigger
        return cls(parameters[0])
    return EventTimeTrigger() if event_time else ProcessingTimeTrigger()


def runtime_evictor(evictor: tuple | None) -> Any:
    if evictor is None:
        return None
    kind, n, when = evictor
    return (CountEvictor if kind == "count" else TimeEvictor)(n, when == "after")


def fits(kind: Kind, trigger: tuple) -> bool:
    """Tell whether the program is one that Flink accepts."""
    inner = trigger[1] if trigger[0] == "purging" else trigger
    if inner[0] == "delta" and kind.merging:
        return False
    return kind.ends or inner[0] not in ("end", "continuous")


# --- functions: all say which window, so that any difference shows ------------------------------


def bounds(window: Any) -> tuple:
    return model.GLOBAL if isinstance(window, GlobalWindow) else (window.start, window.end)


class Everything(ProcessWindowFunction):
    """Say all that is in the window."""

    def process(self, key, context, elements):
        yield key, bounds(context.window()), [value for _, value in elements]


class Totals(AggregateFunction):
    """Sum and number of the values."""

    mergeable = True

    def create_accumulator(self):
        return [0, 0]  # can be changed in place, and is

    def add(self, value, accumulator):
        accumulator[0] += value[1]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        acc_a[0] += acc_b[0]
        acc_a[1] += acc_b[1]
        return acc_a


def add_up(a: tuple, b: tuple) -> tuple:
    return a[0], a[1] + b[1]


def fold_up(accumulator: list, value: tuple) -> list:
    accumulator.append(value[1])
    return accumulator


class OneElement(ProcessWindowFunction):
    """Say which window a combined value belongs to."""

    def process(self, key, context, elements):
        (element,) = elements
        yield key, bounds(context.window()), element


#: How a window's elements are combined, and what a list of values becomes by it.
COMBINED: dict[str, tuple[Any, Any, Any]] = {
    "elements": (None, Everything(), list),
    "reduce": (Reduced(add_up), OneElement(), lambda values: ("*", sum(values))),
    "aggregate": (Aggregated(Totals()), OneElement(), lambda values: [sum(values), len(values)]),
    "fold": (Folded([], fold_up), OneElement(), list),
}


def make_spec(kind: Kind, trigger: tuple, lateness: int, evictor: tuple | None, how: str) -> Any:
    combine, function, _ = COMBINED[how]
    return WindowSpec(
        kind.assigner,
        runtime_trigger(trigger, kind.event_time),
        combine,
        function,
        evictor=runtime_evictor(evictor),
        allowed_lateness=lateness,
        late_tag="late",
    )


def make_model(kind: Kind, trigger: tuple, lateness: int, evictor: tuple | None) -> model.Model:
    return model.Model(
        model.Settings(kind.assign, trigger, kind.event_time, kind.merging, lateness, evictor)
    )
