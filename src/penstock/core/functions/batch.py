"""Functions of the DataSet API: partitions, groups, pairs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from penstock.core.functions.base import Function

IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
T = TypeVar("T")


class MapPartitionFunction(Function, Generic[IN, OUT]):
    """Turn all records of one partition into any number of others.

    >>> class Count(MapPartitionFunction):
    ...     def map_partition(self, values):
    ...         yield sum(1 for _ in values)
    >>> list(Count().map_partition(["a", "b"]))
    [2]
    """

    @abstractmethod
    def map_partition(self, values: Iterable[IN]) -> Iterable[OUT] | None:
        """Return (or yield) what the records become. `values` can be read once."""


class GroupReduceFunction(Function, Generic[IN, OUT]):
    """Turn all records of one group into any number of others.

    A function that has a `combine(values)` method as well is called with parts of a group before
    they are sent to other workers: `combine` yields records of the input's type.
    """

    @abstractmethod
    def reduce(self, values: Iterable[IN]) -> Iterable[OUT] | None:
        """Return (or yield) what the group becomes. `values` can be read once."""


class GroupCombineFunction(Function, Generic[IN, OUT]):
    """Turn parts of a group into any number of records, without sending them anywhere."""

    @abstractmethod
    def combine(self, values: Iterable[IN]) -> Iterable[OUT] | None:
        """Return (or yield) what some of the group's records become."""


class CombineFunction(Function, Generic[IN, OUT]):
    """Turn parts of a group into one record."""

    @abstractmethod
    def combine(self, values: Iterable[IN]) -> OUT:
        """Return some of the group's records as one."""


class CrossFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every pair of a cross product into one record."""

    @abstractmethod
    def cross(self, val1: IN1, val2: IN2) -> OUT:
        """Return what the pair becomes."""


class BroadcastVariableInitializer(Generic[T, OUT]):
    """Make something of a broadcast set, once in each subtask."""

    @abstractmethod
    def initialize_broadcast_variable(self, data: Iterable[T]) -> OUT:
        """Return what `get_broadcast_variable_with_initializer` gives to the function."""


RichMapPartitionFunction = MapPartitionFunction
RichGroupReduceFunction = GroupReduceFunction
RichGroupCombineFunction = GroupCombineFunction
RichCrossFunction = CrossFunction
