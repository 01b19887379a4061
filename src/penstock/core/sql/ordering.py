"""Orders that Python's own comparison does not have."""

from __future__ import annotations

from functools import total_ordering
from typing import Any


@total_ordering
class Descending:
    """A value that sorts before smaller ones.

    >>> sorted(["a", "c", "b"], key=Descending)
    ['c', 'b', 'a']
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(self.value == other.value)

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Descending, (self.value,)
