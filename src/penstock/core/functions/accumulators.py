"""Accumulators: values that every subtask adds to and whose total is part of the job's result."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

V = TypeVar("V")
R = TypeVar("R")
N = TypeVar("N", int, float)
T = TypeVar("T")


class Accumulator(ABC, Generic[V, R]):
    """Take values in one subtask; totals of subtasks are merged. Must be picklable."""

    @abstractmethod
    def add(self, value: V) -> None:
        """Take one value."""

    @abstractmethod
    def get_local_value(self) -> R:
        """Return what has been accumulated here."""

    @abstractmethod
    def reset_local(self) -> None:
        """Go back to the start."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Take in what another accumulator of the same kind has accumulated."""

    def clone(self) -> Self:
        """Return an independent copy."""
        return copy.deepcopy(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.get_local_value()!r})"


class _Counter(Accumulator[N, N]):
    """Add up."""

    def __init__(self, value: N) -> None:
        self._value: N = value

    def add(self, value: N = 1) -> None:
        """Add a value, 1 if left out."""
        self._value += value

    def get_local_value(self) -> N:
        return self._value

    def reset_local(self) -> None:
        self._value = type(self._value)(0)

    def merge(self, other: Self) -> None:
        self._value += other._value


class IntCounter(_Counter[int]):
    """Add up whole numbers.

    >>> lines = IntCounter()
    >>> lines.add(1)
    >>> lines.get_local_value()
    1
    """

    def __init__(self, value: int = 0) -> None:
        super().__init__(value)


class LongCounter(IntCounter):
    """Add up whole numbers; Python's have no upper limit, so this is `IntCounter`."""


class DoubleCounter(_Counter[float]):
    """Add up floating-point numbers."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__(float(value))


class AverageAccumulator(Accumulator[float, float]):
    """Average; 0.0 while there is no value."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        self._count = 0
        self._sum = 0.0

    def merge(self, other: Self) -> None:
        self._count += other._count
        self._sum += other._sum


class _Extreme(Accumulator[N, "N | None"]):
    """Keep the value that is furthest in one direction; None while there is no value."""

    _choose: Any = None

    def __init__(self, value: N | None = None) -> None:
        self._value: N | None = value

    def add(self, value: N) -> None:
        self._value = value if self._value is None else type(self)._choose(self._value, value)

    def get_local_value(self) -> N | None:
        return self._value

    def reset_local(self) -> None:
        self._value = None

    def merge(self, other: Self) -> None:
        if other._value is not None:
            self.add(other._value)


class IntMaximum(_Extreme[int]):
    """Keep the largest whole number."""

    _choose = staticmethod(max)


class IntMinimum(_Extreme[int]):
    """Keep the smallest whole number."""

    _choose = staticmethod(min)


class LongMaximum(IntMaximum):
    """Keep the largest whole number; the same as `IntMaximum`."""


class LongMinimum(IntMinimum):
    """Keep the smallest whole number; the same as `IntMinimum`."""


class DoubleMaximum(_Extreme[float]):
    """Keep the largest number."""

    _choose = staticmethod(max)


class DoubleMinimum(_Extreme[float]):
    """Keep the smallest number."""

    _choose = staticmethod(min)


class ListAccumulator(Accumulator[T, "list[T]"]):
    """Collect values in a list. All of them travel to the user's process: keep it short."""

    def __init__(self) -> None:
        self._values: list[T] = []

    def add(self, value: T) -> None:
        self._values.append(value)

    def get_local_value(self) -> list[T]:
        return list(self._values)

    def reset_local(self) -> None:
        self._values = []

    def merge(self, other: Self) -> None:
        self._values.extend(other._values)


class Histogram(Accumulator[int, "dict[int, int]"]):
    """Count how often each whole number was added; the result is sorted by number."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        self._counts[value] = self._counts.get(value, 0) + 1

    def get_local_value(self) -> dict[int, int]:
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        self._counts = {}

    def merge(self, other: Self) -> None:
        for value, count in other._counts.items():
            self._counts[value] = self._counts.get(value, 0) + count
