"""One record in: one, any number, or the same one or nothing out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from penstock.core.functions.base import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class MapFunction(Function, Generic[IN, OUT]):
    """Turn every record into one other.

    >>> class Double(MapFunction):
    ...     def map(self, value):
    ...         return 2 * value
    >>> Double().map(21)
    42
    """

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Return what the record becomes."""


class FlatMapFunction(Function, Generic[IN, OUT]):
    """Turn every record into any number of others."""

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """Return (or yield) what the record becomes; None means nothing."""


class FilterFunction(Function, Generic[IN]):
    """Keep or drop every record."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Return whether the record is kept."""


class OutputSelector(Function, Generic[IN]):
    """Say to which named outputs of a split stream a record belongs."""

    @abstractmethod
    def select(self, value: IN) -> Iterable[str]:
        """Return the names; a record without a name goes nowhere."""


RichMapFunction = MapFunction
RichFlatMapFunction = FlatMapFunction
RichFilterFunction = FilterFunction
