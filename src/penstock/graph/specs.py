"""Operator descriptions: what each operator of a program does, as frozen plain data.

The fluent API makes specs, the graph carries them, `penstock.runtime.build` turns each into an
operator. User functions are kept as the user passed them (a callable or a function object).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CallSite:
    """Where in the user's program an operator was made."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class OperatorSpec:
    """Base of all operator descriptions."""

    #: Whether the operator works under the key of its (first) input.
    keyed = False
    #: What is converted to the declared type on its way out: "all" records; "rows" only, where the
    #: others are of their type already but a tuple may stand for a row; or "nothing".
    converts = "all"
    #: How its state is laid out: state of one operator can be read by another of the same layout.
    state_layout = "function"


@dataclass(frozen=True)
class SourceSpec(OperatorSpec):
    source: Any  # core.io.Source
    strategy: Any = None  # common.WatermarkStrategy, applied per split
    fed_by: str | None = None  # the iteration whose records come back here
    converts = "rows"
    state_layout = "source"


@dataclass(frozen=True)
class MapSpec(OperatorSpec):
    function: Any
    keyed: bool = False  # on a keyed stream: the function may use keyed state


@dataclass(frozen=True)
class FlatMapSpec(OperatorSpec):
    function: Any
    keyed: bool = False  # on a keyed stream: the function may use keyed state


@dataclass(frozen=True)
class FilterSpec(OperatorSpec):
    function: Any
    keyed: bool = False  # on a keyed stream: the function may use keyed state
    converts = "nothing"


@dataclass(frozen=True)
class TimestampsSpec(OperatorSpec):
    """assign_timestamps_and_watermarks: per subtask."""

    strategy: Any
    converts = "nothing"
    state_layout = "timestamps"


@dataclass(frozen=True)
class ReduceSpec(OperatorSpec):
    """Rolling reduce on a keyed stream; in BATCH mode only the last result of a key is sent on."""

    function: Any
    keyed = True
    converts = "rows"
    state_layout = "rolling"


@dataclass(frozen=True)
class FoldSpec(OperatorSpec):
    initial: Any
    function: Any
    keyed = True
    state_layout = "rolling"


@dataclass(frozen=True)
class ProcessSpec(OperatorSpec):
    function: Any


@dataclass(frozen=True)
class KeyedProcessSpec(OperatorSpec):
    function: Any
    keyed = True


@dataclass(frozen=True)
class CoMapSpec(OperatorSpec):
    function: Any
    keyed: bool = False  # both inputs keyed


@dataclass(frozen=True)
class CoFlatMapSpec(OperatorSpec):
    function: Any
    keyed: bool = False


@dataclass(frozen=True)
class CoProcessSpec(OperatorSpec):
    function: Any


@dataclass(frozen=True)
class KeyedCoProcessSpec(OperatorSpec):
    function: Any
    keyed = True


@dataclass(frozen=True)
class WithStateSpec(OperatorSpec):
    """map_with_state and its siblings: a function of a record and the state of its key."""

    function: Any  # callable (record, state or None) -> (result, new state or None)
    method: str  # "map", "flat_map" or "filter": what the result is
    keyed = True
    state_layout = "with-state"


@dataclass(frozen=True)
class BroadcastProcessSpec(OperatorSpec):
    """A stream with data as first input, a broadcast stream as second."""

    function: Any
    descriptors: tuple[Any, ...]  # MapStateDescriptors of the broadcast state


@dataclass(frozen=True)
class KeyedBroadcastProcessSpec(OperatorSpec):
    """A keyed stream with data as first input, a broadcast stream as second."""

    function: Any
    descriptors: tuple[Any, ...]
    keyed = True


@dataclass(frozen=True)
class AsyncWaitSpec(OperatorSpec):
    """A function that answers records later, many at a time."""

    descriptor: Any  # core.functions.AsyncFunctionDescriptor


@dataclass(frozen=True)
class SinkSpec(OperatorSpec):
    sink: Any  # core.io.Sink
    feeds: str | None = None  # the iteration whose records go back from here
    state_layout = "sink"


@dataclass(frozen=True)
class SinkFunctionSpec(OperatorSpec):
    function: Any


class Partitioner:
    """How records of an edge choose the subtask that they go to."""


@dataclass(frozen=True)
class Forward(Partitioner):
    pass


@dataclass(frozen=True)
class Hash(Partitioner):
    key_selector: Any  # callable value -> key (KeySelector.get_key or a plain callable)


@dataclass(frozen=True)
class Rebalance(Partitioner):
    pass


@dataclass(frozen=True)
class Rescale(Partitioner):
    pass


@dataclass(frozen=True)
class Shuffle(Partitioner):
    pass


@dataclass(frozen=True)
class Broadcast(Partitioner):
    pass


@dataclass(frozen=True)
class Global(Partitioner):
    pass


@dataclass(frozen=True)
class Custom(Partitioner):
    partitioner: Any  # callable (key, num_partitions) -> int, or core Partitioner object
    key_selector: Any


@dataclass(frozen=True)
class Reduced:
    """Elements of a window are reduced as they come."""

    function: Any


@dataclass(frozen=True)
class Aggregated:
    """Elements of a window go into an accumulator as they come."""

    function: Any  # core AggregateFunction


@dataclass(frozen=True)
class Folded:
    """Elements of a window go into an accumulator that begins with a given value."""

    initial: Any
    function: Any


@dataclass(frozen=True)
class WindowSpec(OperatorSpec):
    """A window on a keyed stream: what belongs to it, when it fires and what it becomes."""

    assigner: Any  # core.windowing.WindowAssigner
    trigger: Any  # core.windowing.Trigger
    combine: Reduced | Aggregated | Folded | None = None  # None: all elements are kept
    function: Any = None  # called with the window's content; None: the combined value is sent on
    #: Whether the function is one of `window_all`, which is told no key.
    all_windows: bool = False
    evictor: Any = None
    allowed_lateness: int = 0  # milliseconds
    late_tag: str | None = None  # tag id of the side output of late records
    keyed = True
    state_layout = "windows"  # the runtime says more: see `operators.window_choice`


@dataclass(frozen=True)
class CoGroupSpec(WindowSpec):
    """A window over two keyed inputs; its function gets the elements of both sides."""

    pairs: str = "co_group"  # or "join", "flat_join": called for each pair instead


@dataclass(frozen=True)
class IntervalJoinSpec(OperatorSpec):
    """Pairs of two keyed inputs: left time + lower <= right time <= left time + upper."""

    lower: int  # milliseconds, inclusive
    upper: int
    function: Any  # core ProcessJoinFunction
    left_late_tag: str | None = None
    right_late_tag: str | None = None
    keyed = True
    state_layout = "interval-join"


@dataclass(frozen=True)
class CepSpec(OperatorSpec):
    """Matches of a pattern among the events of each key."""

    pattern: Any  # core.pattern.Pattern
    function: Any
    method: str  # "select", "flat_select" or "process": how the function is called
    timeout_function: Any = None  # beside "select" and "flat_select"
    timeout_tag: str | None = None  # tag id of the side output of what it returns
    event_time: bool = True
    comparator: Any = None  # callable (event, event) -> int: the order of events of the same time
    late_tag: str | None = None
    keyed = True
    state_layout = "cep"
