"""An element of one of two streams that share their windows."""

from __future__ import annotations

from typing import Any, NamedTuple


class TaggedUnion(NamedTuple):
    """What assigners, triggers and evictors of a window join or co-group see of an element.

    >>> element = TaggedUnion(1, "a")
    >>> element.is_one(), element.get_two()
    (False, 'a')
    """

    #: 0 for the first stream, 1 for the second.
    side: int
    value: Any

    def is_one(self) -> bool:
        """Return whether the element is of the first stream."""
        return self.side == 0

    def is_two(self) -> bool:
        """Return whether the element is of the second stream."""
        return self.side == 1

    def get_one(self) -> Any:
        """Return the element of the first stream; None if it is of the second."""
        return self.value if self.side == 0 else None

    def get_two(self) -> Any:
        """Return the element of the second stream; None if it is of the first."""
        return self.value if self.side == 1 else None
