"""Slices: what sliding windows share.

Windows that overlap would each hold the same elements. Instead time is cut at all beginnings and
ends of windows, each element is kept once, in its slice, and a window is put together from its
slices when it fires.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.runtime.codec import Frozen, freeze, thaw
from penstock.runtime.state.slice_tables import SliceListTable, SliceValueTable
from penstock.runtime.windowing.combine import NONE, Combiner

#: Merged slices that may be remembered in vain before they are looked through.
_SPARE = 16


class Slicing:
    """Which slices there are, and to which windows they belong. Both are numbered.

    If the size is no multiple of the slide, a slide has two slices: windows begin at its start and
    end in its middle.

    >>> slicing = Slicing(size=60, slide=10, offset=0)
    >>> slicing.slice_of(25), slicing.slices_of(-3)
    (2, (-3, 3))
    """

    def __init__(self, size: int, slide: int, offset: int) -> None:
        self._size = size
        self._slide = slide
        self._offset = offset
        self._slides, self._rest = divmod(size, slide)
        self._split = 1 if self._rest else 0

    def slice_of(self, time: int) -> int:
        """Return the slice of a timestamp."""
        if not self._split:
            return (time - self._offset) // self._slide
        number, inside = divmod(time - self._offset, self._slide)
        return 2 * number + (inside >= self._rest)

    def slices_of(self, window: int) -> tuple[int, int]:
        """Return the first slice of a window, and the first behind it."""
        end = window + self._slides
        return (window << 1, (end << 1) + 1) if self._split else (window, end)

    def newest_window(self, slice_: int) -> int:
        """Return the last window that a slice belongs to."""
        return slice_ >> self._split

    def oldest_window(self, slice_: int) -> int:
        """Return the first window that a slice belongs to."""
        return ((slice_ - self._split) >> self._split) - self._slides + 1

    def count(self) -> int:
        """Return the number of slices in a window."""
        begin, end = self.slices_of(0)
        return end - begin

    def start(self, window: int) -> int:
        """Return the first timestamp of a window."""
        return self._offset + window * self._slide

    def last(self, window: int) -> int:
        """Return the last timestamp of a window."""
        return self._offset + window * self._slide + self._size - 1

    def window_at(self, last: int) -> int:
        """Return the window whose last timestamp this is, or the first one that ends behind it."""
        return -((self._offset + self._size - 1 - last) // self._slide)


class CombinedSlices:
    """Accumulators by slice.

    A window of many slices is not merged from the beginning each time. Slices are merged in pairs,
    pairs of pairs and so on, and these are remembered, so a window takes a few merges. Which
    accumulators are merged in which order depends on the numbers of the slices alone: a result
    does not depend on what happened to be remembered.

    :param slices: number of slices in a window.
    """

    def __init__(self, table: SliceValueTable, combiner: Combiner, slices: int) -> None:
        self.table = table
        self._combiner = combiner
        self._heights = range(1, slices.bit_length() + 1)
        table.on_change = self._forget
        table.on_let_go = self._forget_all
        self._merged: dict[Any, dict[tuple[int, int], Any]] = {}
        #: By key: slices from this one on are in nothing that is remembered.
        self._fresh_from: dict[Any, int] = {}

    def add(self, pane: tuple[Any, int], value: Any) -> None:
        """Add an element to a slice."""
        table, combiner = self.table, self._combiner
        held = table.get(pane)
        if held is None:
            held = combiner.first(value)
        else:
            held = combiner.add(None if held is NONE else held, value)
        table.put(pane, NONE if held is None else held)
        self.touch(pane)

    def touch(self, pane: tuple[Any, int]) -> None:
        """Take note that a slice has changed."""
        key, number = pane
        if number < self._fresh_from.get(key, number):
            merged = self._merged[key]
            for height in self._heights:
                merged.pop((height, number >> height), None)

    def elements(self, key: Any, begin: int, end: int) -> list[Any] | None:
        """Return the result of some slices as the one element of a list, None if all are empty."""
        numbers = self.table.slices.get(key)
        if numbers is None:
            return None
        known = self._merged.get(key)
        if known is None:
            known = self._merged[key] = {}
        if self._fresh_from.get(key, end) <= end:
            self._fresh_from[key] = end
        left, right = [], []
        height = 0
        while begin < end:
            if begin & 1:
                part = known.get((height, begin)) or self._node(key, numbers, known, height, begin)
                left.append(part)
                begin += 1
            if end & 1:
                end -= 1
                part = known.get((height, end)) or self._node(key, numbers, known, height, end)
                right.append(part)
            begin, end, height = begin >> 1, end >> 1, height + 1
        right.reverse()
        return self._result([part for part in left + right if part is not None])

    def _result(self, parts: list[Any]) -> list[Any] | None:
        if not parts:
            return None
        merge = self._combiner.merge
        held = _thawed(parts[0])
        for part in parts[1:]:
            held = merge(held, _thawed(part))
        return [self._combiner.result(held)]

    def _node(self, key: Any, numbers: list[int], known: Any, height: int, index: int) -> Any:
        """Return the slices from `index << height` on, `1 << height` of them, as one; frozen."""
        begin = index << height
        at = bisect_left(numbers, begin)
        end = begin + (1 << height)
        if at == len(numbers) or numbers[at] >= end:
            return None
        if at + 1 == len(numbers) or numbers[at + 1] >= end:
            held = self.table.data[key, numbers[at]]
            return held if type(held) is Frozen else freeze(held)
        node = known.get((height, index))
        if node is None:
            left = self._node(key, numbers, known, height - 1, 2 * index)
            right = self._node(key, numbers, known, height - 1, 2 * index + 1)
            if left is None or right is None:
                return right if left is None else left
            held = self._combiner.merge(_thawed(left), _thawed(right))
            node = known[height, index] = NONE if held is None else freeze(held)
        return node

    def remove(self, pane: tuple[Any, int]) -> None:
        """Forget the oldest slice of a key."""
        self.table.remove(pane)
        key = pane[0]
        numbers, merged = self.table.slices.get(key), self._merged.get(key)
        if numbers is None:
            self._forget(key)
        elif merged and len(merged) > 2 * len(numbers) + _SPARE:
            # What begins before the oldest slice is of no more use.
            self._merged[key] = {
                (height, index): node
                for (height, index), node in merged.items()
                if index << height >= numbers[0]
            }

    def _forget(self, key: Any) -> None:
        self._merged.pop(key, None)
        self._fresh_from.pop(key, None)

    def _forget_all(self) -> None:
        self._merged.clear()
        self._fresh_from.clear()


class ElementSlices:
    """Elements by slice. A window's elements come in the order of their arrival."""

    def __init__(self, table: SliceListTable) -> None:
        self.table = table

    def add(self, pane: tuple[Any, int], value: Any) -> None:
        """Add an element to a slice."""
        self.table.add(pane, value)

    def elements(self, key: Any, begin: int, end: int) -> list[Any] | None:
        """Return the elements of some slices."""
        numbers = self.table.slices.get(key, [])
        first, behind = bisect_left(numbers, begin), bisect_left(numbers, end)
        data = self.table.data
        entries = [entry for number in numbers[first:behind] for entry in data[key, number]]
        entries.sort(key=_serial)
        return [thaw(value) for _, value in entries] or None

    def remove(self, pane: tuple[Any, int]) -> None:
        """Forget the oldest slice of a key."""
        self.table.remove(pane)


def _serial(entry: tuple[int, Any]) -> int:
    return entry[0]


def _thawed(held: Any) -> Any:
    return None if held is NONE else thaw(held)


def earliest(time: int) -> int:
    """Return a time of a timer that can be reached: no watermark is above the largest one."""
    return min(time, MAX_WATERMARK)
