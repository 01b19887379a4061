"""How far two elements are apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class DeltaFunction(ABC, Generic[T]):
    """Measure how far two elements are apart."""

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """Return the distance from the old element to the new one."""


def as_delta(function: Any) -> Callable[[Any, Any], float]:
    """Return a `DeltaFunction`, or a callable of two elements, as a callable."""
    return getattr(function, "get_delta", function)
