"""Windows that merge: which ones a key has, and under which window's name their state is kept.

When windows merge, the state of all but one would have to move. So a merged window goes on using
the pane of one of the windows that it was made of: its *state window*.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.core.windowing import MergingWindowAssigner
from penstock.runtime.state.tables import ValueTable
from penstock.runtime.windowing.panes import namespace_of, window_of

#: Called with a merged window, the windows it was made of, its state window, and the state windows
#: whose state must be merged into that one.
OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]

#: Name of the table of the windows of each key.
SETS = "\0merging"


class _Collector(MergingWindowAssigner.MergeCallback[Any]):
    """Remember which windows an assigner wants to merge."""

    def __init__(self) -> None:
        self.merges: list[tuple[list[Any], Any]] = []

    def merge(self, to_be_merged: Collection[Any], merge_result: Any) -> None:
        self.merges.append((list(to_be_merged), merge_result))


class MergingWindowSet:
    """The windows of one key, each with its state window. All are given by namespace."""

    def __init__(self, assigner: Any, table: ValueTable, key: Any) -> None:
        self._assigner = assigner
        self._table = table
        self._key = key
        self._state_of: dict[Any, Any] = dict(table.get(key) or ())

    def has(self, namespace: Any) -> bool:
        """Tell whether there is such a window (still)."""
        return namespace in self._state_of

    def state_of(self, namespace: Any) -> Any:
        """Return the state window of a window."""
        return self._state_of[namespace]

    def add(self, window: Any, on_merge: OnMerge) -> Any:
        """Add a window, merge it with those it meets, and return what it has become."""
        collector = _Collector()
        new = namespace_of(window)
        windows = [*map(window_of, self._state_of), window]
        self._assigner.merge_windows(windows, collector)
        result, is_merged = window, False
        for members, merged in collector.merges:
            others = [namespace_of(each) for each in members]
            if new in others:
                others.remove(new)
                result, is_merged = merged, True
            self._merge(merged, others, on_merge)
        if not is_merged:
            self._state_of.setdefault(new, new)
        return result

    def _merge(self, merged: Any, members: list[Any], on_merge: OnMerge) -> None:
        name = namespace_of(merged)
        if members == [name]:
            return  # a window that was there and has not grown
        states = [self._state_of.pop(member) for member in members if member in self._state_of]
        state = states[0] if states else name
        self._state_of[name] = state
        on_merge(merged, members, state, states[1:])

    def retire(self, namespace: Any) -> None:
        """Forget a window."""
        self._state_of.pop(namespace, None)

    def save(self) -> None:
        """Write the windows to the state."""
        self._table.put(self._key, tuple(self._state_of.items()) or None)
