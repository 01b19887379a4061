"""Operator descriptions: what each operator of a program does, as frozen plain data.

The fluent API makes specs, the graph carries them, `penstock.runtime.build` turns each into an
operator. User functions are kept as the user passed them (a callable or a function object).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.common import WatermarkStrategy
from penstock.core.functions import (
    AggregateFunction,
    AsyncFunctionDescriptor,
    Function,
    ProcessJoinFunction,
    SinkFunction,
)
from penstock.core.io import Sink, Source
from penstock.core.pattern import EventComparator, Pattern
from penstock.core.state import MapStateDescriptor
from penstock.core.windowing import Evictor, Trigger, WindowAssigner


class SelectsKey(Protocol):
    """A key selector that is no function object."""

    def get_key(self, row: Any, /) -> Any:
        """Return the key of a record."""


#: What a user passes where a function is due: a function object, or anything that can be called.
UserFunction = Function | Callable[..., Any]


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
    #: Whether records leave with the type that they came with.
    keeps_type = False
    #: The method of the user's function that makes the results, if its annotation tells their type.
    result_method = ""
    #: Whether that method makes any number of results.
    many_results = False
    #: Who is traced if nobody is named: 1 before 2, 0 never.
    trace_rank = 0
    #: How its state is laid out: state of one operator can be read by another of the same layout.
    state_layout = "function"


@dataclass(frozen=True)
class SourceSpec(OperatorSpec):
    source: Source
    strategy: WatermarkStrategy | None = None  # applied per split
    fed_by: str | None = None  # the iteration whose records come back here
    converts = "rows"
    state_layout = "source"


@dataclass(frozen=True)
class MapSpec(OperatorSpec):
    function: UserFunction
    keyed: bool = False  # on a keyed stream: the function may use keyed state
    result_method = "map"


@dataclass(frozen=True)
class FlatMapSpec(OperatorSpec):
    function: UserFunction
    keyed: bool = False  # on a keyed stream: the function may use keyed state
    result_method = "flat_map"
    many_results = True


@dataclass(frozen=True)
class FilterSpec(OperatorSpec):
    function: UserFunction
    keyed: bool = False  # on a keyed stream: the function may use keyed state
    converts = "nothing"
    keeps_type = True


@dataclass(frozen=True)
class TimestampsSpec(OperatorSpec):
    """assign_timestamps_and_watermarks: per subtask."""

    strategy: WatermarkStrategy
    converts = "nothing"
    state_layout = "timestamps"
    keeps_type = True


@dataclass(frozen=True)
class ReduceSpec(OperatorSpec):
    """Rolling reduce on a keyed stream; in BATCH mode only the last result of a key is sent on."""

    function: UserFunction
    keyed = True
    converts = "rows"
    state_layout = "rolling"
    keeps_type = True


@dataclass(frozen=True)
class FoldSpec(OperatorSpec):
    initial: Any
    function: UserFunction
    keyed = True
    state_layout = "rolling"


@dataclass(frozen=True)
class ProcessSpec(OperatorSpec):
    function: UserFunction
    result_method = "process_element"
    many_results = True


@dataclass(frozen=True)
class KeyedProcessSpec(OperatorSpec):
    function: UserFunction
    keyed = True
    result_method = "process_element"
    many_results = True
    trace_rank = 2


@dataclass(frozen=True)
class CoMapSpec(OperatorSpec):
    function: UserFunction
    keyed: bool = False  # both inputs keyed


@dataclass(frozen=True)
class CoFlatMapSpec(OperatorSpec):
    function: UserFunction
    keyed: bool = False


@dataclass(frozen=True)
class CoProcessSpec(OperatorSpec):
    function: UserFunction


@dataclass(frozen=True)
class KeyedCoProcessSpec(OperatorSpec):
    function: UserFunction
    keyed = True
    trace_rank = 2


@dataclass(frozen=True)
class WithStateSpec(OperatorSpec):
    """map_with_state and its siblings: a function of a record and the state of its key."""

    function: UserFunction  # (record, state or None) -> (result, new state or None)
    method: str  # "map", "flat_map" or "filter": what the result is
    keyed = True
    state_layout = "with-state"


@dataclass(frozen=True)
class BroadcastProcessSpec(OperatorSpec):
    """A stream with data as first input, a broadcast stream as second."""

    function: UserFunction
    descriptors: tuple[MapStateDescriptor, ...]  # of the broadcast state


@dataclass(frozen=True)
class KeyedBroadcastProcessSpec(OperatorSpec):
    """A keyed stream with data as first input, a broadcast stream as second."""

    function: UserFunction
    descriptors: tuple[MapStateDescriptor, ...]
    keyed = True


@dataclass(frozen=True)
class AsyncWaitSpec(OperatorSpec):
    """A function that answers records later, many at a time."""

    descriptor: AsyncFunctionDescriptor


@dataclass(frozen=True)
class SinkSpec(OperatorSpec):
    sink: Sink
    feeds: str | None = None  # the iteration whose records go back from here
    state_layout = "sink"


@dataclass(frozen=True)
class SinkFunctionSpec(OperatorSpec):
    function: SinkFunction[Any]


class Partitioner:
    """How records of an edge choose the subtask that they go to."""


@dataclass(frozen=True)
class Forward(Partitioner):
    pass


@dataclass(frozen=True)
class Hash(Partitioner):
    key_selector: UserFunction | SelectsKey  # value -> key
    #: Whether records are in the slot of their key already, having come there under an equal one.
    settled: bool = False
    #: Whether records are known to hold nothing that can change: nobody has to look.
    immutable: bool = False


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
    partitioner: UserFunction  # (key, num_partitions) -> int
    key_selector: UserFunction


@dataclass(frozen=True)
class Reduced:
    """Elements of a window are reduced as they come."""

    function: UserFunction


@dataclass(frozen=True)
class Aggregated:
    """Elements of a window go into an accumulator as they come."""

    function: AggregateFunction[Any, Any, Any]


@dataclass(frozen=True)
class Folded:
    """Elements of a window go into an accumulator that begins with a given value."""

    initial: Any
    function: UserFunction


@dataclass(frozen=True)
class WindowSpec(OperatorSpec):
    """A window on a keyed stream: what belongs to it, when it fires and what it becomes."""

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    combine: Reduced | Aggregated | Folded | None = None  # None: all elements are kept
    function: UserFunction | None = (
        None  # called with the window's content; None: the combined value is sent on
    )
    #: Whether the function is one of `window_all`, which is told no key.
    all_windows: bool = False
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0  # milliseconds
    late_tag: str | None = None  # tag id of the side output of late records
    keyed = True
    state_layout = "windows"  # the runtime says more: see `operators.window_choice`
    trace_rank = 1


@dataclass(frozen=True)
class CoGroupSpec(WindowSpec):
    """A window over two keyed inputs; its function gets the elements of both sides."""

    pairs: str = "co_group"  # or "join", "flat_join": called for each pair instead


@dataclass(frozen=True)
class IntervalJoinSpec(OperatorSpec):
    """Pairs of two keyed inputs: left time + lower <= right time <= left time + upper."""

    lower: int  # milliseconds, inclusive
    upper: int
    function: ProcessJoinFunction[Any, Any, Any]
    left_late_tag: str | None = None
    right_late_tag: str | None = None
    keyed = True
    state_layout = "interval-join"
    trace_rank = 1


@dataclass(frozen=True)
class CepSpec(OperatorSpec):
    """Matches of a pattern among the events of each key."""

    pattern: Pattern
    function: UserFunction
    method: str  # "select", "flat_select" or "process": how the function is called
    timeout_function: UserFunction | None = None  # beside "select" and "flat_select"
    timeout_tag: str | None = None  # tag id of the side output of what it returns
    event_time: bool = True
    #: The order of events of the same time.
    comparator: Callable[[Any, Any], int] | EventComparator[Any] | None = None
    late_tag: str | None = None
    keyed = True
    state_layout = "cep"
