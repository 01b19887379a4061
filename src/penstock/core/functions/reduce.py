"""Combining records into one: reduce, aggregate and fold."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.errors import ProgramError

T = TypeVar("T")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class ReduceFunction(Function, Generic[T]):
    """Combine two records of one type into one of the same type."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Return both as one. `value1` is what has been combined so far."""


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Combine records through an accumulator of another type.

    >>> class Mean(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return 0, 0
    ...     def add(self, value, accumulator):
    ...         return accumulator[0] + value, accumulator[1] + 1
    ...     def get_result(self, accumulator):
    ...         return accumulator[0] / accumulator[1]
    ...     mergeable = True
    ...     def merge(self, acc_a, acc_b):
    ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
    """

    #: Whether sliding windows may be put together by `merge` from parts that they share, which is
    #: less work where many of them overlap. Flink calls `merge` for session windows only, and
    #: programs exist whose `merge` is there for the interface alone: so it must be said.
    mergeable = False

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return a new accumulator without any record."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Return the accumulator with one more record in it; may change and return it."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Return the result of what is accumulated."""

    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return two accumulators as one. Needed only where windows merge or are sliced."""
        raise ProgramError(
            "accumulators must be merged here, but the function does not say how",
            where=f"{type(self).__name__}.merge(acc_a, acc_b)",
            todo="define merge; session windows cannot do without it",
        )


class FoldFunction(Function, Generic[IN, ACC]):
    """Combine records into an accumulator that begins with a given value."""

    @abstractmethod
    def fold(self, accumulator: ACC, value: IN) -> ACC:
        """Return the accumulator with one more record in it."""


RichReduceFunction = ReduceFunction
RichAggregateFunction = AggregateFunction
RichFoldFunction = FoldFunction
