"""Windows: finite parts of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

MAX_TIMESTAMP = (1 << 63) - 1


class Window(ABC):
    """A finite part of a stream. Windows are values: equal ones are the same window."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest timestamp that still belongs to the window."""


class TimeWindow(Window):
    """The time from `start` up to, but not including, `end`, in epoch milliseconds.

    >>> TimeWindow(0, 5000).max_timestamp()
    4999
    """

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def get_start(self) -> int:
        """Return the first timestamp that belongs to the window."""
        return self.start

    def get_end(self) -> int:
        """Return the first timestamp behind the window."""
        return self.end

    def max_timestamp(self) -> int:
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether the windows overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that holds both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the aligned window that a timestamp belongs to."""
        # Python's % floors, so this is right before 1970 too.
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(
        windows: Iterable[TimeWindow], callback: Callable[[list[TimeWindow], TimeWindow], None]
    ) -> None:
        """Merge windows that overlap or touch.

        :param callback: called with the windows of each group of several, and the one that they
            become; an object with a `merge` method is taken too.
        """
        merge = getattr(callback, "merge", callback)
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(windows, key=lambda each: each.start):
            if groups and groups[-1][0].intersects(window):
                merged, members = groups[-1]
                groups[-1] = (merged.cover(window), [*members, window])
            else:
                groups.append((window, [window]))
        for merged, members in groups:
            if len(members) > 1:
                merge(members, merged)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is TimeWindow and self.start == other.start and self.end == other.end

    def __lt__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) <= (other.start, other.end)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __reduce__(self) -> Any:
        return TimeWindow, (self.start, self.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """A number of elements; windows of a key are numbered.

    :param id: number of the window, from zero.
    """

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.id == other.id

    def __lt__(self, other: CountWindow) -> bool:
        return self.id < other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> Any:
        return CountWindow, (self.id,)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that everything belongs to."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """Return the window."""
        return _GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __lt__(self, other: GlobalWindow) -> bool:
        return False

    def __hash__(self) -> int:
        return 0

    def __reduce__(self) -> Any:
        return GlobalWindow.get, ()

    def __repr__(self) -> str:
        return "GlobalWindow"


_GLOBAL_WINDOW = GlobalWindow()
