"""What the words of the window cases mean."""

from __future__ import annotations

from typing import Any

from penstock.core.windowing import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
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
from penstock.graph.specs import Reduced, WindowSpec
from penstock.testing.cases import Case, Token

LATE = "late"


def key_of(record: tuple) -> str:
    return record[0]


def distance(old: Any, new: Any) -> float:
    return abs(new[1] - old[1])


def value_of(record: tuple) -> int:
    return record[1]


def add_up(a: tuple, b: tuple) -> tuple:
    return a[0], a[1] + b[1]


def list_up(key: str, window: Any, elements: Any) -> list:
    return [(key, [value for _, value in elements])]


def make_spec(case: Case) -> WindowSpec:
    """Return the window that a case is about."""
    parts: dict[str, Any] = {}
    for part in case.given:
        words = part.split()
        match words[0]:
            case "trigger" | "evict" | "lateness":
                parts[words[0]] = words[1:]
            case "sum" | "list":
                parts["function"] = words[0]
            case "late":
                parts["late_tag"] = LATE
            case _:
                parts["assigner"] = words
    assigner, trigger, evictor = make_assigner(parts["assigner"])
    if "trigger" in parts:
        trigger = make_trigger(parts["trigger"], assigner.is_event_time())
    if "evict" in parts:
        evictor = make_evictor(parts["evict"])
    return WindowSpec(
        assigner,
        trigger or assigner.get_default_trigger(),
        combine=Reduced(add_up) if parts["function"] == "sum" else None,
        function=None if parts["function"] == "sum" else list_up,
        evictor=evictor,
        allowed_lateness=int(parts.get("lateness", [0])[0]),
        late_tag=parts.get("late_tag"),
    )


def make_assigner(words: list[str]) -> tuple[WindowAssigner, Any, Any]:
    event_time = words[0] != "processing"
    kind, *rest = words if event_time else words[1:]
    numbers = [int(word) for word in rest if word.lstrip("-").isdigit()]
    if kind == "count":
        size, *slide = numbers
        if slide:
            return GlobalWindows(), CountTrigger(slide[0]), CountEvictor(size)
        return CountTumblingWindowAssigner(size), None, None
    if kind == "global":
        return GlobalWindows(), None, None
    if rest == ["by", "value"]:
        return DynamicEventTimeSessionWindows(value_of), None, None
    kinds: dict[str, tuple[Any, Any]] = {
        "tumbling": (TumblingEventTimeWindows, TumblingProcessingTimeWindows),
        "sliding": (SlidingEventTimeWindows, SlidingProcessingTimeWindows),
        "session": (EventTimeSessionWindows, ProcessingTimeSessionWindows),
    }
    return kinds[kind][0 if event_time else 1](*numbers), None, None


def make_trigger(words: list[str], event_time: bool) -> Any:
    kind, *rest = words
    match kind:
        case "purging":
            return PurgingTrigger(make_trigger(rest, event_time))
        case "count":
            return CountTrigger(int(rest[0]))
        case "delta":
            return DeltaTrigger(float(rest[0]), distance)
        case "continuous":
            cls = ContinuousEventTimeTrigger if event_time else ContinuousProcessingTimeTrigger
            return cls(int(rest[0]))
    return EventTimeTrigger() if event_time else ProcessingTimeTrigger()


def make_evictor(words: list[str]) -> Any:
    kind, number, *when = words
    after = when == ["after"]
    match kind:
        case "count":
            return CountEvictor(int(number), after)
        case "time":
            return TimeEvictor(int(number), after)
    return DeltaEvictor(float(number), distance, after)


def as_token(record: tuple, timestamp: int | None) -> Token:
    """Return what a record is called in a case."""
    return Token("record", record[0], record[1], timestamp)
