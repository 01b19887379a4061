"""Aggregators of iterations: all subtasks add to them in a superstep and read them in the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Aggregator(ABC, Generic[T]):
    """Add values up over all subtasks of a superstep. Must be picklable."""

    @abstractmethod
    def get_aggregate(self) -> T:
        """Return what has been added so far."""

    @abstractmethod
    def aggregate(self, element: T) -> None:
        """Add a value."""

    @abstractmethod
    def reset(self) -> None:
        """Go back to the start."""


class _Sum(Aggregator[Any]):
    zero: Any = 0

    def __init__(self) -> None:
        self._total = self.zero

    def get_aggregate(self) -> Any:
        return self._total

    def aggregate(self, element: Any) -> None:
        self._total += element

    def reset(self) -> None:
        self._total = self.zero


class LongSumAggregator(_Sum):
    """Add up whole numbers."""


class DoubleSumAggregator(_Sum):
    """Add up floating-point numbers."""

    zero = 0.0


class ConvergenceCriterion(ABC, Generic[T]):
    """Decide after a superstep whether an iteration has come to its end."""

    @abstractmethod
    def is_converged(self, iteration: int, value: T) -> bool:
        """Tell whether to stop.

        :param iteration: number of the superstep that has ended, from 1.
        :param value: the aggregate of all subtasks.
        """
