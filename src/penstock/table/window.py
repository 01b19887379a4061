"""Windows of the Table API: PyFlink's `pyflink.table.window`."""

from __future__ import annotations

from typing import Any

from penstock.errors import ValidationError
from penstock.table.classic_expressions import classic_expression
from penstock.table.expression_base import tree_of

__all__ = ["GroupWindow", "Over", "OverWindow", "Session", "Slide", "Tumble"]


def _expression(value: Any) -> Any:
    """Return the tree of an expression, or of the text of one."""
    if isinstance(value, str):
        return classic_expression(value).tree
    return tree_of(value)


class GroupWindow:
    """A window of a time attribute, with the name that `group_by` and `select` know it by."""

    def __init__(self, kind: str, lengths: tuple[Any, ...], time: Any, alias: str) -> None:
        self.kind = kind
        self.lengths = lengths
        self.time = time
        self.name = alias


class _Named:
    """The last step of a window: its alias."""

    def __init__(self, kind: str, lengths: tuple[Any, ...], time: Any) -> None:
        self._parts = (kind, lengths, time)

    def alias(self, alias: str) -> GroupWindow:
        """Name the window."""
        return GroupWindow(*self._parts, alias)


class _Timed:
    """A window that needs its time attribute."""

    def __init__(self, kind: str, lengths: tuple[Any, ...]) -> None:
        self._kind = kind
        self._lengths = lengths

    def on(self, time_field: Any) -> _Named:
        """Set the time attribute."""
        return _Named(self._kind, self._lengths, _expression(time_field))


class Tumble:
    """Windows of a fixed length that follow each other.

    >>> from penstock.table.expressions import col, lit
    >>> Tumble.over(lit(10).minutes).on(col("ts")).alias("w").name
    'w'
    """

    @classmethod
    def over(cls, size: Any) -> _Timed:
        """Set the length: an interval such as `lit(10).minutes`."""
        return _Timed("TUMBLE", (_expression(size),))


class _Sliding:
    def __init__(self, size: Any) -> None:
        self._size = size

    def every(self, slide: Any) -> _Timed:
        """Set how often a window begins."""
        return _Timed("HOP", (_expression(slide), self._size))


class Slide:
    """Windows of a fixed length that begin in fixed steps and may overlap."""

    @classmethod
    def over(cls, size: Any) -> _Sliding:
        """Set the length."""
        return _Sliding(_expression(size))


class Session:
    """Windows that end when nothing has come for a while."""

    @classmethod
    def with_gap(cls, gap: Any) -> _Timed:
        """Set how long nothing must come."""
        return _Timed("SESSION", (_expression(gap),))


class OverWindow:
    """The rows around each row that an aggregate sees, with the name that `over` knows it by."""

    def __init__(
        self, partition: tuple[Any, ...], order: Any, preceding: Any, following: Any, alias: str
    ) -> None:
        self.partition = partition
        self.order = order
        self.preceding = preceding
        self.following = following
        self.name = alias


class _OverOrdered:
    """An OVER window whose rows have an order."""

    def __init__(self, partition: tuple[Any, ...], order: Any) -> None:
        self._partition = partition
        self._order = order

    def preceding(self, preceding: Any) -> _OverBounded:
        """Set how far back the window reaches: rows, an interval, or UNBOUNDED_RANGE."""
        return _OverBounded(self._partition, self._order, _expression(preceding), None)

    def alias(self, alias: str) -> OverWindow:
        """Name the window; it reaches back to the first row."""
        return OverWindow(self._partition, self._order, None, None, alias)


class _OverBounded:
    def __init__(
        self, partition: tuple[Any, ...], order: Any, preceding: Any, following: Any
    ) -> None:
        self._parts = (partition, order, preceding, following)

    def following(self, following: Any) -> _OverBounded:
        """Set how far ahead the window reaches; the current row is what streams allow."""
        partition, order, preceding, _ = self._parts
        return _OverBounded(partition, order, preceding, _expression(following))

    def alias(self, alias: str) -> OverWindow:
        """Name the window."""
        return OverWindow(*self._parts, alias)


class _OverPartitioned:
    """An OVER window with keys that needs an order."""

    def __init__(self, partition: tuple[Any, ...]) -> None:
        self._partition = partition

    def order_by(self, order_by: Any) -> _OverOrdered:
        """Set the time attribute that orders the rows."""
        return _OverOrdered(self._partition, _expression(order_by))


class Over:
    """Windows for OVER aggregates.

    >>> from penstock.table.expressions import col, UNBOUNDED_RANGE
    >>> window = Over.partition_by(col("k")).order_by(col("ts")).preceding(UNBOUNDED_RANGE)
    >>> window.alias("w").name
    'w'
    """

    @classmethod
    def order_by(cls, order_by: Any) -> _OverOrdered:
        """Set the time attribute that orders the rows, of all keys together."""
        return _OverOrdered((), _expression(order_by))

    @classmethod
    def partition_by(cls, *partition_by: Any) -> _OverPartitioned:
        """Set the keys."""
        if not partition_by:
            raise ValidationError("Over.partition_by() needs a column", todo="pass at least one")
        return _OverPartitioned(tuple(_expression(key) for key in partition_by))
