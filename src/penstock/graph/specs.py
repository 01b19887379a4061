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


@dataclass(frozen=True)
class SourceSpec(OperatorSpec):
    source: Any  # core.io.Source
    strategy: Any = None  # common.WatermarkStrategy, applied per split


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


@dataclass(frozen=True)
class TimestampsSpec(OperatorSpec):
    """assign_timestamps_and_watermarks: per subtask."""

    strategy: Any


@dataclass(frozen=True)
class ReduceSpec(OperatorSpec):
    """Rolling reduce on a keyed stream; in BATCH mode only the last result of a key is sent on."""

    function: Any
    keyed = True


@dataclass(frozen=True)
class FoldSpec(OperatorSpec):
    initial: Any
    function: Any
    keyed = True


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
class SinkSpec(OperatorSpec):
    sink: Any  # core.io.Sink


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
